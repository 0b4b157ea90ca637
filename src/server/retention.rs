//! Retention rules while the server runs: what changed rules would do, and putting them in force.
//!
//! In a store that other servers write to, a metric keeps the policy it was created with, because they read it from there. So
//! changed rules move metrics of an embedded store only; on a cluster they decide about new metrics.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::engine::{Engine, now};
use crate::config::{Loaded, PolicyMatcher, RetentionRules, Settings, Sources};
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
    from: PolicyId,
    to: Arc<Policy>,
}

impl Engine {
    /// The rules in force.
    pub(super) fn retention(&self) -> Arc<PolicyMatcher> {
        Arc::clone(&self.retention.read())
    }

    /// Moves metrics whose rule has changed to their new policy. Their stored data stays readable.
    pub fn apply_rules(&self) -> Result<usize, PointsError> {
        let moves = self.moves(&self.retention());
        let mut numbers: HashMap<String, PolicyId> = HashMap::new();
        let mut changes = Vec::with_capacity(moves.len());
        for Move { id, to, .. } in &moves {
            let number = match numbers.entry(to.to_string()) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(vacant) => *vacant.insert(self.points.intern_policy(to, now())?),
            };
            changes.push((*id, number));
        }
        self.points.move_to(&changes, now())?;
        Ok(changes.len())
    }

    /// The metrics that rules would move.
    fn moves(&self, rules: &PolicyMatcher) -> Vec<Move> {
        if !self.store.upstream.is_sole_writer() {
            return Vec::new();
        }
        let mut by_rules: HashMap<(Option<usize>, Option<usize>), Arc<Policy>> = HashMap::new();
        let mut moves = Vec::new();
        for id in (0..self.points.id_bound()).map(MetricId) {
            let Some((from, _)) = self.points.state(id) else { continue };
            let Some(old) = self.points.policies().get(from) else { continue };
            let index = self.index.read();
            let Some(name) = index.name(id) else { continue };
            let ruled = || Arc::new(rules.policy_for(name).policy);
            let to = by_rules.entry(rules.places(name)).or_insert_with(ruled);
            if **to != *old {
                moves.push(Move { id, from, to: Arc::clone(to) });
            }
        }
        moves
    }

    /// What these rules would do.
    pub fn plan(&self, rules: &RetentionRules) -> Result<RetentionPlan, QueryError> {
        let moves = self.moves(&PolicyMatcher::new(rules.clone()));
        let mut alike: BTreeMap<(PolicyId, String), Vec<MetricId>> = BTreeMap::new();
        for Move { id, from, to } in &moves {
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
        self.refuse_unknown_tables(&loaded.config.retention)?;
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
        self.refuse_unknown_tables(&loaded.config.retention)?;
        self.rules.as_ref().map_or(Ok(()), Rules::reload).map_err(QueryError::invalid)?;
        let matcher = Arc::new(PolicyMatcher::new(loaded.config.retention));
        // New metrics first: one that is created meanwhile must not keep an old policy.
        self.resolver.set_rules(Arc::clone(&matcher));
        *self.retention.write() = matcher;
        let moved = self.apply_rules()? as u64;
        Ok(Reloaded { moved, needs_restart, warnings: loaded.warnings })
    }

    /// The configuration as the files have it now, and the keys outside `[retention]` that differ from those in force.
    fn read_again(&self) -> Result<(Loaded, Vec<String>), QueryError> {
        let Some(Reading { sources, settings }) = self.reading.get() else {
            return Err(QueryError::invalid(
                "this server was not started from a configuration that can be read again",
            ));
        };
        let loaded = Loaded::new(sources).map_err(QueryError::invalid)?;
        let old = settings.iter().filter(|setting| setting.key.section != "retention");
        let differs = |key: &str, value| loaded.settings.get(key).is_some_and(|new| new.value != value);
        let keys = old.map(|setting| (setting.key.to_string(), setting.value.clone()));
        let needs_restart = keys.filter(|(key, value)| differs(key, value.clone())).map(|(key, _)| key);
        let needs_restart = needs_restart.collect();
        Ok((loaded, needs_restart))
    }

    /// The tables of a cluster are checked at a start, so rules must not ask for others in between.
    fn refuse_unknown_tables(&self, rules: &RetentionRules) -> Result<(), QueryError> {
        if self.store.upstream.is_sole_writer() {
            return Ok(());
        }
        let known = stages(&self.config.retention);
        match stages(rules).into_iter().find(|stage| !known.contains(stage)) {
            None => Ok(()),
            Some(stage) => Err(QueryError::invalid(format!(
                "the stage {stage} is new, and its table in the cluster was not checked; run `plumbago schema apply`, then restart"
            ))),
        }
    }
}

fn stages(rules: &RetentionRules) -> HashSet<Stage> {
    let retentions = rules.schemas.iter().map(|rule| &rule.gives).chain([&rules.default_retention]);
    retentions.flat_map(|retention| retention.stages().to_vec()).collect()
}
