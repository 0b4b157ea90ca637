//! The metrics' ids in the cluster, by their handles here.

use std::sync::Arc;

use parking_lot::RwLock;
use uuid::Uuid;

use crate::model::{MetricId, MetricRecord, Policy, PolicyId, Span};
use crate::store::cassandra::names::identity;
use crate::store::{MetricStore, StoreError};

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

    fn load(&self, visit: &mut dyn FnMut(MetricRecord)) -> Result<(), StoreError> {
        self.local.load(&mut |record| {
            self.identities.add(std::iter::once((record.id, record.name.as_str())));
            visit(record);
        })
    }

    fn announce(&self, metrics: &[(MetricId, &str)]) {
        self.identities.add(metrics.iter().copied());
    }

    fn create(&self, metrics: &[MetricRecord]) -> Result<(), StoreError> {
        self.identities.add(metrics.iter().map(|record| (record.id, record.name.as_str())));
        self.local.create(metrics)
    }

    fn touch(&self, spans: &[(MetricId, Span)]) -> Result<(), StoreError> {
        self.local.touch(spans)
    }

    fn set_policy(&self, changes: &[(MetricId, PolicyId)]) -> Result<(), StoreError> {
        self.local.set_policy(changes)
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.local.delete(metrics)
    }
}
