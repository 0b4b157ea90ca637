//! Deleting a stretch of time: the points of some metrics in every stage, while the metrics stay.
//!
//! On a store of its own, a server erases its blocks. In front of a cluster, that is its own part of it: the rows are deleted in the
//! cluster, and every other server erases its own part when it reads of it in the feed.

use std::sync::Arc;

use super::engine::{Engine, now};
use super::local_metrics::above;
use crate::http::{DeletedRange, DeletedSlots};
use crate::rollup::{Erased, HeldSlots};
use plumbago_model::{MetricId, QueryError, Scope, Selection, Stretch};

impl Engine {
    /// Deletes what the metrics that match, inside of a scope, have in a stretch of time. A trial only counts.
    pub(super) fn erase_matching(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        stretch: Stretch,
        trial: bool,
    ) -> Result<DeletedRange, QueryError> {
        let selection = Selection::exactly(query)?;
        let mut found = if selection.has_tags() {
            self.selected(scope, &selection)
        } else {
            self.matching(scope, query)?
        };
        let only_directories =
            found.is_empty() && !selection.has_tags() && self.has_directories(scope, query)?;
        found.sort_unstable_by_key(|(id, _)| *id);
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        let erased = self.erase_metrics(&ids, stretch, trial)?;
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

    /// Deletes what metrics, by ascending id, have in a stretch of time, and says what that was of each. A trial only counts.
    pub(super) fn erase_metrics(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        trial: bool,
    ) -> Result<Vec<Erased>, QueryError> {
        match self.store.upstream.is_sole_writer() {
            true => Ok(self.points.erase(ids, stretch, trial)?),
            false => self.erase_for_all(ids, stretch, trial),
        }
    }

    /// The same in a cluster. What is counted is what a query sees; what is made again at the edges is this server's part.
    fn erase_for_all(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        trial: bool,
    ) -> Result<Vec<Erased>, QueryError> {
        self.points.cut_all()?;
        let held = self.points.held_in(ids, stretch, now())?;
        let mut own = Vec::new();
        let mut erase = |trial| {
            own = self.points.erase(ids, stretch, trial).map_err(above)?;
            Ok(())
        };
        if trial {
            erase(true)?;
        } else {
            let doomed = self.doomed(ids);
            let tombstones = self.store.upstream.erase(&doomed, stretch, now(), &mut || erase(false))?;
            self.telemetry.tombstones.add(tombstones);
        }
        let counted = held.into_iter().zip(own);
        let one = |(held, own): (HeldSlots, Erased)| Erased {
            points: held.points,
            aggregates: held.aggregates,
            remade: own.remade,
        };
        Ok(counted.map(one).collect())
    }
}
