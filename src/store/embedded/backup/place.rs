//! The directory that backups are made in: what may be there, who uses it, and what is left over.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::cut::io;
use super::super::points::POINTS_DIR;
use super::super::recovery::block_files;
use super::manifest::Manifest;
use crate::disk::{self, Disk, DiskFile, Folder, Lock};
use crate::store::StoreError;

/// Marks a directory as one for backups, and is locked while one is made or read.
const BACKUP_LOCK: &str = "BACKUP";
/// What the root of a file system has without anyone's doing.
const LOST_AND_FOUND: &str = "lost+found";

/// A directory for backups, locked.
pub(super) struct Place {
    pub(super) dir: Folder,
    _lock: Option<Box<dyn DiskFile>>,
}

impl Place {
    /// Takes a directory for a new backup; makes it if it is not there.
    pub(super) fn take(folder: &Folder, store: &Path) -> Result<Self, StoreError> {
        let (disk, dir) = (folder.disk(), folder.path());
        if is_below(&**disk, dir, store) {
            let (dir, store) = (dir.display(), store.display());
            return Err(StoreError::Refused(format!(
                "{dir} is inside of the data directory {store}; name a directory outside of it"
            )));
        }
        let unusable = |error: std::io::Error| {
            StoreError::Refused(format!(
                "{} cannot be used: {error}; name a directory that the server may make or write to",
                dir.display()
            ))
        };
        disk::make_dirs(&**disk, dir).map_err(unusable)?;
        let path = dir.join(BACKUP_LOCK);
        if !disk::exists(&**disk, &path)
            && let Some(other) = content(folder)?.first()
        {
            return Err(StoreError::Refused(format!(
                "{} is no backup, and has other things in it (`{other}`); name an empty directory, a new one, or one with \
                 an earlier backup",
                dir.display()
            )));
        }
        let lock = disk.lock(&path, Lock::Alone).map_err(unusable)?.ok_or_else(|| in_use(dir))?;
        Ok(Self { dir: folder.clone(), _lock: Some(lock) })
    }

    /// A directory with a backup that is to be read. It may be on a medium that cannot be written to.
    pub(super) fn read(dir: &Folder) -> Result<Self, StoreError> {
        let lock = match dir.disk().lock(&dir.path().join(BACKUP_LOCK), Lock::Shared) {
            Ok(lock) => Some(lock.ok_or_else(|| in_use(dir.path()))?),
            Err(_) => None,
        };
        Ok(Self { dir: dir.clone(), _lock: lock })
    }

    pub(super) fn disk(&self) -> &dyn Disk {
        &**self.dir.disk()
    }

    /// Where a file of the backup is.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    /// Removes what no longer belongs to the backup. Gives the number of files.
    pub(super) fn sweep(&self, manifest: &Manifest) -> Result<u64, StoreError> {
        let disk = self.disk();
        let named: HashSet<PathBuf> = manifest.files.iter().map(|entry| self.path(&entry.file)).collect();
        let mut found = block_files(&self.dir.join(POINTS_DIR))?;
        let ours = |name: &&String| name.starts_with("catalogue-") || name.ends_with(".tmp");
        found.extend(content(&self.dir)?.iter().filter(ours).map(|name| self.path(name)));
        let mut removed = 0;
        for path in found.iter().filter(|path| !named.contains(*path)) {
            disk.remove(path).map_err(io("remove", path))?;
            removed += 1;
            // Directories that have become empty go with their last file; others cannot be removed.
            let _ = path.parent().map(|dir| disk.remove_dir(dir));
        }
        Ok(removed)
    }
}

fn in_use(dir: &Path) -> StoreError {
    StoreError::Refused(format!(
        "another backup or restore is using {}; try again when it is done",
        dir.display()
    ))
}

/// The names in a directory, sorted, without what does not count.
pub(super) fn content(dir: &Folder) -> Result<Vec<String>, StoreError> {
    let listed = dir.disk().list(dir.path()).map_err(io("list", dir.path()))?;
    let names = listed.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.filter(|name| name != LOST_AND_FOUND).collect();
    names.sort();
    Ok(names)
}

/// Is `dir`, which may not exist yet, the directory `other` or below it?
fn is_below(disk: &dyn Disk, dir: &Path, other: &Path) -> bool {
    let existing = dir.ancestors().find_map(|above| Some((above, disk.real_path(above).ok()?)));
    let Some((above, real)) = existing else { return false };
    let Ok(other) = disk.real_path(other) else { return false };
    let rest = dir.strip_prefix(above).unwrap_or(Path::new(""));
    real.join(rest).starts_with(other)
}
