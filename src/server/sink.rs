//! The path of a point into the server, from top to bottom: rules, names to metrics, log, memory.
//!
//! Points come from three places. Those of senders enter at [`Sink::accept`] or [`Engine::judge`] and go through the rules.
//! Aggregates that the rules gathered, and the server's own numbers, enter below the rules. All three end in [`Engine::append`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::confined::Confined;
use super::engine::{Engine, now};
use crate::receive::{Busy, Sink};
use crate::resolve::Refused;
use crate::rollup::{Appended, Points, PointsError};
use plumbago_model::{Batch, Point, Reject, Scope, Tenant, Verdict, name};

/// Points with names that were made for them, which are in one text.
#[derive(Default)]
struct Housed {
    names: String,
    /// Each with the end of its name.
    points: Vec<(usize, Point)>,
}

impl Housed {
    fn push(&mut self, name: &str, point: Point) {
        self.names.push_str(name);
        self.points.push((self.names.len(), point));
    }

    fn batch(&self) -> Batch<'_> {
        let mut from = 0;
        let mut entry = |&(end, point): &(usize, Point)| {
            let name = self.names.get(std::mem::replace(&mut from, end)..end).unwrap_or_default();
            (name, point)
        };
        Batch { entries: self.points.iter().map(&mut entry).collect() }
    }
}

/// A point with a name that this server made.
pub(super) type Named = (Arc<str>, Point);

impl Sink for Engine {
    /// Points of senders.
    fn accept(&self, batch: &Batch<'_>) -> Result<(), Busy> {
        self.judge(batch, &Scope::default()).map(drop)
    }

    fn within(self: Arc<Self>, scope: &Arc<Scope>) -> Arc<dyn Sink> {
        Arc::new(Confined::new(self, Arc::clone(scope)))
    }
}

impl Engine {
    /// Takes points as received, and says what became of them.
    ///
    /// A point of somebody who is confined must have a name inside of the scope both as it is sent and as it is stored.
    pub(super) fn judge(&self, batch: &Batch<'_>, scope: &Scope) -> Result<Verdict, Busy> {
        if scope.is_everything() {
            return self.rule(batch, scope);
        }
        let Some(tenant) = scope.tenant() else {
            let (inside, outside) = self.confine(batch, scope);
            let mut verdict = self.rule(&inside, scope)?;
            self.refuse(&outside, &mut verdict);
            return Ok(verdict);
        };
        let (housed, strange) = self.house(batch, tenant);
        let (inside, outside) = self.confine(&housed.batch(), scope);
        let mut verdict = self.rule(&inside, scope)?;
        self.refuse(&outside, &mut verdict);
        self.refuse(&strange, &mut verdict);
        Ok(verdict)
    }

