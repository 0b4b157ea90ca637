//! Usage marks: the cluster knows when each metric was last written and read, and `plumbago clean` goes by that.
//!
//! A mark is refreshed once in [`TURN_HOURS`]. Every hour has its share of the metrics, so the load is even. The first read
//! after a start is marked at once: a metric that is read seldom might never be read in its hour.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::notes::Notes;
use super::tables::NameTables;
use super::{BATCH, Clustered, now};
use crate::store::{Described, LocalMetrics, StoreError};
use plumbago_model::MetricId;

/// Hours until a metric's turn comes again.
const TURN_HOURS: u32 = 72;
/// Most metrics that are remembered as read until they are marked.
const MAX_READ: usize = 100_000;
/// Metrics marked as read in one call. There is one a second, and after a start a dashboard may read very many for the first time.
const MARKED_AT_ONCE: usize = 500;

/// See the module documentation.
pub(super) struct Usage {
    tables: Arc<dyn NameTables>,
    store: Arc<Clustered>,
    reads: Mutex<Reads>,
}

/// Metrics that were read.
#[derive(Default)]
struct Reads {
    /// Not marked yet.
    fresh: HashSet<u32>,
    /// One bit for each metric that was marked since its last turn began.
    marked: Vec<u64>,
    /// The hour until which turns have begun.
    hour: Option<u32>,
}

impl Reads {
    /// Metrics whose turn has begun since the last call are due again.
    fn begin_turns(&mut self, hour: u32) {
        let last = self.hour.replace(hour).unwrap_or(hour);
        for begun in (last..hour).map(|hour| hour + 1).rev().take(TURN_HOURS as usize) {
            let all = self.marked.len() * 64;
            for id in ((begun % TURN_HOURS) as usize..all).step_by(TURN_HOURS as usize) {
                self.marked[id / 64] &= !(1 << (id % 64));
            }
        }
    }

    fn is_marked(&self, id: u32) -> bool {
        self.marked.get(id as usize / 64).is_some_and(|bits| bits >> (id % 64) & 1 == 1)
    }

    fn mark(&mut self, id: u32) {
        let at = id as usize / 64;
        if self.marked.len() <= at {
            self.marked.resize(at + 1, 0);
        }
        self.marked[at] |= 1 << (id % 64);
        self.fresh.remove(&id);
    }
}

impl Usage {
    pub(super) fn new(tables: Arc<dyn NameTables>, store: Arc<Clustered>) -> Self {
        Self { tables, store, reads: Mutex::default() }
    }

    /// Remembers that metrics were read, those that are due.
    pub(super) fn note_read(&self, ids: &[MetricId]) {
        self.note_read_in(ids, now() / 3600);
    }

    fn note_read_in(&self, ids: &[MetricId], hour: u32) {
        let mut reads = self.reads.lock();
        reads.begin_turns(hour);
        for id in ids {
            if reads.fresh.len() < MAX_READ && !reads.is_marked(id.0) {
                reads.fresh.insert(id.0);
            }
        }
    }

    /// Marks metrics that were read.
    pub(super) fn mark_read(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        let ids: Vec<MetricId> = {
            let reads = self.reads.lock();
            reads.fresh.iter().take(MARKED_AT_ONCE).copied().map(MetricId).collect()
        };
        let name = |described| match described {
            Described::Known { name, .. } => Some(name),
            Described::Gone | Described::Unnamed => None,
        };
        let names: Vec<String> = local.describe(&ids).into_iter().filter_map(name).collect();
        self.tables.touch_read(&names)?;
        let mut reads = self.reads.lock();
        ids.into_iter().for_each(|id| reads.mark(id.0));
        Ok(())
    }

    /// Marks metrics that were written to, those whose turn it is.
    pub(super) fn mark_written(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        self.mark_written_at(local, now())
    }

    fn mark_written_at(&self, local: &dyn LocalMetrics, now: u32) -> Result<(), StoreError> {
        let (hour, notes) = (now / 3600, Notes(&self.store.local));
        let last = notes.touched_hour()?;
        if last == Some(hour) {
            return Ok(());
        }
        let written_since = now.saturating_sub(TURN_HOURS * 3600);
        let written = |described| match described {
            Described::Known { name, span, .. } if span.last >= written_since => Some(name),
            _ => None,
        };
        let is_due = |id: &u32| is_due(*id, hour, last);
        let due: Vec<MetricId> = (0..local.id_bound()).filter(is_due).map(MetricId).collect();
        for batch in due.chunks(BATCH) {
            let names: Vec<String> = local.describe(batch).into_iter().filter_map(written).collect();
            self.tables.touch_updated(&names)?;
        }
        notes.set_touched_hour(hour)
    }
}

