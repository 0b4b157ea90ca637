//! Step 3: names become metrics.
//!
//! The index answers for every name it knows under the spelling it was sent in; only a miss costs more: the name is put
//! into its canonical form, looked up again, and created when it is really new.

mod creator;
mod new_values;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use creator::Creator;
use new_values::NewValues;
use parking_lot::Mutex;

use crate::auth::Sender;
use crate::config::{Ingest, PolicyMatcher, Quota};
use crate::index::SharedIndex;
use crate::quotas::{Charge, Leave, Quotas, Size};
use crate::rollup::{Points, PointsError};
use crate::telemetry::Telemetry;
use plumbago_model::{Arrival, Batch, MetricId, Point, Policy, PolicyId, Reject, name};

/// The log keeps the length of a name in two bytes.
const MAX_NAME_BYTES: usize = u16::MAX as usize;

/// Metrics counted under new quotas before senders get a turn.
const COUNTED_AT_ONCE: usize = 4096;

/// A metric that was looked up or made.
#[derive(Clone, Copy, Debug)]
struct Found {
    id: MetricId,
    is_new: bool,
}

/// Metrics that are to be created together.
#[derive(Debug, Default)]
struct Fresh<'n> {
    metrics: Vec<(MetricId, PolicyId, &'n str)>,
    /// The quotas for which some of them count because of who creates them.
    owners: Vec<(MetricId, String)>,
}

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
    /// What the points take from quotas; to be kept once they are stored.
    pub charge: Option<Charge>,
}

