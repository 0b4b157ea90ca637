//! Metrics that this server knows and that are no longer in the cluster: forgotten, or created there again.

use std::sync::Arc;

use super::BATCH;
use super::follower::Follower;
use super::tables::NameTables;
use crate::store::cassandra::names::NewMetric;
use crate::store::{Described, LocalMetrics, StoreError};
use plumbago_model::{MetricId, Span};

/// A metric with a younger point than this is being written to.
const ALIVE_SECS: u32 = 3600;

/// See the module documentation.
pub(super) struct Vanished {
    tables: Arc<dyn NameTables>,
    follower: Arc<Follower>,
}

/// What became of metrics that had vanished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) forgotten: usize,
    pub(super) created_again: usize,
}

impl Vanished {
    pub(super) fn new(tables: Arc<dyn NameTables>, follower: Arc<Follower>) -> Self {
        Self { tables, follower }
    }

    /// Looks at metrics that a reload did not see. Those that are really gone are forgotten, except for those that this
    /// server writes to: they are created again, since only an accident or an older backup can have taken them away.
    pub(super) fn settle(
        &self,
        local: &dyn LocalMetrics,
        unseen: &[MetricId],
        now: u32,
    ) -> Result<Settled, StoreError> {
        let mut settled = Settled::default();
        for ids in unseen.chunks(BATCH) {
            let batch = self.settle_batch(local, ids, now.saturating_sub(ALIVE_SECS))?;
            settled.forgotten += batch.forgotten;
            settled.created_again += batch.created_again;
        }
        if settled != Settled::default() {
            let Settled { forgotten, created_again } = settled;
            tracing::warn!(forgotten, created_again, "metrics had vanished from the cluster");
        }
        Ok(settled)
    }

    fn settle_batch(
        &self,
        local: &dyn LocalMetrics,
        ids: &[MetricId],
        alive_since: u32,
    ) -> Result<Settled, StoreError> {
        let name = |(&id, described)| match described {
            Described::Known { name, .. } => Some((id, name)),
            Described::Gone | Described::Unnamed => None,
        };
        let named: Vec<(MetricId, String)> = ids.iter().zip(local.describe(ids)).filter_map(name).collect();
        let missing = self.tables.missing(named.iter().map(|(_, name)| name.clone()).collect())?;
        // Deletions reach the feed just after the rows go; apply them first so they don't count as vanished.
        self.follower.follow(local)?;
        let (ids, names): (Vec<MetricId>, Vec<String>) =
            named.into_iter().filter(|(_, name)| missing.contains(name)).unzip();
        let (mut dead, mut alive) = (Vec::new(), Vec::new());
        for ((id, was), described) in ids.iter().zip(names).zip(local.describe(&ids)) {
            let Described::Known { name, policy, span } = described else { continue };
            if name != was {
                continue;
            }
            if span != Span::EMPTY && span.last >= alive_since {
                alive.push(NewMetric { name, policy });
            } else {
                dead.push(*id);
            }
        }
        self.tables.create(&alive)?;
        if !dead.is_empty() {
            local.forget(&dead)?;
        }
        Ok(Settled { forgotten: dead.len(), created_again: alive.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, FakeTables, clustered, follower};
    use super::*;
    use crate::store::cassandra::names::Change;

    const NOW: u32 = 1_000_000;

    fn settle(tables: &Arc<FakeTables>, server: &FakeServer) -> Settled {
        let (_dir, store) = clustered();
        let shared: Arc<dyn NameTables> = Arc::<FakeTables>::clone(tables);
        let follower = follower(tables, &store, server.id_bound(), true);
        let all: Vec<MetricId> = (0..server.id_bound()).map(MetricId).collect();
        Vanished::new(shared, follower).settle(server, &all, NOW).unwrap()
    }

    #[test]
    fn a_metric_that_is_gone_is_forgotten_and_one_that_is_written_to_is_created_again() {
        let server = FakeServer::with(&["there", "idle", "busy", "old"]);
        server.write(MetricId(2), NOW - ALIVE_SECS);
        server.write(MetricId(3), NOW - ALIVE_SECS - 1);
        let tables = FakeTables::with(&["there"]);
        assert_eq!(settle(&tables, &server), Settled { forgotten: 2, created_again: 1 });
        assert_eq!(server.names(), ["there", "busy"]);
        assert_eq!(*tables.created.lock(), [["busy"]]);
    }

    #[test]
    fn a_metric_that_somebody_deleted_has_not_vanished() {
        let server = FakeServer::with(&["deleted"]);
        server.write(MetricId(0), NOW);
        let tables = FakeTables::with(&[]);
        tables.feed.lock().push(Change::Deleted { name: "deleted".to_owned() });
        assert_eq!(settle(&tables, &server), Settled::default());
        assert!(server.names().is_empty(), "it is deleted here too");
        assert!(tables.metrics.lock().is_empty(), "and not created again, though it was written to");
    }

    #[test]
    fn a_metric_that_a_reload_missed_stays() {
        let server = FakeServer::with(&["missed"]);
        assert_eq!(settle(&FakeTables::with(&["missed"]), &server), Settled::default());
        assert_eq!(server.names(), ["missed"]);
    }
}
