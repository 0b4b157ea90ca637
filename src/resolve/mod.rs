//! Step 3: names become metrics.
//!
//! The index answers for every name it knows under the spelling it was sent in; only a miss costs more: the name is put
//! into its canonical form, looked up again, and created when it is really new.

mod creator;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use creator::Creator;
use parking_lot::Mutex;

use crate::config::{Ingest, PolicyMatcher};
use crate::index::SharedIndex;
use crate::rollup::{Points, PointsError};
use crate::telemetry::Telemetry;
use plumbago_model::{Arrival, Batch, MetricId, Point, Policy, PolicyId, Reject, name};

/// The log keeps the length of a name in two bytes.
const MAX_NAME_BYTES: usize = u16::MAX as usize;

/// Points that were refused and why, by their place in the batch.
pub type Refused = Vec<(usize, Reject)>;

/// What became of the names of a batch.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Points of known and new metrics, in the order of the batch.
    pub points: Vec<(MetricId, Point)>,
    /// Points whose names were refused.
    pub refused: Refused,
    /// What [`Points::append_since`] needs to know.
    pub deletions: u64,
}

/// Finds and creates metrics for received names.
pub struct Resolver {
    index: Arc<SharedIndex>,
    points: Arc<Points>,
    limits: Ingest,
    telemetry: Arc<Telemetry>,
    creator: Mutex<Creator>,
    refuse_new: AtomicBool,
}

impl Resolver {
    /// `next` is the first id that was never used.
    pub fn new(
        index: Arc<SharedIndex>,
        points: Arc<Points>,
        rules: Arc<PolicyMatcher>,
        limits: Ingest,
        telemetry: Arc<Telemetry>,
        next: MetricId,
    ) -> Self {
        let creator = Creator::new(rules, &limits, next);
        Self {
            index,
            points,
            limits,
            telemetry,
            creator: Mutex::new(creator),
            refuse_new: AtomicBool::new(false),
        }
    }

    /// New metrics get their policies by these rules from now on.
    pub fn set_rules(&self, rules: Arc<PolicyMatcher>) {
        self.creator.lock().set_rules(rules);
    }

    /// While set, unknown names are refused: the disk is nearly full.
    pub fn refuse_new(&self, refuse: bool) {
        self.refuse_new.store(refuse, Ordering::Relaxed);
    }

    /// The points of `batch` by metric, in their order, and the names that were refused.
    pub fn resolve(&self, batch: &Batch<'_>, now: u32) -> Result<Resolved, PointsError> {
        let mut resolved = Resolved { deletions: self.points.deletions(), ..Resolved::default() };
        let mut ids = Vec::with_capacity(batch.len());
        self.index.read().lookup_many(batch.entries.iter().map(|(name, _)| *name), &mut ids);
        if ids.iter().any(Option::is_none) {
            self.resolve_misses(batch, now, &mut ids, &mut resolved.refused)?;
        }
        let known = batch.entries.iter().zip(ids);
        resolved.points = known.filter_map(|((_, point), id)| id.map(|id| (id, *point))).collect();
        Ok(resolved)
    }

    /// Takes in metrics that exist elsewhere, whatever the limits on new ones say. Gives the ids of those that were not
    /// known here.
    pub fn adopt(&self, metrics: &[(String, Arc<Policy>)], now: u32) -> Result<Vec<MetricId>, PointsError> {
        let mut creator = self.creator.lock();
        let mut fresh: Vec<(MetricId, PolicyId, &str)> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for (name, policy) in metrics {
            if self.index.read().lookup(name.as_bytes()).is_none() && seen.insert(name) {
                let policy = self.points.intern_policy(policy, now)?;
                fresh.push((creator.next_id(), policy, name));
            }
        }
        self.create(&fresh, now)?;
        Ok(fresh.into_iter().map(|(id, ..)| id).collect())
    }

