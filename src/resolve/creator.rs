//! What creating a metric takes: a fresh id, a policy by the rules, and leave to do so.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use crate::config::{Ingest, Place, PolicyMatcher};
use crate::quotas::Size;
use crate::rollup::{Points, PointsError};
use plumbago_model::{Arrival, MetricId, PolicyId, Reject};

/// Hands out ids; one creation at a time.
pub(super) struct Creator {
    rules: Arc<PolicyMatcher>,
    next: MetricId,
    /// Policies and how far back they reach, by the place that gives them: a name costs two searches and no more.
    policies: HashMap<Place, (PolicyId, u64)>,
    bucket: Option<Bucket>,
}

/// A token per creation, refilled at the configured rate; a second's worth may be saved up.
struct Bucket {
    per_second: f64,
    tokens: f64,
    refilled: Instant,
}

impl Creator {
    pub(super) fn new(rules: Arc<PolicyMatcher>, limits: &Ingest, next: MetricId) -> Self {
        let per_second = limits.max_creates_per_second as f64;
        let bucket =
            (per_second > 0.0).then(|| Bucket { per_second, tokens: per_second, refilled: Instant::now() });
        Self { rules, next, policies: HashMap::new(), bucket }
    }

    pub(super) fn set_rules(&mut self, rules: Arc<PolicyMatcher>) {
        self.rules = rules;
        self.policies.clear();
    }

    /// Every id so far is below this.
    pub(super) fn id_bound(&self) -> MetricId {
        self.next
    }

    pub(super) fn next_id(&mut self) -> MetricId {
        let id = self.next;
        self.next = MetricId(id.0 + 1);
        id
    }

    /// How much a metric of this name will take.
    pub(super) fn size(&self, name: &str, arrival: Arrival) -> Size {
        Size::of(&self.rules.policy_for(name, arrival).policy.retention)
    }

    pub(super) fn take_token(&mut self) -> Result<(), Reject> {
        if self.next.0 == u32::MAX {
            return Err(Reject::MetricLimit);
        }
        self.bucket.as_mut().map_or(Ok(()), Bucket::take)
    }

    /// The policy of a new name. `None` when a point of that age would not be kept.
    pub(super) fn policy(
        &mut self,
        points: &Points,
        (name, arrival): (&str, Arrival),
        age_secs: u32,
        now: u32,
    ) -> Result<Option<PolicyId>, PointsError> {
        let place = self.rules.place(name, arrival);
        let (id, span_secs) = match self.policies.entry(place) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let policy = self.rules.policy_at(place).policy;
                *vacant.insert((points.intern_policy(&policy, now)?, policy.retention.span_secs()))
            }
        };
        Ok((u64::from(age_secs) <= span_secs).then_some(id))
    }
}

impl Bucket {
    fn take(&mut self) -> Result<(), Reject> {
        let now = Instant::now();
        let refill = now.duration_since(self.refilled).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + refill).min(self.per_second);
        self.refilled = now;
        if self.tokens < 1.0 {
            return Err(Reject::CreateRate);
        }
        self.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RetentionRules;

    #[test]
    fn the_rate_limit_refuses_what_is_over_it() {
        let limits = Ingest { max_creates_per_second: 3, ..Ingest::default() };
        let mut creator =
            Creator::new(Arc::new(PolicyMatcher::new(RetentionRules::default())), &limits, MetricId(0));
        let granted = (0..100).filter(|_| creator.take_token().is_ok()).count();
        assert!((3..100).contains(&granted), "{granted}");
        assert_eq!(creator.bucket.as_mut().unwrap().take(), Err(Reject::CreateRate));
    }

    #[test]
    fn without_a_limit_every_creation_is_granted() {
        let mut creator = Creator::new(
            Arc::new(PolicyMatcher::new(RetentionRules::default())),
            &Ingest::default(),
            MetricId(5),
        );
        assert!((0..1000).all(|_| creator.take_token().is_ok()));
        assert_eq!((creator.next_id(), creator.next_id()), (MetricId(5), MetricId(6)));
    }
}
