//! The plain model: what was written to each metric, in maps, and what every stage should read as.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use plumbago_model::{MetricId, Partial, Policy, Stage, Stretch};

use crate::operation::METRICS;

/// The policies of each metric, one after the other. The last metric moves from policy to policy.
const POLICIES: [&[&str]; METRICS] = [
    &["60*10s:60*60s:48*600s|average|0"],
    &["60*10s:60*60s:48*600s|sum|0.5"],
    &["120*1s:60*10s:60*60s|max|0"],
    &["60*10s:60*60s|sum|0", "60*10s:60*60s:48*600s|sum|0", "60*10s:120*60s|sum|0", "60*10s:48*120s|sum|0"],
];

/// The metric that moves.
pub(crate) const MOVING: usize = METRICS - 1;

/// The policy of a metric after so many moves.
pub(crate) fn policy(metric: usize, moves: usize) -> Option<&'static Policy> {
    static PARSED: OnceLock<Vec<Vec<Policy>>> = OnceLock::new();
    let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    PARSED.get_or_init(|| POLICIES.iter().map(parse).collect())[metric].get(moves)
}

/// What was written to one metric since it was created.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    pub(crate) name: usize,
    /// Which of the policies it has.
    pub(crate) kind: usize,
    pub(crate) moves: usize,
    /// The last value by slot of stage 0.
    pub(crate) raw: BTreeMap<u32, f64>,
    /// Points older than stage 0: the level that took each, its time and value.
    pub(crate) direct: Vec<(usize, u32, f64)>,
}

/// A point where it belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) id: MetricId,
    pub(crate) level: usize,
    pub(crate) time: u32,
    pub(crate) value: f64,
}

impl Metric {
    pub(crate) fn new(name: usize) -> Self {
        Self { name, kind: name % METRICS, moves: 0, raw: BTreeMap::new(), direct: Vec::new() }
    }

    pub(crate) fn policy(&self) -> &'static Policy {
        policy(self.kind, self.moves).unwrap()
    }

    pub(crate) fn put(&mut self, point: &Placed) {
        if point.level == 0 {
            self.raw.insert(self.policy().retention.raw().floor(point.time), point.value);
        } else {
            self.direct.push((point.level, point.time, point.value));
        }
    }

    pub(crate) fn erase(&mut self, stretch: Stretch) {
        let inside = stretch.from..stretch.until;
        self.raw.retain(|time, _| !inside.contains(time));
        self.direct.retain(|(_, time, _)| !inside.contains(time));
    }

    /// What a slot of a stage should read as.
    pub(crate) fn expected(&self, level: usize, slot: u32) -> Option<f64> {
        let policy = self.policy();
        let step = policy.retention.stages()[level].step_secs;
        let mut raw = self.raw.range(slot..slot + step).map(|(_, &value)| value);
        if level == 0 {
            return raw.next_back();
        }
        let inside = |time: u32| (slot..slot + step).contains(&time);
        let direct = self.direct.iter().filter(|(entered, time, _)| *entered <= level && inside(*time));
        let all = raw.map(Partial::point).chain(direct.map(|(.., value)| Partial::direct(*value)));
        let partial = all.fold(Partial::EMPTY, |sum, one| policy.aggregator.merge(sum, one));
        policy.aggregator.finish(partial, policy.slots_at(level), policy.x_files_factor)
    }

    /// A range of time near to this one whose erasure a map can tell: slots at its edges must have all of their points in stage 0.
    /// Where they have not, the range is widened to whole slots.
    pub(crate) fn exact(&self, from: u32, until: u32, now: u32) -> Stretch {
        let stages = self.policy().retention.stages();
        let raw_since = now - stages[0].span_secs() as u32;
        let is_known = |edge: u32| {
            stages.iter().skip(1).all(|stage| {
                let slot = stage.floor(edge)..stage.floor(edge) + stage.step_secs;
                let is_direct = self.direct.iter().any(|(_, time, _)| slot.contains(time));
                !is_direct && self.raw.range(slot).all(|(&time, _)| time > raw_since)
            })
        };
        if self.moves == 0 && is_known(from) && is_known(until) {
            return Stretch { from, until };
        }
        Stretch { from: from / 3600 * 3600, until: until.div_ceil(3600) * 3600 }
    }

    /// Would a point replace another one in a slot that points have entered directly? There it counts as one more instead, and
    /// whether it does depends on what is in memory: no map says that.
    pub(crate) fn is_ambiguous(&self, time: u32) -> bool {
        let stages = self.policy().retention.stages();
        let entered =
            |stage: &Stage| self.direct.iter().any(|(_, t, _)| stage.floor(*t) == stage.floor(time));
        self.raw.contains_key(&stages[0].floor(time)) && stages.iter().skip(1).any(entered)
    }
}

/// What is in a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) metrics: BTreeMap<MetricId, Metric>,
    /// The batches: each has a number, and a point of a metric of its own that tells whether the batch is there.
    pub(crate) batches: BTreeSet<u32>,
}

/// What changed since the last moment at which everything was durable.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Created { id: MetricId, name: usize },
    Appended { batch: u32, points: Vec<Placed> },
    Deleted(MetricId),
    Renamed(MetricId, usize),
}

/// An operation that was under way, or failed: it is done as a whole or not at all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doubt {
    Delete(MetricId),
    Rename(MetricId, usize),
    Erase(MetricId, Stretch),
    Move(MetricId),
}

impl Model {
    /// The model once the operation is done.
    pub(crate) fn with(&self, doubt: Doubt) -> Self {
        let mut model = self.clone();
        match doubt {
            Doubt::Delete(id) => drop(model.metrics.remove(&id)),
            Doubt::Rename(id, name) => model.change(id, |metric| metric.name = name),
            Doubt::Erase(id, stretch) => model.change(id, |metric| metric.erase(stretch)),
            Doubt::Move(id) => model.change(id, |metric| metric.moves += 1),
        }
        model
    }

    fn change(&mut self, id: MetricId, change: impl FnOnce(&mut Metric)) {
        if let Some(metric) = self.metrics.get_mut(&id) {
            change(metric);
        }
    }
}
