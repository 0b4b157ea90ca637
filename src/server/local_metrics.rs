//! What a shared store asks of the engine: the metrics that this machine knows.

use std::sync::Arc;

use super::engine::{Engine, now};
use crate::index::FindLimits;
use crate::rollup::PointsError;
use crate::store::{Described, Hit, LocalMetrics, RunningVisitor, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError, Stretch};

impl LocalMetrics for Engine {
    fn id_bound(&self) -> u32 {
        self.points.id_bound()
    }

    fn lookup(&self, name: &str) -> Option<MetricId> {
        self.index.read().lookup(name.as_bytes())
    }

    fn describe(&self, metrics: &[MetricId]) -> Vec<Described> {
        let index = self.index.read();
        let describe = |&id| {
            let Some((policy, span)) = self.points.state(id) else { return Described::Gone };
            let Some(policy) = self.points.policies().get(policy) else { return Described::Gone };
            match index.name(id) {
                Some(name) => Described::Known { name: name.to_owned(), policy, span },
                None => Described::Unnamed,
            }
        };
        metrics.iter().map(describe).collect()
    }

    fn find(&self, glob: &Glob, max_hits: usize, cancel: &Cancel) -> Result<Vec<Hit>, QueryError> {
        let found = self.index.find(glob, FindLimits::names(max_hits), cancel)?;
        let hit = |found: crate::index::Found<'_>| Hit {
            path: found.path.to_owned(),
            leaf: found.leaf.is_some(),
            directory: found.directory,
        };
        Ok(found.iter().map(hit).collect())
    }

    fn find_leaves(
        &self,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        self.index.find_leaves(glob, FindLimits::series(max_hits), cancel)
    }

    fn learn(&self, metrics: &[(String, Arc<Policy>)]) -> Result<Vec<MetricId>, StoreError> {
        self.adopt(metrics).map_err(above)
    }

    fn policy(&self, id: MetricId) -> Option<Arc<Policy>> {
        let (policy, _) = self.points.state(id)?;
        self.points.policies().get(policy)
    }

    fn follow_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError> {
        self.move_policies(changes).map_err(above)
    }

    fn change_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError> {
        self.correct_policies(changes).map_err(above)
    }

    fn forget(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        Engine::forget(self, metrics).map_err(above)
    }

    fn erase(&self, metrics: &[MetricId], stretch: Stretch) -> Result<(), StoreError> {
        self.points.erase(metrics, stretch).map_err(above).map(drop)
    }

    fn visit_running(
        &self,
        metrics: &[MetricId],
        least_step_secs: u32,
        visit: &mut RunningVisitor<'_>,
    ) -> Result<(), StoreError> {
        self.points.visit_running(metrics, least_step_secs, now(), visit)
    }
}

/// An error of the log or of memory, as the store sees it.
pub(super) fn above(error: PointsError) -> StoreError {
    match error {
        PointsError::Store(error) => error,
        other => StoreError::Above(Box::new(other)),
    }
}
