//! The embedded store: one directory on this machine's disk.
//!
//! | path              | what it is                                                                   |
//! |-------------------|------------------------------------------------------------------------------|
//! | `LOCK`            | held by the process that has the directory open                              |
//! | `catalogue.redb`  | names, policies, and the list of block files in force ([`catalogue`])        |
//! | `log/*.log`       | the write-ahead log ([`crate::log`])                                         |
//! | `points/S/P/*.blk`| write-once blocks of stage S and time partition P ([`block`], [`codec`])     |
//!
//! A commit writes its blocks, syncs them, and then makes them count by one transaction in the catalogue. Blocks of a
//! partition are merged in the background; retention drops whole partitions.

pub mod block;
mod catalogue;
pub mod codec;
mod cut;
mod merge;
mod names;
mod partition;
mod points;
mod recovery;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use recovery::DirLock;

use super::{MetricStore, PointStore, StoreError};

/// An open data directory.
pub struct Embedded {
    /// The slots.
    pub points: Arc<dyn PointStore>,
    /// The names.
    pub metrics: Arc<dyn MetricStore>,
    /// Where the log is.
    pub log_dir: PathBuf,
    _lock: DirLock,
}

impl Embedded {
    /// Opens `dir`, making it if it is not there.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let lock = DirLock::take(dir)?;
        let catalogue = Arc::new(catalogue::Catalogue::open(&dir.join("catalogue.redb"))?);
        let points = Arc::new(points::BlockStore::open(dir, Arc::clone(&catalogue))?);
        Ok(Self { points, metrics: catalogue, log_dir: dir.join("log"), _lock: lock })
    }
}
