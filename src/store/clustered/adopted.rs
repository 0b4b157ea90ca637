//! Metrics that came from the cluster: known here from now on, and not to be sent back.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::{LocalMetrics, StoreError};
use plumbago_model::{MetricId, Policy};

/// Ids of metrics that came from the cluster and that the name sender has not passed yet.
#[derive(Default)]
pub(super) struct Adopted {
    ids: Mutex<HashSet<u32>>,
}

impl Adopted {
    /// Makes metrics of the cluster known on this machine. Those that are known already stay as they are.
    pub(super) fn learn(
        &self,
        local: &dyn LocalMetrics,
        metrics: &[(String, Arc<Policy>)],
    ) -> Result<(), StoreError> {
        let ids = local.learn(metrics)?;
        self.ids.lock().extend(ids.iter().map(|id| id.0));
        Ok(())
    }

    /// Those of some ids that did not come from the cluster.
    pub(super) fn others(&self, ids: std::ops::Range<u32>) -> Vec<u32> {
        let adopted = self.ids.lock();
        ids.filter(|id| !adopted.contains(id)).collect()
    }

    /// Did this metric come from the cluster?
    pub(super) fn contains(&self, id: MetricId) -> bool {
        self.ids.lock().contains(&id.0)
    }

    /// Every metric before this id is in the cluster, wherever it came from.
    pub(super) fn forget_before(&self, id: u32) {
        self.ids.lock().retain(|&adopted| adopted >= id);
    }
}
