//! Deleting metrics while points come in.
//!
//! A sender looks a name up in the index, and appends its point a moment later. A metric that is deleted in between would take the
//! point with it. So deletions are numbered: the number is odd while one is under way, and [`Points::append_since`] refuses points
//! whose metrics were looked up under another number. The caller then looks the names up again, and a deleted metric is created
//! again for its point.
//!
//! A deletion is logged and leaves memory first, then the caller removes the names, then the catalogue and the store forget
//! the metrics. As long as the index has a name, no metric is created for it. So the log has the deletion of a metric before
//! another one of the same name, which is what a replay relies on.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::points::{Memory, Points, PointsError};
use crate::log::encode_deleted;
use crate::planted::{Planted, is_planted};
use plumbago_model::{MetricId, PolicyId, Span};

/// Numbers the deletions.
#[derive(Default)]
pub(super) struct Deletions {
    number: AtomicU64,
    /// Held while the number is odd.
    under_way: Mutex<()>,
    /// Metrics that the catalogue or the store could not forget yet.
    unfinished: Mutex<Vec<MetricId>>,
}

impl Deletions {
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// Can a metric that was looked up under this number have been deleted?
    pub(super) fn outdates(&self, number: u64) -> bool {
        number % 2 == 1 || number != self.number()
    }

    fn begin(&self) -> UnderWay<'_> {
        let lock = self.under_way.lock();
        self.number.fetch_add(1, Ordering::SeqCst);
        UnderWay { deletions: self, _lock: lock }
    }
}

/// Makes the number odd; even again when it is dropped, after an error too.
struct UnderWay<'a> {
    deletions: &'a Deletions,
    _lock: MutexGuard<'a, ()>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.deletions.number.fetch_add(1, Ordering::SeqCst);
    }
}

/// Metrics that are in the log as deleted and no longer in memory. Their names have to go, then [`Deletion::finish`].
pub struct Deletion<'a> {
    points: &'a Points,
    gone: Vec<MetricId>,
    under_way: UnderWay<'a>,
    _no_cut: MutexGuard<'a, ()>,
}

impl Points {
    /// Forgets metrics and their points.
    pub fn delete(&self, ids: &[MetricId]) -> Result<(), PointsError> {
        self.begin_deletion(ids, |_, _, _| true)?.finish()
    }

    /// Begins to delete those of some metrics that are there and that `leaves` agrees to. It is asked while no point can come in.
    pub fn begin_deletion(
        &self,
        ids: &[MetricId],
        leaves: impl Fn(MetricId, PolicyId, Span) -> bool,
    ) -> Result<Deletion<'_>, PointsError> {
        let agreed = |memory: &Memory, id| {
            memory.live.state(id).is_some_and(|state| leaves(id, state.policy, state.span))
        };
        self.begin_deletion_where(ids, agreed)
    }

    /// Begins to delete a metric, unless it may have received points since [`Points::cut_to_mark`].
    pub fn begin_quiet_deletion(&self, id: MetricId, mark: u64) -> Result<Deletion<'_>, PointsError> {
        // Any cut since the mark may have had points of this metric.
        let is_uncut = || self.store().snapshot().position().log_floor == mark;
        let is_quiet = |memory: &Memory, id| {
            let is_there = memory.live.state(id).is_some();
            is_there && memory.frozen.is_none() && memory.live.is_empty_of(id) && is_uncut()
        };
        self.begin_deletion_where(&[id], is_quiet)
    }

    fn begin_deletion_where(
        &self,
        ids: &[MetricId],
        agreed: impl Fn(&Memory, MetricId) -> bool,
    ) -> Result<Deletion<'_>, PointsError> {
        let no_cut = self.cutting.lock();
        let mut log = self.log();
        let under_way = self.deletions.begin();
        let gone: Vec<MetricId> = {
            let memory = self.memory();
            ids.iter().copied().filter(|&id| agreed(&memory, id)).collect()
        };
        if !gone.is_empty() {
            let mut frame = Vec::new();
            encode_deleted(&gone, &mut frame);
            log.append(&frame)?;
            self.forget(&gone);
        }
        drop(log);
        Ok(Deletion { points: self, gone, under_way, _no_cut: no_cut })
    }

    /// The number to give to [`Points::append_since`]; to be asked for before names are looked up.
    pub fn deletions(&self) -> u64 {
        self.deletions.number()
    }

    /// Lets the catalogue and the store forget what they could not forget yet. A cut does so before it removes the part of the log
    /// that has the deletions. The caller holds the lock of cuts.
    pub(super) fn finish_deletions(&self) -> Result<(), PointsError> {
        let mut unfinished = self.deletions.unfinished.lock();
        if !unfinished.is_empty() {
            // The log is durable first. If power failed in between, a start would find in it that the metrics were created, and not
            // that they were deleted.
            if !is_planted(Planted::DeletionNotSynced) {
                self.sync()?;
            }
            self.catalogue().delete(&unfinished)?;
            self.store().delete(&unfinished)?;
            unfinished.clear();
        }
        Ok(())
    }

    /// Returns when no deletion is under way that was when this was called.
    pub fn wait_for_deletion(&self) {
        drop(self.deletions.under_way.lock());
    }
}

impl Deletion<'_> {
    /// The metrics.
    pub fn metrics(&self) -> &[MetricId] {
        &self.gone
    }

    /// The names are gone: their next points create them again. The catalogue and the store forget the metrics.
    pub fn finish(self) -> Result<(), PointsError> {
        let Self { points, gone, under_way, _no_cut } = self;
        drop(under_way);
        points.deletions.unfinished.lock().extend(gone);
        points.finish_deletions()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, HOUR, METRIC, NOW};
    use plumbago_model::Point;

    const POINT: Point = Point { timestamp: HOUR, value: 1.0 };

    #[test]
    fn points_of_metrics_that_may_be_deleted_are_not_taken() {
        let bench = Bench::new("360*10s|sum|0");
        let before = bench.points.deletions();
        let deletion = bench.points.begin_deletion(&[METRIC], |_, _, _| true).unwrap();
        assert_eq!(deletion.metrics(), [METRIC]);
        let append = |number| bench.points.append_since(&[(METRIC, POINT)], number, NOW).unwrap();
        assert_eq!(append(before), None, "looked up before");
        assert_eq!(append(bench.points.deletions()), None, "looked up while the index had the name still");
        deletion.finish().unwrap();
        assert_eq!(append(before), None, "looked up before, appended afterwards");
        assert_eq!(bench.points.held(), 0);
        assert!(append(bench.points.deletions()).is_some());
    }

    #[test]
    fn a_metric_that_is_not_agreed_to_keeps_all_it_has() {
        let bench = Bench::new("360*10s|sum|0");
        bench.append(HOUR, 2.0);
        let deletion = bench.points.begin_deletion(&[METRIC], |_, _, span| span.last < HOUR).unwrap();
        assert!(deletion.metrics().is_empty());
        deletion.finish().unwrap();
        assert_eq!(bench.slot(0, HOUR), (2.0, 1));
    }
}
