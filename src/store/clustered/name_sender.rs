//! Sending names: metrics that were created here and that the cluster does not have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::adopted::Adopted;
use super::notes::Notes;
use super::tables::NameTables;
use super::{BATCH, Clustered};
use crate::store::cassandra::names::{NewMetric, Outcome};
use crate::store::{Described, LocalMetrics, StoreError};
use crate::telemetry::Telemetry;
use plumbago_model::{MetricId, Policy};

/// See the module documentation.
pub(super) struct NameSender {
    tables: Arc<dyn NameTables>,
    adopted: Arc<Adopted>,
    store: Arc<Clustered>,
    telemetry: Arc<Telemetry>,
    /// Every metric with a smaller id is in the cluster.
    sent: AtomicU32,
    /// One at a time: what two send at once is created once, but counted twice.
    sending: Mutex<()>,
}

impl NameSender {
    pub(super) fn new(
        tables: Arc<dyn NameTables>,
        adopted: Arc<Adopted>,
        store: Arc<Clustered>,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, StoreError> {
        let sent = AtomicU32::new(Notes(&store.local).names_sent()?);
        Ok(Self { tables, adopted, store, telemetry, sent, sending: Mutex::default() })
    }

    /// Every metric with a smaller id is in the cluster.
    pub(super) fn sent(&self) -> u32 {
        self.sent.load(Ordering::Acquire)
    }

    /// Is this metric in the cluster, as far as this server knows?
    pub(super) fn has_sent(&self, id: MetricId) -> bool {
        id.0 < self.sent() || self.adopted.contains(id)
    }

    /// Has this server metrics that the cluster may not know yet?
    pub(super) fn has_unsent(&self, local: &dyn LocalMetrics) -> bool {
        self.sent() < local.id_bound()
    }

    /// Sends metrics the cluster does not have. True if some are left after `limit`.
    pub(super) fn send_new(&self, local: &dyn LocalMetrics, limit: Duration) -> Result<bool, StoreError> {
        let began = Instant::now();
        while began.elapsed() < limit {
            let sending = self.sending.lock();
            let from = self.sent();
            let (batch, until) = self.next_batch(local, from);
            if until == from {
                return Ok(false);
            }
            self.send(local, &batch)?;
            Notes(&self.store.local).set_names_sent(until)?;
            self.adopted.forget_before(until);
            self.sent.store(until, Ordering::Release);
            // A deletion that waits comes before the next batch.
            MutexGuard::unlock_fair(sending);
        }
        Ok(true)
    }

    /// Waits for the batch that is being sent. No other one is, as long as the guard is held.
    pub(super) fn pause(&self) -> MutexGuard<'_, ()> {
        self.sending.lock()
    }

    fn send(&self, local: &dyn LocalMetrics, batch: &[(MetricId, NewMetric)]) -> Result<(), StoreError> {
        let metrics: Vec<NewMetric> = batch.iter().map(|(_, metric)| metric.clone()).collect();
        let outcomes = self.tables.create(&metrics)?;
        self.telemetry.names_delivered.add(metrics.len() as u64);
        // The policy in the cluster counts: other servers look for points where it says.
        let other = |((id, metric), outcome): (&(MetricId, NewMetric), Outcome)| match outcome {
            Outcome::Existed(policy) if policy != metric.policy => Some((*id, policy)),
            _ => None,
        };
        let others: Vec<(MetricId, Arc<Policy>)> = batch.iter().zip(outcomes).filter_map(other).collect();
        local.change_policies(&others)
    }

    /// The metrics to send next, and the id that follows them.
    fn next_batch(&self, local: &dyn LocalMetrics, from: u32) -> (Vec<(MetricId, NewMetric)>, u32) {
        let until = local.id_bound().min(from.saturating_add(BATCH as u32));
        let ids: Vec<MetricId> = (from..until).map(MetricId).collect();
        let described = local.describe(&ids);
        let own = self.adopted.others(from..until);
        let mut batch = Vec::new();
        for (id, described) in ids.into_iter().zip(described) {
            match described {
                Described::Gone => {}
                // Its turn comes with the next batch.
                Described::Unnamed => return (batch, id.0),
                Described::Known { name, policy, .. } => {
                    if own.binary_search(&id.0).is_ok() {
                        batch.push((id, NewMetric { name, policy }));
                    }
                }
            }
        }
        (batch, until)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, FakeTables, clustered, other_policy};
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn sender(tables: &Arc<FakeTables>, store: &Arc<Clustered>, adopted: &Arc<Adopted>) -> NameSender {
        let tables: Arc<dyn NameTables> = Arc::<FakeTables>::clone(tables);
        NameSender::new(tables, Arc::clone(adopted), Arc::clone(store), Arc::default()).unwrap()
    }

    #[test]
    fn names_are_sent_once_also_after_a_restart() {
        let (_dir, store) = clustered();
        let (tables, adopted) = (FakeTables::with(&[]), Arc::<Adopted>::default());
        let server = FakeServer::with(&["a", "b"]);
        let first = sender(&tables, &store, &adopted);
        assert!(first.has_unsent(&server));
        assert!(!first.send_new(&server, Duration::MAX).unwrap());
        assert!(!first.has_unsent(&server));
        server.create("c");
        let second = sender(&tables, &store, &adopted);
        assert_eq!(second.sent(), 2);
        second.send_new(&server, Duration::MAX).unwrap();
        assert_eq!(*tables.created.lock(), [vec!["a", "b"], vec!["c"]]);
    }

    #[test]
    fn a_metric_from_the_cluster_is_not_sent_back() {
        let (_dir, store) = clustered();
        let (tables, adopted) = (FakeTables::with(&[]), Arc::<Adopted>::default());
        let server = FakeServer::with(&["own"]);
        adopted.learn(&server, &[("theirs".to_owned(), other_policy())]).unwrap();
        server.create("later");
        sender(&tables, &store, &adopted).send_new(&server, Duration::MAX).unwrap();
        assert_eq!(*tables.created.lock(), [vec!["own", "later"]]);
    }

    #[test]
    fn a_metric_that_is_being_created_waits_and_keeps_its_turn() {
        let (_dir, store) = clustered();
        let (tables, adopted) = (FakeTables::with(&[]), Arc::<Adopted>::default());
        let server = FakeServer::with(&["a"]);
        let unnamed = server.begin_to_create();
        server.create("c");
        let sender = sender(&tables, &store, &adopted);
        sender.send_new(&server, Duration::MAX).unwrap();
        assert_eq!(sender.sent(), unnamed.0);
        assert_eq!(*tables.created.lock(), [vec!["a"]]);
    }

    #[test]
    fn the_policy_of_the_cluster_counts() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&[]);
        tables.metrics.lock().insert("a".to_owned(), other_policy());
        let server = FakeServer::with(&["a"]);
        sender(&tables, &store, &Arc::default()).send_new(&server, Duration::MAX).unwrap();
        assert_eq!(server.policy_of(MetricId(0)), Some(other_policy()));
    }

    #[test]
    fn names_that_could_not_be_sent_are_sent_by_the_next_call() {
        let (_dir, store) = clustered();
        let tables = Arc::new(FakeTables { is_away: AtomicBool::new(true), ..FakeTables::default() });
        let server = FakeServer::with(&["a"]);
        let sender = sender(&tables, &store, &Arc::default());
        assert!(sender.send_new(&server, Duration::MAX).is_err());
        assert_eq!(sender.sent(), 0);
        tables.is_away.store(false, Ordering::Relaxed);
        sender.send_new(&server, Duration::MAX).unwrap();
        assert_eq!(*tables.created.lock(), [vec!["a"]]);
    }
}