    /// The points of a tenant under the names that they have in the store, and the names of those that it cannot have.
    fn house<'a>(&self, batch: &Batch<'a>, tenant: &Tenant) -> (Housed, Refused<'a>) {
        let most = self.config.ingest.max_name_bytes;
        let (mut housed, mut strange) = (Housed::default(), Refused::new());
        for &(raw, point) in &batch.entries {
            match name::canonical(raw, most) {
                Ok(own) => match tenant.stored(&own) {
                    Some(stored) => housed.push(&stored, point),
                    None => strange.push((Reject::OutOfScope, raw)),
                },
                Err(error) => strange.push((Reject::from(&error), raw)),
            }
        }
        (housed, strange)
    }

    fn rule(&self, batch: &Batch<'_>, scope: &Scope) -> Result<Verdict, Busy> {
        let Some(rules) = &self.rules else { return self.ingest(batch) };
        let ruled = rules.apply(batch);
        let renamed = ruled.batch();
        // A batch that is not accepted comes again, so its points are gathered only after it is.
        let mut verdict = if scope.is_everything() {
            self.ingest(&renamed)?
        } else {
            let (inside, outside) = self.confine(&renamed, scope);
            let mut verdict = self.ingest(&inside)?;
            self.refuse(&outside, &mut verdict);
            verdict
        };
        rules.gather(&ruled);
        self.refuse(&ruled.refused, &mut verdict);
        Ok(verdict)
    }

    /// The points of a batch whose names are inside of a scope, and the names of the others.
    fn confine<'a>(&self, batch: &Batch<'a>, scope: &Scope) -> (Batch<'a>, Refused<'a>) {
        let most = self.config.ingest.max_name_bytes;
        let (mut inside, mut outside) = (Batch::default(), Refused::new());
        for &(raw, point) in &batch.entries {
            // A name that is none is refused later, for that reason.
            match name::canonical(raw, most) {
                Ok(name) if !scope.covers(&name) => outside.push((Reject::OutOfScope, raw)),
                _ => inside.push(raw, point),
            }
        }
        (inside, outside)
    }

    /// Stores aggregates that are due, or all of them before a stop. Returns those that cannot be stored now.
    pub(super) fn ingest_aggregates(&self, mut waiting: Vec<Named>, all: bool) -> Vec<Named> {
        waiting.extend(self.rules.iter().flat_map(|rules| rules.due(now(), all)));
        if waiting.is_empty() || self.ingest(&batch_of(&waiting)).is_ok() { Vec::new() } else { waiting }
    }

    /// Stores the server's own numbers, which do not count as received.
    pub(super) fn append_own(&self, points: &[Named]) -> Result<(), Busy> {
        self.append(&batch_of(points)).map(drop)
    }

    /// Appends a batch that went through the rules, and counts what became of each point.
    fn ingest(&self, batch: &Batch<'_>) -> Result<Verdict, Busy> {
        let (appended, refused) = self.append(batch)?;
        self.telemetry.points_stored.add(appended.stored);
        if appended.stored > 0 {
            self.telemetry.last_point.set(now().into());
        }
        let mut verdict = Verdict { stored: appended.stored, ..Verdict::default() };
        if appended.too_old > 0 {
            self.telemetry.reject(Points::LEFT_OUT, appended.too_old);
            verdict.refuse(Points::LEFT_OUT, appended.too_old);
        }
        self.refuse(&refused, &mut verdict);
        Ok(verdict)
    }

    /// Resolves the names and appends the points to log and memory: all of the batch, or none of it.
    fn append<'a>(&self, batch: &Batch<'a>) -> Result<(Appended, Refused<'a>), Busy> {
        if self.paused.load(Ordering::Relaxed) {
            return Err(Busy);
        }
        let now = now();
        let try_all = || -> Result<_, PointsError> {
            let (appended, refused) = self.resolve_and_append(batch, now)?;
            if self.config.store.sync_interval.is_zero() {
                self.points.sync()?;
            }
            Ok((appended, refused))
        };
        let outcome = try_all();
        self.failing.store(outcome.is_err(), Ordering::Relaxed);
        let (appended, refused) = outcome.map_err(|error| {
            super::complain(&error);
            Busy
        })?;
        self.telemetry.log_bytes.add(appended.log_bytes);
        Ok((appended, refused))
    }

    /// A metric may be deleted after its name was looked up. Then all names are looked up again, and its point creates it again.
    fn resolve_and_append<'a>(
        &self,
        batch: &Batch<'a>,
        now: u32,
    ) -> Result<(Appended, Refused<'a>), PointsError> {
        let _shared = self.accepting.read();
        loop {
            let resolved = self.resolver.resolve(batch, now)?;
            let appended = self.points.append_since(&resolved.points, resolved.deletions, now)?;
            match appended {
                Some(appended) => return Ok((appended, resolved.refused)),
                None => self.points.wait_for_deletion(),
            }
        }
    }

    fn refuse(&self, refused: &[(Reject, &str)], verdict: &mut Verdict) {
        for (reason, name) in refused {
            self.telemetry.reject(*reason, 1);
            self.sampler.note(*reason, name.as_bytes(), None);
            verdict.refuse(*reason, 1);
        }
    }
}

fn batch_of(points: &[Named]) -> Batch<'_> {
    Batch { entries: points.iter().map(|(name, point)| (&**name, *point)).collect() }
}
