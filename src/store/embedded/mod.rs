//! The embedded store: one directory on this machine's disk.
//!
//! | path              | what it is                                                                   |
//! |-------------------|------------------------------------------------------------------------------|
//! | `LOCK`            | held by the process that has the directory open                              |
//! | `catalogue.redb`  | names, policies, events, memos, and the block files in use ([`catalogue`])   |
//! | `catalogue.transcript` | the same a second time, as far as nothing else knows it ([`transcript`]) |
//! | `aside/`          | damaged files, at the places that they had ([`crate::disk::set_aside`])        |
//! | `log/*.log`       | the write-ahead log ([`crate::log`])                                         |
//! | `RESTORING`       | there while a restore into the directory is not finished ([`backup`])          |
//! | `points/S/P/*.blk`| write-once blocks of stage S and time partition P ([`block`], [`codec`])     |
//!
//! A commit writes its blocks, syncs them, and then puts them in use with one transaction in the catalogue. Blocks of a
//! partition are merged in the background; retention drops whole partitions.

pub mod backup;
pub mod block;
mod calendar;
mod catalogue;
pub mod codec;
mod cut;
mod database;
mod events;
pub mod inspect;
mod listing;
mod memos;
mod mending;
mod merge;
mod metrics;
pub mod names;
mod opening;
mod partition;
mod points;
mod recovery;
mod spans;
mod spool;
mod standalone;
mod state;
mod tables;
pub mod transcript;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use points::stage_dir;
pub use recovery::DirLock;
pub use spool::{AFTER_CUT_US, Content, Contents, OpenParcel, Parcel, Spool};
pub use standalone::Standalone;

use super::{
    BackedUp, Chore, EventStore, Headway, LocalMetrics, MemoStore, MetricStore, PointStore, StoreError,
};
use crate::disk::{Folder, Overlay};
use plumbago_model::{Dates, MetricId};

/// An open data directory.
pub struct Embedded {
    /// The slots.
    pub points: Arc<dyn PointStore>,
    /// The names.
    pub metrics: Arc<dyn MetricStore>,
    /// The events.
    pub events: Arc<dyn EventStore>,
    /// The memos.
    pub memos: Arc<dyn MemoStore>,
    /// Where the log is.
    pub log_dir: Folder,
    blocks: Arc<points::BlockStore>,
    damage: Vec<String>,
    _lock: DirLock,
}

/// How a directory is opened.
#[derive(Clone, Copy, Debug, Default)]
struct How {
    /// All cuts have to be delivered to a cluster.
    has_spool: bool,
    /// A catalogue is made even of a part of its transcript.
    partly: bool,
    /// Nothing is written, so what cannot be read may be left out.
    only_looks: bool,
}

impl Embedded {
    /// Opens `dir`, creating it if it does not exist.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_in(&dir.into())
    }

    /// The same on any disk.
    pub fn open_in(dir: &Folder) -> Result<Self, StoreError> {
        Self::open_as(dir, How::default())
    }

    /// Opens a directory to look at it: nothing is changed on its disk, and what the disk cannot read is left out.
    pub fn look_at(dir: &Folder) -> Result<Self, StoreError> {
        let over = Folder::on(Overlay::over(Arc::clone(dir.disk())), dir.path());
        Self::open_as(&over, How { only_looks: true, ..How::default() })
    }

    /// [`Embedded::open`] for a store whose cuts all have to be delivered to a cluster.
    pub fn open_with_spool(dir: &Path) -> Result<(Self, Spool), StoreError> {
        let store = Self::open_as(&dir.into(), How { has_spool: true, ..How::default() })?;
        let spool = Spool::new(Arc::clone(&store.blocks));
        Ok((store, spool))
    }

    /// The short text that [`Embedded::set_note`] stored under a name.
    pub fn note(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.blocks.catalogue.note(key)
    }

    /// Stores a short text under a name.
    pub fn set_note(&self, key: &str, text: &str) -> Result<(), StoreError> {
        self.blocks.catalogue.set_note(key, text)
    }

    /// Metrics were read just now.
    pub fn note_read(&self, metrics: &[MetricId]) {
        self.blocks.catalogue.note_read(metrics);
    }

    /// When metrics were created, written and read.
    pub fn dates(&self, metrics: &[MetricId]) -> Vec<Dates> {
        self.blocks.catalogue.calendar().dates(metrics)
    }

    /// Nothing before this is in [`Embedded::dates`].
    pub fn dates_since(&self) -> u32 {
        self.blocks.catalogue.calendar().since()
    }

    /// Calls [`Embedded::record_days`] from time to time.
    pub fn day_keeper(&self) -> Arc<dyn Chore> {
        Arc::new(DayKeeper(Arc::clone(&self.blocks)))
    }

    /// Writes the days on which metrics were written and read, as far as they are not in the catalogue.
    pub fn record_days(&self) -> Result<(), StoreError> {
        self.blocks.catalogue.record_days()
    }

    /// Copies everything that is committed into `dir`, as a backup.
    pub fn back_up(&self, dir: &Path, headway: &Headway) -> Result<BackedUp, StoreError> {
        let dir = Folder::on(Arc::clone(self.blocks.root.disk()), dir);
        backup::back_up(&self.blocks, &dir, headway)
    }

    /// What was found damaged when the directory was opened, one line each.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    fn open_as(dir: &Folder, how: How) -> Result<Self, StoreError> {
        let lock = DirLock::take(dir)?;
        backup::check_restored(dir)?;
        listing::check_formats(dir)?;
        recovery::forget_unfinished(dir)?;
        let mut damage = Vec::new();
        let opened = opening::open(dir, how.partly, &mut damage)?;
        // The catalogue's name, which may be new.
        dir.disk().sync_dir(dir.path()).map_err(cut::io("sync", dir.path()))?;
        let blocks = Arc::new(points::BlockStore::open(dir, opened, how, &mut damage)?);
        let catalogue = Arc::clone(&blocks.catalogue);
        for line in &damage {
            tracing::error!(damage = line, "the data directory is damaged; everything else is served");
        }
        let points: Arc<dyn PointStore> = Arc::<points::BlockStore>::clone(&blocks);
        Ok(Self {
            points,
            metrics: Arc::<catalogue::Catalogue>::clone(&catalogue),
            events: Arc::<catalogue::Catalogue>::clone(&catalogue),
            memos: catalogue,
            log_dir: dir.join("log"),
            blocks,
            damage,
            _lock: lock,
        })
    }
}

/// How often days are written: what a crash may forget.
const DAYS_INTERVAL: Duration = Duration::from_secs(600);

/// Writes the calendar's days to the catalogue.
struct DayKeeper(Arc<points::BlockStore>);

impl Chore for DayKeeper {
    fn name(&self) -> &'static str {
        "days"
    }

    fn run(&self, _: &dyn LocalMetrics) -> Duration {
        if let Err(error) = self.0.catalogue.record_days() {
            tracing::warn!(%error, "writing the days on which metrics were read and written failed; it will be tried again");
        }
        DAYS_INTERVAL
    }
}
