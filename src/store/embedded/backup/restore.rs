//! The way back: a backup is checked as a whole, and then copied into an empty data directory.

use std::path::Path;

use super::super::catalogue::{CATALOGUE_FILE, Catalogue};
use super::super::cut::io;
use super::super::recovery::{DirLock, LOCK_FILE};
use super::file;
use super::manifest::{Entry, MANIFEST_FILE, Manifest};
use super::place::{Place, content};
use crate::disk::{self, Disk, Folder, Open};
use crate::store::{Headway, MetricStore as _, StoreError};
use plumbago_model::count;

/// In a data directory while a restore into it is not finished.
const RESTORING_FILE: &str = "RESTORING";

/// A backup whose checksums are all right.
pub struct Verified {
    place: Place,
    pub(super) manifest: Manifest,
}

/// What a restore brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that were written.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Metrics in the catalogue.
    pub metrics: u64,
}

impl Verified {
    /// Reads everything and compares it with the manifest. The error names every file that is wrong.
    pub fn new(dir: &Folder, headway: &Headway) -> Result<Self, StoreError> {
        let place = Place::read(dir)?;
        let manifest = Manifest::read(dir)?.ok_or_else(|| {
            StoreError::Refused(format!(
                "{} has no complete backup: there is no {MANIFEST_FILE} in it; name the directory that was given to \
                 `plumbago backup`, or run the backup again",
                dir.path().display()
            ))
        })?;
        headway.begin(manifest.files.len() as u64, manifest.bytes());
        let mut wrong = Vec::new();
        for entry in &manifest.files {
            if let Err(why) = check(place.disk(), &place.path(&entry.file), entry, headway) {
                wrong.push(format!("{}: {why}", entry.file));
            }
            headway.files.add(1);
        }
        if headway.is_stopped() {
            return Err(StoreError::Refused("the check was stopped".to_owned()));
        }
        if wrong.is_empty() {
            return Ok(Self { place, manifest });
        }
        let detail = format!(
            "{} of {} did not pass, so nothing was restored: {}",
            wrong.len(),
            count(manifest.files.len(), "file"),
            wrong.join("; ")
        );
        Err(StoreError::Damaged { path: dir.path().to_owned(), detail })
    }

    /// The second as of which the backup is.
    pub fn taken(&self) -> u64 {
        self.manifest.header.taken
    }

    /// Files in it.
    pub fn files(&self) -> u64 {
        self.manifest.files.len() as u64
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.manifest.bytes()
    }

    /// Blocks that the store could not read when the backup was made.
    pub fn lost(&self) -> &[String] {
        &self.manifest.header.lost
    }

    /// Copies everything into an empty data directory, or goes on with a restore that was interrupted.
    pub fn restore(&self, store: &Folder, headway: &Headway) -> Result<Restored, StoreError> {
        self.must_fit(store)?;
        let _lock = DirLock::take(store)?;
        let disk = &**store.disk();
        let marker = store.path().join(RESTORING_FILE);
        disk::write(disk, &marker, self.mark().as_bytes()).map_err(io("write", &marker))?;
        disk.sync_dir(store.path()).map_err(io("sync", store.path()))?;
        let entries = &self.manifest.files;
        let paths: Vec<&str> = entries.iter().map(|entry| &*entry.path).collect();
        headway.begin(entries.len() as u64, self.bytes());
        file::make_directories(store, &paths)?;
        let mut restored = Restored { bytes: self.bytes(), ..Restored::default() };
        for entry in entries {
            restored.files += u64::from(self.restore_file(entry, store, headway)?);
            headway.files.add(1);
        }
        file::sync_directories(store, &paths)?;
        restored.metrics = count_metrics(store)?;
        disk.remove(&marker).map_err(io("remove", &marker))?;
        disk.sync_dir(store.path()).map_err(io("sync", store.path()))?;
        Ok(restored)
    }

    /// False if an interrupted restore had written the file.
    fn restore_file(&self, entry: &Entry, store: &Folder, headway: &Headway) -> Result<bool, StoreError> {
        let disk = &**store.disk();
        let (source, target) = (self.place.path(&entry.file), store.path().join(&entry.path));
        let is_there = file::is_there(disk, &target, entry.bytes, entry.modified_ns);
        if is_there && check(disk, &target, entry, headway).is_ok() {
            return Ok(false);
        }
        let open = self.place.disk().open(&source, Open::Read).map_err(io("open", &source))?;
        let copied = file::copy(&*open, disk, &target, entry.modified_ns, headway)?;
        if copied == (entry.bytes, entry.crc32c) {
            return Ok(true);
        }
        let detail = "it changed after it was checked; run the restore again".to_owned();
        Err(StoreError::Damaged { path: source, detail })
    }

    /// Says which backup is being restored.
    fn mark(&self) -> String {
        let header = &self.manifest.header;
        format!("backup {} of second {}, up to cut {}\n", header.number, header.taken, header.cut)
    }

    fn must_fit(&self, store: &Folder) -> Result<(), StoreError> {
        let disk = &**store.disk();
        if !disk::exists(disk, store.path()) {
            return Ok(());
        }
        let shown = store.path().display();
        let mark = disk::read(disk, &store.path().join(RESTORING_FILE));
        match mark.map(|mark| String::from_utf8_lossy(&mark).into_owned()) {
            Ok(mark) if mark == self.mark() => return Ok(()),
            // The write of the mark may have been interrupted, or lost with the power; nothing was restored then.
            Ok(mark) if !mark.ends_with('\n') || mark.contains('\0') => return Ok(()),
            Ok(mark) => {
                return Err(StoreError::Refused(format!(
                    "a restore of another backup into {shown} was not finished ({}); empty the directory first, or restore that one",
                    mark.trim()
                )));
            }
            Err(_) => {}
        }
        match content(store)?.iter().find(|name| *name != LOCK_FILE) {
            None => Ok(()),
            Some(other) => Err(StoreError::Refused(format!(
                "the data directory {shown} is not empty (`{other}`), and a restore overwrites nothing; move it away, or set \
                 store.path to another directory"
            ))),
        }
    }
}

/// Compares a file with its line in the manifest.
fn check(disk: &dyn Disk, path: &Path, entry: &Entry, headway: &Headway) -> Result<(), String> {
    let open = disk.open(path, Open::Read);
    let found = open.and_then(|file| file::checksum(&*file, headway));
    match found.map_err(|error| error.to_string())? {
        (bytes, _) if bytes != entry.bytes => {
            Err(format!("it has {} instead of {}", count(bytes, "byte"), entry.bytes))
        }
        (_, sum) if sum != entry.crc32c => Err("its checksum does not match".to_owned()),
        _ => Ok(()),
    }
}

/// Reads the restored catalogue to its end, as a start would.
fn count_metrics(store: &Folder) -> Result<u64, StoreError> {
    let catalogue = Catalogue::open(store.disk(), &store.path().join(CATALOGUE_FILE))?;
    let mut metrics = 0;
    catalogue.load(&mut |_| metrics += 1)?;
    Ok(metrics)
}

/// Fails if a restore into the directory is not finished: it lacks blocks, and a server would take it for the whole.
pub(in crate::store::embedded) fn check_restored(dir: &Folder) -> Result<(), StoreError> {
    if !disk::exists(&**dir.disk(), &dir.path().join(RESTORING_FILE)) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "a restore into {} was not finished; run `plumbago restore` again to complete it, or empty the directory",
        dir.path().display()
    )))
}