/// Finds and creates metrics for received names.
pub struct Resolver {
    index: Arc<SharedIndex>,
    points: Arc<Points>,
    limits: Ingest,
    quotas: Arc<Quotas>,
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
        quotas: Arc<Quotas>,
        telemetry: Arc<Telemetry>,
        next: MetricId,
    ) -> Self {
        let creator = Creator::new(rules, &limits, next);
        Self {
            index,
            points,
            limits,
            quotas,
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

    /// The points of `batch` by metric, in their order, and the names that were refused: no sender gets at a metric outside of their
    /// scope. Without a sender they are this server's own, which no quota refuses.
    pub fn resolve(
        &self,
        batch: &Batch<'_>,
        sender: Option<&Sender>,
        now: u32,
    ) -> Result<Resolved, PointsError> {
        let mut resolved = Resolved { deletions: self.points.deletions(), ..Resolved::default() };
        let mut ids = Vec::with_capacity(batch.len());
        let index = self.index.read();
        index.lookup_many(batch.entries.iter().map(|(name, _)| *name), &mut ids);
        let outside = sender.map(|by| self.index.places_outside(&index, &by.scope, &ids)).unwrap_or_default();
        drop(index);
        let mut paid = Vec::new();
        if ids.iter().any(Option::is_none) {
            paid = self.resolve_misses(batch, sender, now, &mut ids, &mut resolved.refused)?;
        }
        for at in outside {
            ids[at] = None;
            resolved.refused.push((at, Reject::OutOfScope));
        }
        if let Some(sender) = sender.filter(|_| self.quotas.meter_points()) {
            resolved.charge = Some(self.charge(sender, now, &mut ids, &paid, &mut resolved.refused));
        }
        let known = batch.entries.iter().zip(ids);
        resolved.points = known.filter_map(|((_, point), id)| id.map(|id| (id, *point))).collect();
        Ok(resolved)
    }

    /// Takes the points from their quotas, and leaves out those that are too many. The points at the places `paid` were taken from
    /// them when they created their metrics.
    fn charge(
        &self,
        sender: &Sender,
        now: u32,
        ids: &mut [Option<MetricId>],
        paid: &[usize],
        refused: &mut Refused,
    ) -> Charge {
        let mut wanted = ids.to_vec();
        for &at in paid {
            wanted[at] = None;
        }
        let before = wanted.clone();
        let name = |id| self.index.read().name(id).map(str::to_owned);
        let charge = self.quotas.take_points(&mut wanted, sender, now, name);
        for (at, _) in before.iter().zip(&wanted).enumerate().filter(|(_, (old, new))| old != new) {
            ids[at] = None;
            refused.push((at, Reject::Quota));
        }
        charge
    }

    /// Counts every metric under these quotas from now on. New metrics wait meanwhile, others do not.
    pub fn set_quotas(&self, quotas: &[Quota]) {
        let creator = self.creator.lock();
        self.quotas.replace(quotas);
        self.count_all(creator.id_bound());
    }

    /// Counts the metrics that there are under the quotas in force.
    fn count_all(&self, bound: MetricId) {
        if !self.quotas.is_on() {
            return;
        }
        for from in (0..bound.0).step_by(COUNTED_AT_ONCE) {
            let ids = (from..bound.0).take(COUNTED_AT_ONCE).map(MetricId);
            let sized: Vec<(MetricId, Size)> = ids.map(|id| (id, self.size(id))).collect();
            let index = self.index.read();
            self.quotas.count(sized.into_iter().filter_map(|(id, size)| Some((id, index.name(id)?, size))));
        }
    }

    /// How much a metric takes, if a quota asks for that.
    pub fn size(&self, id: MetricId) -> Size {
        self.quotas.size(|| {
            let policy = self.points.state(id).and_then(|(policy, _)| self.points.policies().get(policy));
            policy.map(|policy| Size::of(&policy.retention)).unwrap_or_default()
        })
    }

    /// These metrics have other policies.
    pub fn resize(&self, metrics: &[(MetricId, Arc<Policy>)]) {
        self.quotas.resize(metrics.iter().map(|(id, policy)| (*id, Size::of(&policy.retention))));
    }

    /// A metric has left the index.
    pub fn forget(&self, id: MetricId) {
        self.quotas.forget(id);
    }

    /// Takes in metrics that exist elsewhere, whatever the limits on new ones say. Gives the ids of those that were not
    /// known here.
    pub fn adopt(&self, metrics: &[(String, Arc<Policy>)], now: u32) -> Result<Vec<MetricId>, PointsError> {
        let mut creator = self.creator.lock();
        let mut fresh = Fresh::default();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut sizes = Vec::new();
        for (name, policy) in metrics {
            if self.index.read().lookup(name.as_bytes()).is_none() && seen.insert(name) {
                sizes.push(self.quotas.size(|| Size::of(&policy.retention)));
                let policy = self.points.intern_policy(policy, now)?;
                fresh.metrics.push((creator.next_id(), policy, name));
            }
        }
        let sized = fresh.metrics.iter().zip(sizes);
        self.quotas.count(sized.map(|((id, _, name), size)| (*id, *name, size)));
        self.create(&fresh, now)
            .inspect_err(|_| fresh.metrics.iter().for_each(|(id, ..)| self.quotas.forget(*id)))?;
        Ok(fresh.metrics.into_iter().map(|(id, ..)| id).collect())
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
            self.quotas.rename(*id, name);
        }
        Ok(free.into_iter().map(|(id, _)| id).collect())
    }

    /// Gives the places of the points that created metrics.
    fn resolve_misses(
        &self,
        batch: &Batch<'_>,
        sender: Option<&Sender>,
        now: u32,
        ids: &mut [Option<MetricId>],
        refused: &mut Refused,
    ) -> Result<Vec<usize>, PointsError> {
        let max_bytes = self.limits.max_name_bytes.min(MAX_NAME_BYTES);
        let mut canonical: Vec<(usize, Cow<'_, str>)> = Vec::new();
        let is_inside =
            |name: &str| sender.is_none_or(|by| by.scope.is_everything() || by.scope.covers(name));
        for (at, &(raw, _)) in batch.entries.iter().enumerate().filter(|(at, _)| ids[*at].is_none()) {
            match name::canonical(raw, max_bytes) {
                Ok(name) if !is_inside(&name) => refused.push((at, Reject::OutOfScope)),
                Ok(name) => canonical.push((at, name)),
                Err(error) => refused.push((at, Reject::from(&error))),
            }
        }
        let age = |at: usize| now.saturating_sub(batch.entries[at].1.timestamp);
        let names: Vec<(&str, u32)> = canonical.iter().map(|(at, name)| (&**name, age(*at))).collect();
        let mut created = Vec::new();
        for ((at, _), found) in
            canonical.iter().zip(self.find_or_create(&names, (sender, batch.arrival), now)?)
        {
            match found {
                Ok(Found { id, is_new }) => {
                    ids[*at] = Some(id);
                    created.extend(is_new.then_some(*at));
                }
                Err(reason) => refused.push((*at, reason)),
            }
        }
        Ok(created)
    }

    /// For each canonical name and the age of its point its metric, made if it is new, or why it is refused.
    fn find_or_create(
        &self,
        names: &[(&str, u32)],
        origin: (Option<&Sender>, Arrival),
        now: u32,
    ) -> Result<Vec<Result<Found, Reject>>, PointsError> {
        let mut creator = self.creator.lock();
        let mut fresh = Fresh::default();
        let prepared = self.prepare(&mut creator, names, origin, now, &mut fresh);
        let resolved = prepared.and_then(|resolved| self.create(&fresh, now).map(|()| resolved));
        if resolved.is_err() {
            fresh.metrics.iter().for_each(|(id, ..)| self.quotas.forget(*id));
        } else {
            self.telemetry.metrics_created.add(fresh.metrics.len() as u64);
        }
        resolved
    }

    /// The same, with those that are to be created in `fresh`. They are counted already.
    fn prepare<'n>(
        &self,
        creator: &mut Creator,
        names: &[(&'n str, u32)],
        (sender, arrival): (Option<&Sender>, Arrival),
        now: u32,
        fresh: &mut Fresh<'n>,
    ) -> Result<Vec<Result<Found, Reject>>, PointsError> {
        let mut fresh_ids: HashMap<&str, MetricId> = HashMap::new();
        let mut values = NewValues::new(self.limits.max_tag_values);
        let mut resolved = Vec::with_capacity(names.len());
        let index = self.index.read();
        for &(name, age) in names {
            let known = index.lookup(name.as_bytes()).or_else(|| fresh_ids.get(name).copied());
            if let Some(id) = known {
                resolved.push(Ok(Found { id, is_new: false }));
                continue;
            }
            // Quotas go first: what they refuse must not use up what there is for all.
            let size = self.quotas.size(|| creator.size(name, arrival));
            let unasked = || Ok(Leave { size, ..Leave::default() });
            let leave = sender.map_or_else(unasked, |by| self.quotas.may_create(name, size, by, now));
            let granted = leave.and_then(|leave| {
                values.check(&index, name)?;
                self.may_create(creator, index.len() + fresh.metrics.len())?;
                Ok(leave)
            });
            let leave = match granted {
                Ok(leave) => leave,
                Err(reason) => {
                    resolved.push(Err(reason));
                    continue;
                }
            };
            let Some(policy) = creator.policy(&self.points, (name, arrival), age, now)? else {
                resolved.push(Err(Reject::TooOld));
                continue;
            };
            let id = creator.next_id();
            self.quotas.create(id, name, &leave, now);
            values.add(&index, name);
            fresh.metrics.push((id, policy, name));
            fresh.owners.extend(leave.owner.map(|owner| (id, owner)));
            fresh_ids.insert(name, id);
            resolved.push(Ok(Found { id, is_new: true }));
        }
        Ok(resolved)
    }

    /// Creates metrics: in the log, in the store and in memory first, and only then in the index. A name that is in the index has
    /// a place for its points, whatever thread finds it.
    fn create(&self, fresh: &Fresh<'_>, now: u32) -> Result<(), PointsError> {
        if fresh.metrics.is_empty() {
            return Ok(());
        }
        self.points.create_owned(&fresh.metrics, &fresh.owners, now)?;
        let mut index = self.index.write();
        for (id, _, name) in &fresh.metrics {
            if let Err(error) = index.insert(*id, name) {
                tracing::error!(name, %error, "the index refused a metric");
                self.quotas.forget(*id);
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
