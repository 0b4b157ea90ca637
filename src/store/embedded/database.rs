//! The database file of the catalogue, on any disk.

use std::io;
use std::path::Path;

use redb::{Builder, Database, StorageBackend};

use super::catalogue::failed;
use super::cut::io as failed_at;
use crate::disk::{Disk, DiskFile, Lock};
use crate::store::StoreError;

/// Opens a database, and makes it if it is not there. It belongs to this process for as long as it is open.
pub(super) fn open(disk: &dyn Disk, path: &Path, builder: &Builder) -> Result<Database, StoreError> {
    builder.create_with_backend(lock(disk, path)?).map_err(|error| match error {
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
    locked.map(Backend).ok_or_else(|| StoreError::InUse { path: path.to_owned() })
}

/// A file as redb wants it. It is locked already.
#[derive(Debug)]
struct Backend(Box<dyn DiskFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.about()?.len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(data, offset)
    }
}
