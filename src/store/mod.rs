//! Step 6: the storage seam.
//!
//! Small traits, with batches in and batches out: [`MetricStore`] keeps names and policies, [`PointStore`] keeps the slots
//! of stages, [`EventStore`] keeps events, [`MemoStore`] keeps memos, and [`Upstream`] keeps this server in step with others that share the
//! store. The log,
//! the points in memory and the rollups ([`crate::rollup`]) are above the seam, so every store gets them: a store only has to keep
//! what a *cut* hands it and give it back.
//!
//! The traits are blocking: callers run on threads of their own, one call is one batch, and a store that talks to a
//! cluster runs the parts of a batch concurrently inside the call.
//!
//! # The contract
//!
//! Each sentence is a test in `tests/cassandra/conformance`.
//!
//! 1. A cut is all or nothing: until [`Cut::commit`] returns none of its slots is visible, afterwards all of them are, and
//!    they survive a crash.
//! 2. A slot in a later cut replaces that slot of an earlier one; other slots stay.
//! 3. A [`Snapshot`] does not change: it shows the store as of one cut, whatever is committed, merged or expired later.
//! 4. Reading a metric or a range without data gives an empty window, not an error.
//! 5. Marks and the log position of the last commit are given back by the next snapshot, after a restart too.
//! 6. Expiring drops only slots older than the bound, and may keep some of them longer.
//! 7. Creating a metric again changes nothing; deleting removes its slots and its name.
//! 8. A damaged file loses what it held and says so; it never yields a wrong value, and never stops the rest from being read.
//! 9. An event is durable when [`EventStore::add`] returns, and seen by all who share the store; no two events have the
//!    same id, and they come in the order of time.
//! 10. A memo is durable when [`MemoStore::write`] returns, and seen by all who share the store. A keeper has as many as it may have at
//!     most, and sees none of another keeper.

mod backup;
pub mod cassandra;
pub mod clustered;
pub mod embedded;
mod report;
mod upstream;

pub use backup::{BackedUp, Headway};
pub use report::Report;
pub(crate) use upstream::ids_of;
pub use upstream::{Chore, Described, Doomed, Forgetter, Hit, LocalMetrics, RunningVisitor, Upstream};

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;

use plumbago_model::{
    Aggregator, Event, EventId, MemoPlace, MetricId, MetricRecord, Partial, Policy, PolicyId, QueryError,
    SlotRange, Span, Stage, Window,
};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Reading or writing a file failed.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried: `write`, `open`.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} is damaged: {detail}", path = path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// Another process has the data directory open.
    #[error("the data directory {path} is in use by another process: one process at a time may change its files. Stop that one, or set store.path to another directory", path = path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// It cannot be done as it was asked for. The text says why, and what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The catalogue database failed.
    #[error("the catalogue failed: {0}")]
    Catalogue(String),
    /// There are too many events at one moment.
    #[error("there is no room for another event at {when}: a second can have {limit}", limit = EventId::PER_SECOND)]
    SecondFull {
        /// The second.
        when: u32,
    },
    /// A store across the network did not do as asked.
    #[error("{cause}")]
    Remote {
        /// What it reported.
        cause: Box<dyn std::error::Error + Send + Sync>,
        /// Can the same call succeed later, unchanged?
        retryable: bool,
    },
    /// What the store asked of the server above it failed.
    #[error("{0}")]
    Above(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Can the same call succeed later, unchanged?
    pub fn is_retryable(&self) -> bool {
        match self {
            StoreError::Io { .. } => true,
            StoreError::Remote { retryable, .. } => *retryable,
            _ => false,
        }
    }

    /// Is the store out of reach for now? A failing disk is not: it needs a person.
    pub fn is_away(&self) -> bool {
        matches!(self, StoreError::Remote { retryable: true, .. })
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::SecondFull { .. } => QueryError::Limit(error.to_string()),
            // A file that cannot be read needs a person; a cluster comes back by itself.
            error if error.is_away() => QueryError::Away(error.into()),
            other => QueryError::Store(other.into()),
        }
    }
}