    /// Gives metrics other names; for readers all of them change at one moment. Returns those whose names were free.
    pub fn rename(&self, names: &[(MetricId, String)]) -> Result<Vec<MetricId>, PointsError> {
        // A sender may not create any of the names meanwhile.
        let _no_creation = self.creator.lock();
        let free: Vec<(MetricId, String)> = {
            let index = self.index.read();
            let is_free = |(id, name): &&(MetricId, String)| {
                index.name(*id).is_some() && index.lookup(name.as_bytes()).is_none()
            };
            names.iter().filter(is_free).cloned().collect()
        };
        self.points.rename(&free)?;
        let mut index = self.index.write();
        for (id, name) in &free {
            if let Err(error) = index.rename(*id, name) {
                tracing::error!(name, %error, "the index refused a new name; the next start has it");
            }
        }
        Ok(free.into_iter().map(|(id, _)| id).collect())
    }

    fn resolve_misses(
        &self,
        batch: &Batch<'_>,
        now: u32,
        ids: &mut [Option<MetricId>],
        refused: &mut Refused,
    ) -> Result<(), PointsError> {
        let max_bytes = self.limits.max_name_bytes.min(MAX_NAME_BYTES);
        let mut canonical: Vec<(usize, Cow<'_, str>)> = Vec::new();
        for (at, &(raw, _)) in batch.entries.iter().enumerate().filter(|(at, _)| ids[*at].is_none()) {
            match name::canonical(raw, max_bytes) {
                Ok(name) => canonical.push((at, name)),
                Err(error) => refused.push((at, Reject::from(&error))),
            }
        }
        let age = |at: usize| now.saturating_sub(batch.entries[at].1.timestamp);
        let names: Vec<(&str, u32)> = canonical.iter().map(|(at, name)| (&**name, age(*at))).collect();
        let resolved = self.find_or_create(&names, batch.arrival, now)?;
        for ((at, _), found) in canonical.iter().zip(resolved) {
            match found {
                Ok(id) => ids[*at] = Some(id),
                Err(reason) => refused.push((*at, reason)),
            }
        }
        Ok(())
    }

    /// For each canonical name and the age of its point its id, made if it is new, or why it is refused.
    fn find_or_create(
        &self,
        names: &[(&str, u32)],
        arrival: Arrival,
        now: u32,
    ) -> Result<Vec<Result<MetricId, Reject>>, PointsError> {
        let mut creator = self.creator.lock();
        let mut fresh: Vec<(MetricId, PolicyId, &str)> = Vec::new();
        let mut fresh_ids: HashMap<&str, MetricId> = HashMap::new();
        let mut resolved = Vec::with_capacity(names.len());
        {
            let index = self.index.read();
            for &(name, age) in names {
                let known = index.lookup(name.as_bytes()).or_else(|| fresh_ids.get(name).copied());
                if let Some(id) = known {
                    resolved.push(Ok(id));
                    continue;
                }
                let granted = match self.may_create(&mut creator, index.len() + fresh.len()) {
                    Err(reason) => Err(reason),
                    Ok(()) => creator.policy(&self.points, (name, arrival), age, now)?.ok_or(Reject::TooOld),
                };
                resolved.push(granted.map(|policy| {
                    let id = creator.next_id();
                    fresh.push((id, policy, name));
                    fresh_ids.insert(name, id);
                    id
                }));
            }
        }
        self.create(&fresh, now)?;
        self.telemetry.metrics_created.add(fresh.len() as u64);
        Ok(resolved)
    }

    /// Creates metrics: in the log, in the store and in memory first, and only then in the index. A name that is in the index has
    /// a place for its points, whatever thread finds it.
    fn create(&self, fresh: &[(MetricId, PolicyId, &str)], now: u32) -> Result<(), PointsError> {
        if fresh.is_empty() {
            return Ok(());
        }
        self.points.create(fresh, now)?;
        let mut index = self.index.write();
        for (id, _, name) in fresh {
            if let Err(error) = index.insert(*id, name) {
                tracing::error!(name, %error, "the index refused a metric");
            }
        }
        self.telemetry.metrics.set(index.len() as u64);
        Ok(())
    }

    fn may_create(&self, creator: &mut Creator, metrics: usize) -> Result<(), Reject> {
        if self.refuse_new.load(Ordering::Relaxed) {
            return Err(Reject::DiskFull);
        }
        if self.limits.max_metrics > 0 && metrics as u64 >= self.limits.max_metrics {
            return Err(Reject::MetricLimit);
        }
        creator.take_token()
    }
}
