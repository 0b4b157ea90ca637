//! Deleting a stretch of time: the points of some metrics in every stage, while the metrics stay.
//!
//! On a store of its own, a server erases its blocks. In front of a cluster, that is its own part of it: the rows are deleted in the
//! cluster, and every other server erases its own part when it reads of it in the feed.

use std::sync::Arc;

use super::engine::{Engine, now};
use super::local_metrics::above;
use crate::http::{DeletedRange, DeletedSlots};
use crate::rollup::{Erased, HeldSlots};
use plumbago_model::{Cancel, MetricId, QueryError, Scope, Selection, Stretch};

/// Metrics whose slots are counted between two looks at whether anybody waits for the answer.
const COUNTED_AT_ONCE: usize = 64;

impl Engine {
    /// Deletes what the metrics that match, inside of a scope, have in a stretch of time. A trial only counts.
    pub(super) fn erase_matching(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        stretch: Stretch,
        trial: bool,
        cancel: &Cancel,
    ) -> Result<DeletedRange, QueryError> {
        let selection = Selection::exactly(query)?;
        let mut found = self.chosen(scope, &selection, query, cancel)?;
        let only_directories =
            found.is_empty() && !selection.has_tags() && self.has_directories(scope, query, cancel)?;
        found.sort_unstable_by_key(|(id, _)| *id);
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        let erased = match trial {
            true => self.count_erased(&ids, stretch, cancel)?,
            false => self.erase_metrics(&ids, stretch)?,
        };
        let mut metrics = Vec::new();
        for ((_, name), Erased { points, aggregates, remade }) in found.into_iter().zip(erased) {
            if points + aggregates + remade > 0 {
                metrics.push(DeletedSlots { name, points, aggregates, remade });
            }
        }
        if !trial {
            self.telemetry.slots_deleted.add(metrics.iter().map(|m| m.points + m.aggregates).sum());
        }
        metrics.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(DeletedRange { deleted: !trial, metrics, only_directories })
    }

    /// Deletes what metrics, by ascending id, have in a stretch of time, and says what that was of each.
    pub(super) fn erase_metrics(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
    ) -> Result<Vec<Erased>, QueryError> {
        if self.store.upstream.is_sole_writer() {
            return Ok(self.points.erase(ids, stretch)?);
        }
        self.points.cut_all()?;
        let held = self.points.held_in(ids, stretch, now())?;
        let mut own = Vec::new();
        let mut erase = || {
            own = self.points.erase(ids, stretch).map_err(above)?;
            Ok(())
        };
        let tombstones = self.store.upstream.erase(&self.doomed(ids), stretch, now(), &mut erase)?;
        self.telemetry.tombstones.add(tombstones);
        Ok(seen(held, own))
    }

    /// What a deletion would delete of each metric.
    fn count_erased(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        cancel: &Cancel,
    ) -> Result<Vec<Erased>, QueryError> {
        let own = self.points.count_erased(ids, stretch, cancel)?;
        if self.store.upstream.is_sole_writer() {
            return Ok(own);
        }
        let mut held = Vec::with_capacity(ids.len());
        for some in ids.chunks(COUNTED_AT_ONCE) {
            cancel.check()?;
            held.extend(self.points.held_in(some, stretch, now())?);
        }
        Ok(seen(held, own))
    }
}

/// In a cluster, what is counted is what a query sees; what is made again at the edges is this server's part.
fn seen(held: Vec<HeldSlots>, own: Vec<Erased>) -> Vec<Erased> {
    let one = |(held, own): (HeldSlots, Erased)| Erased {
        points: held.points,
        aggregates: held.aggregates,
        remade: own.remade,
    };
    held.into_iter().zip(own).map(one).collect()
}