/// Some slots of one metric in one stage, by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Slot starts, ascending, no two alike.
    pub times: Vec<u32>,
    /// One value per time.
    pub values: Vec<f64>,
    /// One count per time for an aggregated stage; empty for a raw one.
    pub counts: Vec<u32>,
}

impl Column {
    /// Adds a slot of an aggregated stage.
    pub fn push_partial(&mut self, time: u32, partial: Partial) {
        self.times.push(time);
        self.values.push(partial.value);
        self.counts.push(partial.count);
    }

    /// Leaves out slots that start outside of `from..until`.
    pub fn keep(&mut self, from: u32, until: u32) {
        let begin = self.times.partition_point(|&time| time < from);
        let end = self.times.partition_point(|&time| time < until).max(begin);
        self.times.truncate(end);
        self.times.drain(..begin);
        self.values.truncate(end);
        self.values.drain(..begin);
        if !self.counts.is_empty() {
            self.counts.truncate(end);
            self.counts.drain(..begin);
        }
    }

    /// No slots, ready to be filled again.
    pub fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
        self.counts.clear();
    }
}

/// How far an aggregated stage is filled in: its slots before `until` are in the store, later ones are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// The policy whose stage it is.
    pub policy: PolicyId,
    /// The stage's place in that policy, 1 or more.
    pub level: u32,
    /// End of the last slot filled in.
    pub until: u32,
}

/// What a commit records besides slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Number of the cut; grows by one with each.
    pub cut: u64,
    /// The first log segment that still holds points not in the store.
    pub log_floor: u64,
    /// How far each aggregated stage is filled in.
    pub marks: Vec<Mark>,
}

/// Keeps the slots of stages.
pub trait PointStore: Send + Sync {
    /// The store as it is now: what this server wrote. Cuts and rollups are made from it.
    fn snapshot(&self) -> Box<dyn Snapshot>;

    /// What queries see. Where several servers write to one store it holds what all of them wrote.
    fn reader(&self) -> Box<dyn Snapshot> {
        self.snapshot()
    }

    /// How many finished slots an aggregated stage waits for before they are written together. Until then readers
    /// aggregate the finer stage.
    fn fill_slots(&self, _stage: Stage) -> u32 {
        32
    }

    /// Begins a cut. One at a time: the caller makes sure.
    fn begin(&self) -> Result<Box<dyn Cut + '_>, StoreError>;

    /// Drops slots of `stage` older than `before` where that is cheap. Gives the number of partitions dropped.
    fn expire(&self, stage: Stage, before: u32) -> Result<u64, StoreError>;

    /// Tidies up in the background: merges small blocks. Gives the number of merges done.
    fn tidy(&self) -> Result<u64, StoreError>;

    /// Forgets all slots of these metrics.
    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError>;

    /// Bytes that the chunks of some metrics take up on this machine; ids must ascend.
    fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError>;

    /// Checks every file of the store on this machine and changes nothing, while the store is used. The log is checked apart.
    fn verify(&self, headway: &Headway) -> Result<Report, StoreError>;

    /// What the store takes up on this machine's disk.
    fn disk_usage(&self) -> DiskUsage;
}

/// Bytes that a store takes up on this machine's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Blocks, by their stage.
    pub stages: BTreeMap<Stage, u64>,
    /// Of the blocks, those that have to be delivered still.
    pub spool: u64,
    /// Names, policies and events.
    pub catalogue: u64,
}

impl DiskUsage {
    /// All blocks.
    pub fn blocks(&self) -> u64 {
        self.stages.values().sum()
    }
}

/// Slots being written, invisible until the commit.
pub trait Cut {
    /// Adds slots. Metrics come in ascending order of their id within a stage; stages may be mixed. `method` is how the
    /// partials of an aggregated stage were made.
    fn put(
        &mut self,
        stage: Stage,
        metric: MetricId,
        method: Aggregator,
        column: &Column,
    ) -> Result<(), StoreError>;

    /// Makes everything durable and visible at once.
    fn commit(self: Box<Self>, position: Position) -> Result<(), StoreError>;
}

