//! Where points end up: those that were received, those that rules made of them, and the server's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use crate::receive::{Busy, Sink};
use crate::resolve::Refused;
use crate::rollup::{Appended, Points, PointsError};
use plumbago_model::{Batch, Point, Reject};

/// A point with a name of our making.
pub(super) type Named = (Arc<str>, Point);

impl Sink for Engine {
    fn accept(&self, batch: &Batch<'_>) -> Result<(), Busy> {
        let Some(rules) = &self.rules else { return self.keep(batch) };
        let ruled = rules.apply(batch);
        // A batch that is not taken comes again: only then may its points be gathered.
        self.keep(&ruled.batch())?;
        rules.gather(&ruled);
        self.refuse(&ruled.refused);
        Ok(())
    }
}

impl Engine {
    /// Stores aggregates: those that are due, or all of them before a stop. What cannot be stored now comes back.
    pub(super) fn keep_aggregates(&self, mut waiting: Vec<Named>, all: bool) -> Vec<Named> {
        waiting.extend(self.rules.iter().flat_map(|rules| rules.due(now(), all)));
        if waiting.is_empty() || self.keep(&batch_of(&waiting)).is_ok() { Vec::new() } else { waiting }
    }

    /// Stores the server's own numbers, which do not count as points that came.
    pub(super) fn keep_own(&self, points: &[Named]) -> Result<(), Busy> {
        self.put(&batch_of(points)).map(drop)
    }

    fn keep(&self, batch: &Batch<'_>) -> Result<(), Busy> {
        let (appended, refused) = self.put(batch)?;
        self.telemetry.points_stored.add(appended.stored);
        if appended.too_old > 0 {
            self.telemetry.reject(Points::LEFT_OUT, appended.too_old);
        }
        self.refuse(&refused);
        Ok(())
    }

    fn put<'a>(&self, batch: &Batch<'a>) -> Result<(Appended, Refused<'a>), Busy> {
        if self.paused.load(Ordering::Relaxed) {
            return Err(Busy);
        }
        let taken = self.take(batch, now());
        self.failing.store(taken.is_err(), Ordering::Relaxed);
        let (appended, refused) = taken.map_err(|error| {
            super::complain(&error);
            Busy
        })?;
        self.telemetry.log_bytes.add(appended.log_bytes);
        Ok((appended, refused))
    }

    fn take<'a>(&self, batch: &Batch<'a>, now: u32) -> Result<(Appended, Refused<'a>), PointsError> {
        let resolved = self.resolver.resolve(batch, now)?;
        let appended = self.points.append(&resolved.points, now)?;
        if self.config.store.sync_interval.is_zero() {
            self.points.sync()?;
        }
        Ok((appended, resolved.refused))
    }

    fn refuse(&self, refused: &[(Reject, &str)]) {
        for (reason, name) in refused {
            self.telemetry.reject(*reason, 1);
            self.sampler.note(*reason, name.as_bytes(), None);
        }
    }
}

fn batch_of(points: &[Named]) -> Batch<'_> {
    Batch { entries: points.iter().map(|(name, point)| (&**name, *point)).collect() }
}
