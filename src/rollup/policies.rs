//! The policies in use, by number.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use plumbago_model::{MetricId, Policy, PolicyId};

/// All policies ever used, and which metrics have had more than one.
#[derive(Debug, Default)]
pub struct Policies {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// A number without a policy is one whose record was lost with the power, before any metric had it.
    by_id: Vec<Option<Arc<Policy>>>,
    by_text: HashMap<String, PolicyId>,
    /// Earlier policies of metrics whose rule changed, oldest first.
    earlier: HashMap<MetricId, Vec<PolicyId>>,
}

impl Inner {
    fn reserve(&mut self, id: PolicyId) {
        let bound = id.0 as usize + 1;
        if self.by_id.len() < bound {
            self.by_id.resize(bound, None);
        }
    }
}

impl Policies {
    /// The policy of that number.
    pub fn get(&self, id: PolicyId) -> Option<Arc<Policy>> {
        self.inner.read().by_id.get(id.0 as usize).cloned().flatten()
    }

    /// The number of a policy that is in use.
    pub(super) fn number(&self, policy: &Policy) -> Option<PolicyId> {
        self.inner.read().by_text.get(&policy.to_string()).copied()
    }

    /// The number that no policy has had.
    pub(super) fn next(&self) -> PolicyId {
        PolicyId(self.inner.read().by_id.len() as u32)
    }

    /// Restores a policy under its number.
    pub fn restore(&self, id: PolicyId, policy: Policy) {
        let mut inner = self.inner.write();
        let text = policy.to_string();
        inner.reserve(id);
        inner.by_id[id.0 as usize] = Some(Arc::new(policy));
        inner.by_text.insert(text, id);
    }

    /// Makes sure that no policy gets this number from now on.
    pub(super) fn reserve(&self, id: PolicyId) {
        self.inner.write().reserve(id);
    }

    /// The span of the shortest stage 0. Younger points go to stage 0 under every policy, so ingest need not look theirs up.
    pub(super) fn shortest_raw_span(&self) -> u64 {
        self.inner.read().by_id.iter().flatten().map(|p| p.retention.raw().span_secs()).min().unwrap_or(0)
    }

    /// All of them.
    pub fn all(&self) -> Vec<(PolicyId, Arc<Policy>)> {
        let inner = self.inner.read();
        let numbered = inner.by_id.iter().enumerate();
        numbered.filter_map(|(i, p)| Some((PolicyId(i as u32), Arc::clone(p.as_ref()?)))).collect()
    }

    /// Records that `metric` had `policy` before.
    pub fn remember(&self, metric: MetricId, policy: PolicyId) {
        let mut inner = self.inner.write();
        let earlier = inner.earlier.entry(metric).or_default();
        earlier.retain(|&p| p != policy);
        earlier.push(policy);
    }

    /// The policies `metric` had before the one in force, oldest first.
    pub fn earlier(&self, metric: MetricId) -> Vec<PolicyId> {
        let inner = self.inner.read();
        if inner.earlier.is_empty() {
            return Vec::new();
        }
        inner.earlier.get(&metric).cloned().unwrap_or_default()
    }

    /// Metrics that had `policy` before and now have another.
    pub(super) fn former_metrics(&self, policy: PolicyId) -> Vec<MetricId> {
        let inner = self.inner.read();
        inner.earlier.iter().filter(|(_, had)| had.contains(&policy)).map(|(&id, _)| id).collect()
    }
}
