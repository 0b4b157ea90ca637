//! The embedded store: one directory on this machine's disk.
//!
//! | path              | what it is                                                                   |
//! |-------------------|------------------------------------------------------------------------------|
//! | `LOCK`            | held by the process that has the directory open                              |
//! | `catalogue.redb`  | names, policies, events, and the block files in use ([`catalogue`])          |
//! | `log/*.log`       | the write-ahead log ([`crate::log`])                                         |
//! | `points/S/P/*.blk`| write-once blocks of stage S and time partition P ([`block`], [`codec`])     |
//!
//! A commit writes its blocks, syncs them, and then puts them in use with one transaction in the catalogue. Blocks of a
//! partition are merged in the background; retention drops whole partitions.

pub mod block;
mod catalogue;
pub mod codec;
mod cut;
mod events;
pub mod inspect;
mod merge;
mod names;
mod outbox;
mod partition;
mod points;
mod recovery;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use outbox::{Content, Outbox, Parcel};
pub use recovery::DirLock;

use super::{EventStore, MetricStore, PointStore, StoreError};
use plumbago_model::MetricId;

/// An open data directory.
pub struct Embedded {
    /// The slots.
    pub points: Arc<dyn PointStore>,
    /// The names.
    pub metrics: Arc<dyn MetricStore>,
    /// The events.
    pub events: Arc<dyn EventStore>,
    /// Where the log is.
    pub log_dir: PathBuf,
    blocks: Arc<points::BlockStore>,
    _lock: DirLock,
}

impl Embedded {
    /// Bytes that the chunks of some metrics take up; ids must ascend.
    pub fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError> {
        let ids: Vec<u32> = metrics.iter().map(|id| id.0).collect();
        let mut bytes = 0;
        let mut buffer = Vec::new();
        for block in self.blocks.state().blocks() {
            let read = block.chunks(&ids, &mut buffer, |_, chunk| bytes += chunk.len() as u64);
            if let Some(error) = read.err().and_then(|errors| errors.into_iter().next()) {
                return Err(StoreError::Damaged {
                    path: block.info().path.clone(),
                    detail: error.to_string(),
                });
            }
        }
        Ok(bytes)
    }

    /// Opens `dir`, creating it if it does not exist.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_as(dir, false)
    }

    /// [`Embedded::open`] for a store whose cuts all have to be sent elsewhere.
    pub fn open_with_outbox(dir: &Path) -> Result<(Self, Outbox), StoreError> {
        let store = Self::open_as(dir, true)?;
        let outbox = Outbox::new(Arc::clone(&store.blocks));
        Ok((store, outbox))
    }

    /// The short text that [`Embedded::set_note`] stored under a name.
    pub fn note(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.blocks.catalogue.note(key)
    }

    /// Stores a short text under a name.
    pub fn set_note(&self, key: &str, text: &str) -> Result<(), StoreError> {
        self.blocks.catalogue.set_note(key, text)
    }

    fn open_as(dir: &Path, outbox: bool) -> Result<Self, StoreError> {
        let lock = DirLock::take(dir)?;
        let catalogue = Arc::new(catalogue::Catalogue::open(&dir.join("catalogue.redb"))?);
        let blocks = Arc::new(points::BlockStore::open(dir, Arc::clone(&catalogue), outbox)?);
        let points: Arc<dyn PointStore> = Arc::<points::BlockStore>::clone(&blocks);
        Ok(Self {
            points,
            metrics: Arc::<catalogue::Catalogue>::clone(&catalogue),
            events: catalogue,
            log_dir: dir.join("log"),
            blocks,
            _lock: lock,
        })
    }
}
