//! The database file of the catalogue, on any disk.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{Builder, Database, StorageBackend};

use super::catalogue::failed;
use super::cut::io as failed_at;
use crate::disk::{Disk, DiskFile, Lock};
use crate::store::StoreError;

/// Opens a database, and makes it if it is not there. It belongs to this process for as long as it is open.
pub(super) fn open(disk: &dyn Disk, path: &Path, builder: &Builder) -> Result<Database, StoreError> {
    create(lock(disk, path)?, path, builder)
}

/// Makes a database of what `fill` writes, and closes it. The library hides what goes wrong while it closes a file: a sync may have failed,
/// and none that comes later would make up for that.
pub(super) fn make(
    disk: &dyn Disk,
    path: &Path,
    builder: &Builder,
    fill: impl FnOnce(&Database) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let backend = lock(disk, path)?;
    let hidden = Arc::clone(&backend.failed);
    let db = create(backend, path, builder)?;
    fill(&db)?;
    drop(db);
    let hidden = hidden.lock().take();
    hidden.map_or(Ok(()), |source| Err(failed_at("write", path)(source)))
}

fn create(backend: Backend, path: &Path, builder: &Builder) -> Result<Database, StoreError> {
    builder.create_with_backend(backend).map_err(|error| match error {
        redb::DatabaseError::Storage(redb::StorageError::Io(source)) => failed_at("open", path)(source),
        other => failed(other),
    })
}

/// Why a database that is there was not opened.
pub(super) enum Trouble {
    /// Its bytes are not those of a good database.
    Damaged(String),
    /// Anything else: it may be good.
    Other(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Catalogue(detail) => Trouble::Damaged(detail),
            other => Trouble::Other(other),
        }
    }
}

impl From<redb::DatabaseError> for Trouble {
    fn from(error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::Storage(redb::StorageError::Io(source))
                if source.kind() == io::ErrorKind::InvalidData =>
            {
                Trouble::Damaged(source.to_string())
            }
            other => failed(other).into(),
        }
    }
}

/// Opens a database and reads all of it: every page must have the checksum that the page above it names.
pub(super) fn open_checked(disk: &dyn Disk, path: &Path) -> Result<Database, Trouble> {
    let mut db = Database::builder().create_with_backend(lock(disk, path)?)?;
    if !db.check_integrity()? {
        tracing::warn!(path = %path.display(), "the database of the catalogue was repaired");
    }
    Ok(db)
}

fn lock(disk: &dyn Disk, path: &Path) -> Result<Backend, StoreError> {
    let locked = disk.lock(path, Lock::Alone).map_err(failed_at("open", path))?;
    let file = locked.ok_or_else(|| StoreError::InUse { path: path.to_owned() })?;
    Ok(Backend { file, failed: Arc::default() })
}

/// A file as redb wants it. It is locked already.
#[derive(Debug)]
struct Backend {
    file: Box<dyn DiskFile>,
    /// The last change that failed.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Backend {
    fn noted(&self, changed: io::Result<()>) -> io::Result<()> {
        changed.inspect_err(|error| {
            let copy = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            *self.failed.lock() = Some(copy);
        })
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.about()?.len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.noted(self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.noted(self.file.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.noted(self.file.write_at(data, offset))
    }
}