/// Is it a metric's turn in this hour, or was it in one since the `last`, in which this server did not run?
fn is_due(id: u32, hour: u32, last: Option<u32>) -> bool {
    let hours = (hour - last.unwrap_or(hour - 1).min(hour)).min(TURN_HOURS);
    (hour % TURN_HOURS + TURN_HOURS - id % TURN_HOURS) % TURN_HOURS < hours
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, FakeTables, clustered};
    use super::*;

    /// A server with a metric for each hour of a turn and one more, all of them written to in this hour.
    fn server(hour: u32) -> FakeServer {
        let server = FakeServer::default();
        for n in 0..=TURN_HOURS {
            let id = server.create(&format!("m{n}"));
            server.write(id, hour * 3600);
        }
        server
    }

    #[test]
    fn each_hour_marks_its_share_of_the_metrics_that_were_written_to() {
        let (_dir, store) = clustered();
        let (tables, hour) = (FakeTables::with(&[]), 100 * TURN_HOURS);
        let (usage, server) = (Usage::new(Arc::<FakeTables>::clone(&tables), store), server(hour));
        usage.mark_written_at(&server, hour * 3600).unwrap();
        assert_eq!(*tables.marked_written.lock(), ["m0", "m72"]);
        usage.mark_written_at(&server, hour * 3600 + 3599).unwrap();
        assert_eq!(tables.marked_written.lock().len(), 2, "once an hour");
        // Two hours without a call: their metrics have their turn now.
        usage.mark_written_at(&server, (hour + 3) * 3600).unwrap();
        assert_eq!(tables.marked_written.lock()[2..], ["m1", "m2", "m3"]);
        // All of them were last written more than a turn ago.
        usage.mark_written_at(&server, (hour + 2 * TURN_HOURS) * 3600).unwrap();
        assert_eq!(tables.marked_written.lock().len(), 5);
    }

    #[test]
    fn after_a_failure_an_hour_is_marked_again() {
        let (_dir, store) = clustered();
        let (tables, hour) = (FakeTables::with(&[]), 100 * TURN_HOURS);
        let (usage, server) = (Usage::new(Arc::<FakeTables>::clone(&tables), store), server(hour));
        tables.is_away.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(usage.mark_written_at(&server, hour * 3600).is_err());
        tables.is_away.store(false, std::sync::atomic::Ordering::Relaxed);
        usage.mark_written_at(&server, hour * 3600).unwrap();
        assert_eq!(*tables.marked_written.lock(), ["m0", "m72"]);
    }

    #[test]
    fn a_metric_is_marked_as_read_at_once_and_again_when_its_turn_comes() {
        let (_dir, store) = clustered();
        let (tables, hour) = (FakeTables::with(&[]), 100 * TURN_HOURS + 1);
        let (usage, server) = (Usage::new(Arc::<FakeTables>::clone(&tables), store), server(hour));
        let all: Vec<MetricId> = (0..3).map(MetricId).collect();
        let marked = |hour| {
            usage.note_read_in(&all, hour);
            usage.mark_read(&server).unwrap();
            let mut marked = std::mem::take(&mut *tables.marked_read.lock());
            marked.sort();
            marked
        };
        assert_eq!(marked(hour), ["m0", "m1", "m2"]);
        assert_eq!(marked(hour), [""; 0]);
        assert_eq!(marked(hour + 1), ["m2"]);
        assert_eq!(marked(hour + 2), [""; 0]);
        assert_eq!(
            marked(hour + TURN_HOURS),
            ["m0", "m1"],
            "two turns, one of them in an hour without a read"
        );
        assert_eq!(marked(hour + 3 * TURN_HOURS), ["m0", "m1", "m2"]);
    }

    #[test]
    fn a_read_that_could_not_be_marked_is_marked_later() {
        let (_dir, store) = clustered();
        let (tables, hour) = (FakeTables::with(&[]), 100 * TURN_HOURS);
        let (usage, server) = (Usage::new(Arc::<FakeTables>::clone(&tables), store), server(hour));
        usage.note_read_in(&[MetricId(1)], hour);
        tables.is_away.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(usage.mark_read(&server).is_err());
        tables.is_away.store(false, std::sync::atomic::Ordering::Relaxed);
        usage.mark_read(&server).unwrap();
        assert_eq!(*tables.marked_read.lock(), ["m1"]);
    }
}
