//! One reading of all names of the cluster, compared with those known here.

use std::sync::Arc;

use super::engine::{Engine, now};
use crate::model::{MetricId, Policy};
use crate::rollup::PointsError;
use crate::store::cassandra::names::{Listed, Names};

/// Metrics looked at together.
const BATCH: usize = 2000;

/// See the module documentation.
pub(super) struct Listing<'a> {
    engine: &'a Engine,
    /// By handle: was it listed? Only for those that the cluster had when the reading began.
    seen: Vec<bool>,
    expired: Vec<MetricId>,
}

impl<'a> Listing<'a> {
    /// Every metric with a handle below `sent` is in the cluster.
    pub(super) fn new(engine: &'a Engine, sent: u32) -> Self {
        Self { engine, seen: vec![false; sent as usize], expired: Vec::new() }
    }

    /// Notes that the cluster has a metric.
    pub(super) fn see(&mut self, listed: &Listed, is_expired: bool) {
        let Some(id) = self.engine.index.read().lookup(listed.name.as_bytes()) else { return };
        if let Some(seen) = self.seen.get_mut(id.index()) {
            *seen = true;
        }
        if is_expired {
            self.expired.push(id);
        }
    }

    /// Forgets expired metrics, but for those that were written to here meanwhile. Gives their number.
    pub(super) fn hide(&self) -> Result<usize, PointsError> {
        let spans = self.engine.points.spans(&self.expired);
        let is_over = |(id, last): (MetricId, u32)| {
            let policy = self.engine.points.policies().get(self.engine.points.state(id)?.0)?;
            let kept_until = u64::from(last) + policy.retention.span_secs();
            (kept_until < u64::from(now())).then_some(id)
        };
        let lasts = self.expired.iter().copied().zip(spans.iter().map(|span| span.last));
        let over: Vec<MetricId> = lasts.filter_map(is_over).collect();
        self.forget(&over)?;
        Ok(over.len())
    }

    /// Forgets metrics that the cluster does not have any more: somebody deleted them and did not say so. Gives their number.
    pub(super) fn forget_gone(&self, names: &Names, default: &Arc<Policy>) -> anyhow::Result<usize> {
        let unseen = self.seen.iter().zip(0..).filter(|(seen, _)| !**seen).map(|(_, id)| MetricId(id));
        let missing: Vec<(MetricId, String)> = {
            let index = self.engine.index.read();
            unseen.filter_map(|id| Some((id, index.name(id)?.to_owned()))).collect()
        };
        let mut count = 0;
        for batch in missing.chunks(BATCH) {
            // Asked for by name: a reading of everything may miss what is written meanwhile.
            let wanted: Vec<String> = batch.iter().map(|(_, name)| name.clone()).collect();
            let there = names.records(&wanted, default)?;
            let gone = batch.iter().filter(|(_, name)| !there.contains_key(name)).map(|(id, _)| *id);
            let gone: Vec<MetricId> = gone.collect();
            self.forget(&gone)?;
            count += gone.len();
        }
        Ok(count)
    }

    fn forget(&self, ids: &[MetricId]) -> Result<(), PointsError> {
        if ids.is_empty() { Ok(()) } else { self.engine.forget(ids) }
    }
}