/// One state of the store.
pub trait Snapshot: Send + Sync {
    /// What the last commit recorded.
    fn position(&self) -> &Position;

    /// Aggregated slots from here on may lack what other writers know: their readers aggregate the finer stage.
    fn settled_until(&self) -> u32 {
        u32::MAX
    }

    /// One window per metric, in the order asked for. `method` is the metric's aggregation method now: slots that were
    /// made by another one are finished by that other one first, so that they are never misread.
    fn read(
        &self,
        stage: Stage,
        metrics: &[(MetricId, Aggregator)],
        range: SlotRange,
    ) -> Result<Vec<Window>, StoreError>;
}

/// Keeps names, policies and spans.
pub trait MetricStore: Send + Sync {
    /// Tells the files of this store from those of another; 0 if nothing does.
    fn store_id(&self) -> u64 {
        0
    }

    /// All policies ever used.
    fn policies(&self) -> Result<Vec<(PolicyId, Policy)>, StoreError>;

    /// Records new policies.
    fn add_policies(&self, policies: &[(PolicyId, Policy)]) -> Result<(), StoreError>;

    /// No id from this one on was ever used, not even by a metric that was deleted.
    fn id_bound(&self) -> Result<u32, StoreError>;

    /// Visits every metric in ascending order of its id.
    fn load(&self, visit: &mut dyn FnMut(MetricRecord)) -> Result<(), StoreError>;

    /// Metrics come into being here at this time, in ascending order of their ids; [`MetricStore::create`] follows some time later.
    fn announce(&self, _metrics: &[(MetricId, &str)], _now: u32) {}

    /// Records new metrics, in ascending order of their ids. Those already there stay as they are.
    fn create(&self, metrics: &[MetricRecord]) -> Result<(), StoreError>;

    /// Records when metrics have data.
    fn touch(&self, spans: &[(MetricId, Span)]) -> Result<(), StoreError>;

    /// Records the policies that metrics have had, oldest first. The last one is in force; data under the others stays readable.
    fn set_policies(&self, changes: &[(MetricId, Vec<PolicyId>)]) -> Result<(), StoreError>;

    /// Gives metrics other names.
    fn rename(&self, names: &[(MetricId, String)]) -> Result<(), StoreError>;

    /// Records the quotas for which metrics count because of who created them.
    fn own(&self, quotas: &[(MetricId, String)]) -> Result<(), StoreError>;

    /// The metrics that count for a quota because of who created them; some of them may be gone.
    fn owners(&self) -> Result<Vec<(MetricId, String)>, StoreError>;

    /// Forgets metrics.
    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError>;
}

/// Looks at an event, and says whether it wants to see more.
pub type EventVisitor<'a> = dyn FnMut(EventId, Event) -> ControlFlow<()> + 'a;

/// Keeps events.
pub trait EventStore: Send + Sync {
    /// Records an event and gives the id it has from now on.
    fn add(&self, event: &Event) -> Result<EventId, StoreError>;

    /// An event by its id.
    fn get(&self, id: EventId) -> Result<Option<Event>, StoreError>;

    /// Visits the events of some seconds, both edges included, in the order of their ids.
    fn scan(&self, seconds: RangeInclusive<u32>, visit: &mut EventVisitor<'_>) -> Result<(), StoreError>;
}

/// Keeps memos.
pub trait MemoStore: Send + Sync {
    /// The text of a memo.
    fn read(&self, place: MemoPlace<'_>) -> Result<Option<String>, StoreError>;

    /// Writes a memo, or another text into it. Does nothing and gives false if it would be a new one and its keeper has `most` already.
    fn write(&self, place: MemoPlace<'_>, text: &str, most: usize) -> Result<bool, StoreError>;

    /// Removes a memo, if it is there.
    fn remove(&self, place: MemoPlace<'_>) -> Result<(), StoreError>;

    /// What the memos of a service are about, in order.
    fn service_keys(&self, keeper: &str, service: &str) -> Result<Vec<String>, StoreError>;

    /// The keys of the memos about something, in order.
    fn keys(&self, keeper: &str, service: &str, service_key: &str) -> Result<Vec<String>, StoreError>;
}
