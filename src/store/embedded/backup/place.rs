//! The directory that backups are made in: what may be there, who uses it, and what is left over.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::super::cut::io;
use super::super::points::POINTS_DIR;
use super::super::recovery::block_files;
use super::manifest::Manifest;
use crate::store::StoreError;

/// Marks a directory as one for backups, and is locked while one is made or read.
const BACKUP_LOCK: &str = "BACKUP";
/// What the root of a file system has without anyone's doing.
const LOST_AND_FOUND: &str = "lost+found";

/// A directory for backups, locked.
pub(super) struct Place {
    pub(super) dir: PathBuf,
    _lock: Option<File>,
}

impl Place {
    /// Takes a directory for a new backup; makes it if it is not there.
    pub(super) fn take(dir: &Path, store: &Path) -> Result<Self, StoreError> {
        if is_below(dir, store) {
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
        fs::create_dir_all(dir).map_err(unusable)?;
        let path = dir.join(BACKUP_LOCK);
        if !path.exists()
            && let Some(other) = content(dir)?.first()
        {
            return Err(StoreError::Refused(format!(
                "{} is no backup, and has other things in it (`{other}`); name an empty directory, a new one, or one with \
                 an earlier backup",
                dir.display()
            )));
        }
        let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
        let lock = options.open(&path).map_err(unusable)?;
        locked(lock.try_lock(), dir)?;
        Ok(Self { dir: dir.to_owned(), _lock: Some(lock) })
    }

    /// A directory with a backup that is to be read. It may be on a medium that cannot be written to.
    pub(super) fn read(dir: &Path) -> Result<Self, StoreError> {
        let lock = match File::open(dir.join(BACKUP_LOCK)) {
            Ok(file) => {
                locked(file.try_lock_shared(), dir)?;
                Some(file)
            }
            Err(_) => None,
        };
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    /// Removes what no longer belongs to the backup. Gives the number of files.
    pub(super) fn sweep(&self, manifest: &Manifest) -> Result<u64, StoreError> {
        let named: HashSet<PathBuf> = manifest.files.iter().map(|entry| self.dir.join(&entry.file)).collect();
        let mut found = block_files(&self.dir.join(POINTS_DIR))?;
        let ours = |name: &&String| name.starts_with("catalogue-") || name.ends_with(".tmp");
        found.extend(content(&self.dir)?.iter().filter(ours).map(|name| self.dir.join(name)));
        let mut removed = 0;
        for path in found.iter().filter(|path| !named.contains(*path)) {
            fs::remove_file(path).map_err(io("remove", path))?;
            removed += 1;
            // Directories that have become empty go with their last file; others cannot be removed.
            let _ = path.parent().map(fs::remove_dir);
        }
        Ok(removed)
    }
}

fn locked(outcome: Result<(), TryLockError>, dir: &Path) -> Result<(), StoreError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(StoreError::Refused(format!(
            "another backup or restore is using {}; try again when it is done",
            dir.display()
        ))),
        Err(TryLockError::Error(source)) => {
            Err(StoreError::Io { action: "lock", path: dir.join(BACKUP_LOCK), source })
        }
    }
}

/// The names in a directory, sorted, without what does not count.
pub(super) fn content(dir: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(io("list", dir))? {
        let name = entry.map_err(io("list", dir))?.file_name().to_string_lossy().into_owned();
        if name != LOST_AND_FOUND {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Is `dir`, which may not exist yet, the directory `other` or below it?
fn is_below(dir: &Path, other: &Path) -> bool {
    let existing = dir.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return false };
    let Ok(other) = other.canonicalize() else { return false };
    let rest = dir.strip_prefix(above).unwrap_or(Path::new(""));
    real.join(rest).starts_with(other)
}
