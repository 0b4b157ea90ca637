//! Retention rules while the server runs: what changed rules would do, and putting them in force.
//!
//! In a store that other servers write to, they read the policy of a metric from there, and their rules may be others. So a reload moves
//! those metrics only that had the policy of the old rules, and a start moves none. The new policies are written to the cluster, and
//! the other servers follow them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use crate::config::{Loaded, Place, PolicyMatcher, Quota, RetentionRules, Settings, Sources};
use crate::http::{PolicyMove, Reloaded, RetentionPlan};
use crate::rollup::PointsError;
use crate::rules::Rules;
use plumbago_model::{MetricId, Policy, PolicyId, QueryError, Stage};

/// Names shown of each move.
const EXAMPLES: usize = 3;

/// What the configuration was read from, so that it can be read again.
pub(super) struct Reading {
    pub(super) sources: Sources,
    pub(super) settings: Settings,
}

/// A metric whose rules now give it another policy.
struct Move {
    id: MetricId,
    name: String,
    from: PolicyId,
    to: Arc<Policy>,
}

impl Move {
    fn local(&self) -> (MetricId, Arc<Policy>) {
        (self.id, Arc::clone(&self.to))
    }

    fn shared(&self) -> (String, Arc<Policy>) {
        (self.name.clone(), Arc::clone(&self.to))
    }
}

/// The policies that rules give, each made once.
struct Ruled<'a> {
    rules: &'a PolicyMatcher,
    by_place: HashMap<Place, Arc<Policy>>,
}

impl<'a> Ruled<'a> {
    fn new(rules: &'a PolicyMatcher) -> Self {
        Self { rules, by_place: HashMap::new() }
    }

    /// The policy for a metric that has another one now.
    fn policy(&mut self, name: &str, now: &Policy) -> Arc<Policy> {
        let place = self.rules.place(name, now.arrival());
        let made = || Arc::new(self.rules.policy_at(place).policy);
        Arc::clone(self.by_place.entry(place).or_insert_with(made))
    }
}

impl Engine {
    /// The rules in force.
    pub(super) fn retention(&self) -> Arc<PolicyMatcher> {
        Arc::clone(&self.retention.read())
    }

    /// Moves the metrics of a store of its own to the policies of the rules in force. Their stored data stays readable.
    pub fn apply_rules(&self) -> Result<usize, PointsError> {
        if !self.store.upstream.is_sole_writer() {
            return Ok(0);
        }
        let moves = self.moves(&self.retention(), &self.retention());
        self.move_policies(&moves.iter().map(Move::local).collect::<Vec<_>>())?;
        Ok(moves.len())
    }

    /// Moves metrics whose policy the old rules gave them, in a store of its own all metrics, to the policies of the rules in force.
    fn apply_changed(&self, old: &PolicyMatcher) -> Result<usize, QueryError> {
        let moves = self.moves(&self.retention(), old);
        self.store.upstream.change_policies(&moves.iter().map(Move::shared).collect::<Vec<_>>())?;
        self.move_policies(&moves.iter().map(Move::local).collect::<Vec<_>>())?;
        Ok(moves.len())
    }

    /// Puts metrics under other policies on this machine.
    pub(super) fn move_policies(&self, metrics: &[(MetricId, Arc<Policy>)]) -> Result<(), PointsError> {
        let mut numbers: HashMap<String, PolicyId> = HashMap::new();
        let mut changes = Vec::with_capacity(metrics.len());
        for (id, to) in metrics {
            let text = to.to_string();
            let number = match numbers.get(&text) {
                Some(number) => *number,
                None => self.points.intern_policy(to, now())?,
            };
            numbers.insert(text, number);
            changes.push((*id, number));
        }
        self.points.move_to(&changes, now())?;
        self.resolver.resize(metrics);
        Ok(())
    }

    /// The metrics that rules would move. In a store that others write to, that is those whose policy is that of the old rules.
    fn moves(&self, rules: &PolicyMatcher, old_rules: &PolicyMatcher) -> Vec<Move> {
        let is_sole = self.store.upstream.is_sole_writer();
        let (mut new, mut old) = (Ruled::new(rules), Ruled::new(old_rules));
        let mut moves = Vec::new();
        for id in (0..self.points.id_bound()).map(MetricId) {
            let Some((from, _)) = self.points.state(id) else { continue };
            let Some(policy) = self.points.policies().get(from) else { continue };
            let index = self.index.read();
            let Some(name) = index.name(id) else { continue };
            let to = new.policy(name, &policy);
            if *to != *policy && (is_sole || *old.policy(name, &policy) == *policy) {
                moves.push(Move { id, name: name.to_owned(), from, to });
            }
        }
        moves
    }

