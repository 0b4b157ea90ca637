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

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, other_policy, policy};
    use super::*;

    #[test]
    fn only_metrics_that_were_unknown_here_came_from_the_cluster() {
        let (server, adopted) = (FakeServer::with(&["own"]), Adopted::default());
        let found = ["own", "theirs"].map(|name| (name.to_owned(), other_policy()));
        adopted.learn(&server, &found).unwrap();
        assert_eq!(server.names(), ["own", "theirs"]);
        assert_eq!([0, 1].map(|id| adopted.contains(MetricId(id))), [false, true]);
        assert_eq!(adopted.others(0..3), [0, 2]);
        // The metric was here first, so its policy stays until its name is sent.
        assert_eq!(server.policy_of(MetricId(0)), Some(policy()));
        adopted.learn(&server, &found).unwrap();
        assert_eq!(adopted.others(0..2), [0], "learning again changes nothing");
    }

    #[test]
    fn what_the_name_sender_has_passed_takes_no_memory() {
        let (server, adopted) = (FakeServer::default(), Adopted::default());
        let metrics: Vec<_> = (0..5).map(|nth| (format!("m{nth}"), policy())).collect();
        adopted.learn(&server, &metrics).unwrap();
        adopted.forget_before(3);
        assert_eq!(adopted.others(0..5), [0, 1, 2]);
        assert_eq!(adopted.ids.lock().len(), 2);
    }
}
