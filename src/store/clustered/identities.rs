//! The metrics' ids in the cluster, by their handles here.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use parking_lot::RwLock;
use uuid::Uuid;

use crate::store::cassandra::names::identity;
use crate::store::{MetricStore, StoreError};
use plumbago_model::{MetricId, MetricRecord, Policy, PolicyId, Span};

/// Names whose ids are computed at once while all are loaded.
const BATCH: usize = 4096;

/// Batches on their way to the thread that computes ids.
const QUEUED: usize = 8;

/// Ids of all metrics this server knows.
#[derive(Debug, Default)]
pub struct Identities {
    /// By handle; nil for handles without a metric.
    ids: RwLock<Vec<Uuid>>,
}

impl Identities {
    /// The id of a metric.
    pub fn get(&self, metric: MetricId) -> Option<Uuid> {
        self.ids.read().get(metric.index()).copied().filter(|id| !id.is_nil())
    }

    /// Takes metrics in.
    pub fn add<'a>(&self, metrics: impl Iterator<Item = (MetricId, &'a str)>) {
        let mut ids = self.ids.write();
        for (metric, name) in metrics {
            if ids.len() <= metric.index() {
                ids.resize(metric.index() + 1, Uuid::nil());
            }
            ids[metric.index()] = identity::id(name);
        }
    }
}

/// The catalogue on this machine, which tells [`Identities`] what it learns.
pub(super) struct Known {
    local: Arc<dyn MetricStore>,
    identities: Arc<Identities>,
}

impl Known {
    pub(super) fn new(local: Arc<dyn MetricStore>, identities: Arc<Identities>) -> Self {
        Self { local, identities }
    }
}

impl MetricStore for Known {
    fn policies(&self) -> Result<Vec<(PolicyId, Policy)>, StoreError> {
        self.local.policies()
    }

    fn add_policies(&self, policies: &[(PolicyId, Policy)]) -> Result<(), StoreError> {
        self.local.add_policies(policies)
    }

    fn id_bound(&self) -> Result<u32, StoreError> {
        self.local.id_bound()
    }

    /// Ids are computed on a thread of their own, so that a start does not wait for a million hashes.
    fn load(&self, visit: &mut dyn FnMut(MetricRecord)) -> Result<(), StoreError> {
        let (batches, received) = sync_channel::<Batch>(QUEUED);
        std::thread::scope(move |scope| {
            scope.spawn(|| received.into_iter().for_each(|batch| self.identities.add(batch.iter())));
            let mut batch = Batch::default();
            // To hand over fails only if the other thread has panicked, which shows at the end of the scope.
            self.local.load(&mut |record| {
                batch.push(record.id, &record.name);
                if batch.metrics.len() == BATCH {
                    let _ = batches.send(std::mem::take(&mut batch));
                }
                visit(record);
            })?;
            let _ = batches.send(batch);
            Ok(())
        })
    }

    fn announce(&self, metrics: &[(MetricId, &str)], _: u32) {
        self.identities.add(metrics.iter().copied());
    }

    fn create(&self, metrics: &[MetricRecord]) -> Result<(), StoreError> {
        self.identities.add(metrics.iter().map(|record| (record.id, record.name.as_str())));
        self.local.create(metrics)
    }

    fn touch(&self, spans: &[(MetricId, Span)]) -> Result<(), StoreError> {
        self.local.touch(spans)
    }

    fn set_policies(&self, changes: &[(MetricId, Vec<PolicyId>)]) -> Result<(), StoreError> {
        self.local.set_policies(changes)
    }

    fn rename(&self, _names: &[(MetricId, String)]) -> Result<(), StoreError> {
        Err(StoreError::Refused(
            "the rows of a metric are found by its name; copy it to its new name instead".to_owned(),
        ))
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.local.delete(metrics)
    }
}

/// Metrics with their names, in two allocations.
#[derive(Default)]
struct Batch {
    names: String,
    /// Each with the end of its name, which begins where the one before ends.
    metrics: Vec<(MetricId, usize)>,
}

impl Batch {
    fn push(&mut self, metric: MetricId, name: &str) {
        self.names.push_str(name);
        self.metrics.push((metric, self.names.len()));
    }

    fn iter(&self) -> impl Iterator<Item = (MetricId, &str)> {
        let mut begin = 0;
        self.metrics.iter().map(move |&(metric, end)| {
            let name = &self.names[begin..end];
            begin = end;
            (metric, name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{clustered, policy};
    use super::*;

    fn record(id: u32, name: String) -> MetricRecord {
        MetricRecord { id: MetricId(id), name, policies: vec![PolicyId(0)], span: Span::EMPTY }
    }

    #[test]
    fn an_id_follows_from_the_name_and_a_handle_without_a_metric_has_none() {
        let identities = Identities::default();
        identities.add([(MetricId(3), "a.b")].into_iter());
        assert_eq!(identities.get(MetricId(3)), Some(identity::id("a.b")));
        assert_eq!([0, 2, 4].map(|id| identities.get(MetricId(id))), [None; 3]);
        // The handle of a deleted metric goes to another one.
        identities.add([(MetricId(3), "c")].into_iter());
        assert_eq!(identities.get(MetricId(3)), Some(identity::id("c")));
    }

    #[test]
    fn every_metric_of_the_catalogue_has_its_id_after_a_start() {
        let (_dir, store) = clustered();
        store.metrics.add_policies(&[(PolicyId(0), policy().as_ref().clone())]).unwrap();
        // More than a batch, and not a whole number of them.
        let count = 2 * BATCH as u32 + 7;
        let records: Vec<_> = (0..count).map(|id| record(id, format!("servers.web{id}.load"))).collect();
        store.metrics.create(&records).unwrap();
        let identities = Arc::<Identities>::default();
        let mut visited = 0;
        let known = Known::new(Arc::clone(&store.local.metrics), Arc::clone(&identities));
        known.load(&mut |found| visited += u32::from(found == records[found.id.index()])).unwrap();
        assert_eq!(visited, count);
        for record in &records {
            assert_eq!(identities.get(record.id), Some(identity::id(&record.name)), "{}", record.name);
        }
    }

    #[test]
    fn a_name_that_is_an_id_cannot_change() {
        let (_dir, store) = clustered();
        let refused = store.metrics.rename(&[(MetricId(0), "b".to_owned())]).unwrap_err();
        assert!(refused.to_string().contains("copy it to its new name"), "{refused}");
    }
}