    /// What these rules would do.
    pub fn plan(&self, rules: &RetentionRules) -> Result<RetentionPlan, QueryError> {
        let moves = self.moves(&PolicyMatcher::new(rules.clone()), &self.retention());
        let mut alike: BTreeMap<(PolicyId, String), Vec<MetricId>> = BTreeMap::new();
        for Move { id, from, to, .. } in &moves {
            alike.entry((*from, to.to_string())).or_default().push(*id);
        }
        let metrics = self.index.read().len() as u64;
        let mut plan = RetentionPlan {
            unchanged: metrics - moves.len() as u64,
            metrics_keep_their_policy: !self.store.upstream.is_sole_writer(),
            moves: Vec::new(),
        };
        for ((from, to), ids) in alike {
            let from = self.points.policies().get(from).map(|policy| policy.to_string());
            let index = self.index.read();
            let names = ids.iter().filter_map(|&id| index.name(id));
            plan.moves.push(PolicyMove {
                from: from.unwrap_or_default(),
                to,
                metrics: ids.len() as u64,
                bytes: self.chunk_bytes(&ids)?,
                examples: names.take(EXAMPLES).map(str::to_owned).collect(),
            });
        }
        plan.moves.sort_by(|a, b| b.metrics.cmp(&a.metrics).then_with(|| a.from.cmp(&b.from)));
        Ok(plan)
    }

    /// What the files would do if they were put in force now.
    pub(super) fn plan_files(&self) -> Result<RetentionPlan, QueryError> {
        let (loaded, _) = self.read_again()?;
        self.admit_tables(&loaded.config.retention)?;
        self.plan(&loaded.config.retention)
    }

    /// Reads the configuration and the rule files again, and puts the rules in force. If a file is bad, nothing changes.
    pub(super) fn reload(&self) -> Result<Reloaded, QueryError> {
        let _one_at_a_time = self.reloading.lock();
        let reloaded = self.try_reload();
        self.telemetry.reloads.add(1);
        if reloaded.is_err() {
            self.telemetry.reload_failures.add(1);
        }
        reloaded
    }

    fn try_reload(&self) -> Result<Reloaded, QueryError> {
        let (loaded, needs_restart) = self.read_again()?;
        self.admit_tables(&loaded.config.retention)?;
        self.rules.as_ref().map_or(Ok(()), Rules::reload).map_err(QueryError::invalid)?;
        self.reload_quotas(&loaded.config.quotas);
        let old = self.retention();
        // New metrics first: one that is created meanwhile must not keep an old policy.
        self.put_in_force(Arc::new(PolicyMatcher::new(loaded.config.retention)));
        // The next reload must find out again which metrics have the policies of the old rules.
        let moved = self.apply_changed(&old).inspect_err(|_| self.put_in_force(old))? as u64;
        Ok(Reloaded { moved, needs_restart, warnings: loaded.warnings })
    }

    /// Puts the quotas in force, if they are others. All metrics are counted again then.
    fn reload_quotas(&self, quotas: &[Quota]) {
        if self.quotas.are(quotas) {
            return;
        }
        self.resolver.set_quotas(quotas);
        *self.quota_rules.write() = quotas.to_vec();
        tracing::info!(quotas = quotas.len(), "quotas reloaded");
    }

    /// The configuration as the files have it now, and the keys that differ from those in force and are no retention.
    fn read_again(&self) -> Result<(Loaded, Vec<String>), QueryError> {
        let Some(Reading { sources, settings }) = self.reading.get() else {
            return Err(QueryError::invalid(
                "this server was not started from a configuration that can be read again",
            ));
        };
        let loaded = Loaded::new(sources).map_err(QueryError::invalid)?;
        let old = settings.iter().filter(|setting| !setting.key.is_reloaded());
        let differs = |key: &str, value| loaded.settings.get(key).is_some_and(|new| new.value != value);
        let keys = old.map(|setting| (setting.key.to_string(), setting.value.clone()));
        let needs_restart = keys.filter(|(key, value)| differs(key, value.clone())).map(|(key, _)| key);
        let needs_restart = needs_restart.collect();
        Ok((loaded, needs_restart))
    }

    fn put_in_force(&self, rules: Arc<PolicyMatcher>) {
        self.labelled_admitted.store(false, Ordering::Relaxed);
        self.resolver.set_rules(Arc::clone(&rules));
        *self.retention.write() = rules;
    }

    /// Fails if a cluster lacks tables that these rules need and those in force do not.
    fn admit_tables(&self, rules: &RetentionRules) -> Result<(), QueryError> {
        let known = stages(self.retention().rules());
        if stages(rules).is_subset(&known) {
            return Ok(());
        }
        Ok(self.store.upstream.admit(&rules.of_carbon().cloned().collect::<Vec<_>>())?)
    }
}

fn stages(rules: &RetentionRules) -> HashSet<Stage> {
    rules.of_carbon().flat_map(|retention| retention.stages().to_vec()).collect()
}
