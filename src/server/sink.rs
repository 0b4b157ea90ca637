//! The path of a point into the server, from top to bottom: rules, names to metrics, log, memory.
//!
//! Points come from three places. Those of senders enter at [`Sink::accept`] or [`Engine::judge`] and go through the rules.
//! Aggregates that the rules gathered, and the server's own numbers, enter below the rules. All three end in [`Engine::append`].

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use crate::auth::Sender;
use crate::http::Backend as _;
use crate::quotas::Charge;
use crate::receive::{Busy, Sink};
use crate::resolve::Refused;
use crate::rollup::{Appended, Points, PointsError};
use plumbago_model::{Arrival, Batch, Judged, Overload, Point, Reject, Scope, Tenant, name};

/// A point with a name that this server made.
pub(super) type Named = (Arc<str>, Point);

impl Sink for Engine {
    /// Points of senders.
    fn accept(&self, batch: &Batch<'_>, sender: &Sender) -> Result<(), Busy> {
        let judged = self.judge(batch, sender).map_err(|_| Busy)?;
        self.sample_refused(batch, &judged.refused);
        Ok(())
    }

    fn tells_senders_apart(&self) -> bool {
        self.quotas.tell_senders_apart()
    }
}

/// The points of a batch that are inside of a scope.
struct Inside<'a> {
    batch: Batch<'a>,
    /// Their places in the whole batch.
    places: Vec<usize>,
    outside: Refused,
}

impl<'a> Inside<'a> {
    fn take(&mut self, place: usize, name: &'a str, point: Point) {
        self.batch.push(name, point);
        self.places.push(place);
    }
}

/// The points of a tenant, under the names that they have in the store, which are in one text.
#[derive(Default)]
struct Housed {
    names: String,
    /// Each with the end of its name.
    points: Vec<(usize, Point)>,
    /// Their places in the batch.
    places: Vec<usize>,
    refused: Refused,
}

impl Housed {
    fn of(batch: &Batch<'_>, tenant: &Tenant, max_bytes: usize) -> Self {
        let mut housed = Self::default();
        for (at, &(raw, point)) in batch.entries.iter().enumerate() {
            let stored = name::canonical(raw, max_bytes)
                .map_err(|error| Reject::from(&error))
                .and_then(|own| tenant.stored(&own).ok_or(Reject::OutOfScope));
            match stored {
                Ok(stored) => {
                    housed.names.push_str(&stored);
                    housed.points.push((housed.names.len(), point));
                    housed.places.push(at);
                }
                Err(reason) => housed.refused.push((at, reason)),
            }
        }
        housed
    }

    fn batch(&self, arrival: Arrival) -> Batch<'_> {
        let mut from = 0;
        let entry = |&(end, point): &(usize, Point)| {
            let name = self.names.get(std::mem::replace(&mut from, end)..end).unwrap_or_default();
            (name, point)
        };
        Batch { entries: self.points.iter().map(entry).collect(), arrival }
    }
}

impl Engine {
    /// Takes points as received, and says what became of each.
    ///
    /// A point of somebody who is confined must have a name inside of the scope both as it is sent and as it is stored. Where there are
    /// no rules these are the same, and the resolver looks at them: it knows most of them.
    pub(super) fn judge(&self, batch: &Batch<'_>, sender: &Sender) -> Result<Judged, Overload> {
        self.admit(batch.arrival.dialect)?;
        let judged = match sender.scope.tenant() {
            None => self.rule(batch, sender)?,
            Some(tenant) => {
                let housed = Housed::of(batch, tenant, self.config.ingest.max_name_bytes);
                let mut judged = self.rule(&housed.batch(batch.arrival), sender)?.in_whole(&housed.places);
                judged.refused.extend(housed.refused);
                judged
            }
        };
        judged.refused.iter().for_each(|(_, reason)| self.telemetry.reject(*reason, 1));
        Ok(judged)
    }

    fn rule(&self, batch: &Batch<'_>, sender: &Sender) -> Result<Judged, Overload> {
        let Some(rules) = &self.rules else { return self.ingest(batch, sender) };
        self.judge_inside(batch, &sender.scope, |inside| {
            let ruled = rules.apply(inside);
            // A batch that is not accepted comes again, so its points are gathered only after it is.
            let judged = self.ingest(&ruled.batch(), sender)?;
            rules.gather(&ruled);
            let mut judged = judged.in_whole(&ruled.places);
            judged.refused.extend(&ruled.refused);
            Ok(judged)
        })
    }

    /// Judges the points of a batch that are inside of a scope, and refuses the others.
    fn judge_inside(
        &self,
        batch: &Batch<'_>,
        scope: &Scope,
        judge: impl Fn(&Batch<'_>) -> Result<Judged, Overload>,
    ) -> Result<Judged, Overload> {
        // Usually all of them are in a subtree that is inside, which their first bytes tell.
        let is_inside = |(name, _): &(&str, Point)| scope.surely_covers(name);
        if scope.is_everything() || batch.entries.iter().all(is_inside) {
            return judge(batch);
        }
        let inside = self.confine(batch, scope);
        let mut judged = judge(&inside.batch)?.in_whole(&inside.places);
        judged.refused.extend(inside.outside);
        Ok(judged)
    }

    fn confine<'a>(&self, batch: &Batch<'a>, scope: &Scope) -> Inside<'a> {
        let most = self.config.ingest.max_name_bytes;
        let part = Batch { arrival: batch.arrival, ..Batch::default() };
        let mut inside = Inside { batch: part, places: Vec::new(), outside: Refused::new() };
        for (at, &(raw, point)) in batch.entries.iter().enumerate() {
            if scope.surely_covers(raw) {
                inside.take(at, raw, point);
                continue;
            }
            // A name that is none is refused later, for that reason.
            match name::canonical(raw, most) {
                Ok(name) if !scope.covers(&name) => inside.outside.push((at, Reject::OutOfScope)),
                _ => inside.take(at, raw, point),
            }
        }
        inside
    }

    /// Stores aggregates that are due, or all of them before a stop. Returns those that cannot be stored now.
    pub(super) fn ingest_aggregates(&self, mut waiting: Vec<Named>, all: bool) -> Vec<Named> {
        waiting.extend(self.rules.iter().flat_map(|rules| rules.due(now(), all)));
        if waiting.is_empty() {
            return waiting;
        }
        let batch = batch_of(&waiting);
        match self.ingest(&batch, &Sender::default()) {
            Ok(judged) => {
                judged.refused.iter().for_each(|(_, reason)| self.telemetry.reject(*reason, 1));
                self.sample_refused(&batch, &judged.refused);
                Vec::new()
            }
            Err(_) => waiting,
        }
    }

    /// Stores the server's own numbers, which do not count as received, and which no quota refuses.
    pub(super) fn append_own(&self, points: &[Named]) -> Result<(), Overload> {
        self.append(&batch_of(points), None).map(drop)
    }

    /// Appends a batch that went through the rules, and counts what is stored.
    fn ingest(&self, batch: &Batch<'_>, sender: &Sender) -> Result<Judged, Overload> {
        let judged = self.append(batch, Some(sender))?;
        self.telemetry.points_stored.add(judged.stored);
        if judged.stored > 0 {
            self.telemetry.last_point.set(now().into());
        }
        Ok(judged)
    }

    /// Resolves the names and appends the points to log and memory: all of the batch, or none of it.
    fn append(&self, batch: &Batch<'_>, sender: Option<&Sender>) -> Result<Judged, Overload> {
        if self.paused.load(Ordering::Relaxed) {
            return Err(Overload::Unwell(self.why_unwell()));
        }
        let now = now();
        let try_all = || -> Result<_, PointsError> {
            let (appended, refused) = self.resolve_and_append(batch, sender, now)?;
            if self.config.store.sync_interval.is_zero() {
                self.points.sync()?;
            }
            Ok((appended, refused))
        };
        let outcome = try_all();
        self.failing.store(outcome.is_err(), Ordering::Relaxed);
        let (appended, mut refused) = outcome.map_err(|error| {
            super::complain(&error);
            match error {
                PointsError::Full { .. } => Overload::TooFast(error.to_string()),
                _ => Overload::Unwell(self.why_unwell()),
            }
        })?;
        self.telemetry.log_bytes.add(appended.log_bytes);
        if !appended.too_old.is_empty() {
            let places = resolved_places(batch.len(), &refused);
            let place = |&at: &usize| Some((*places.get(at)?, Points::LEFT_OUT));
            refused.extend(appended.too_old.iter().filter_map(place).collect::<Vec<_>>());
        }
        Ok(Judged { stored: appended.stored, refused })
    }

    /// A metric may be deleted after its name was looked up. Then all names are looked up again, and its point creates it again.
    fn resolve_and_append(
        &self,
        batch: &Batch<'_>,
        sender: Option<&Sender>,
        now: u32,
    ) -> Result<(Appended, Refused), PointsError> {
        let _shared = self.accepting.read();
        loop {
            let resolved = self.resolver.resolve(batch, sender, now)?;
            let appended = self.points.append_since(&resolved.points, resolved.deletions, now)?;
            match appended {
                Some(appended) => {
                    resolved.charge.into_iter().for_each(Charge::keep);
                    return Ok((appended, resolved.refused));
                }
                None => self.points.wait_for_deletion(),
            }
        }
    }

    /// Why points are not taken now, as far as it is known.
    pub(super) fn why_unwell(&self) -> String {
        self.ready().err().unwrap_or_else(|| "points are not taken now; the server's log says why".to_owned())
    }

    /// Shows an operator what is refused. Senders who wait for an answer have it there.
    fn sample_refused(&self, batch: &Batch<'_>, refused: &[(usize, Reject)]) {
        for (at, reason) in refused {
            let name = batch.entries.get(*at).map_or("", |(name, _)| name);
            self.sampler.note(*reason, name.as_bytes(), None);
        }
    }
}

/// The places in a batch of the points whose names were not refused.
fn resolved_places(len: usize, refused: &[(usize, Reject)]) -> Vec<usize> {
    let refused: HashSet<usize> = refused.iter().map(|(at, _)| *at).collect();
    (0..len).filter(|at| !refused.contains(at)).collect()
}

fn batch_of(points: &[Named]) -> Batch<'_> {
    let entries = points.iter().map(|(name, point)| (&**name, *point)).collect();
    Batch { entries, ..Batch::default() }
}
