//! Expiry of names: a metric whose last point is too old leaves by itself, with its name, tags and points.
//!
//! This is for a store that this server alone writes to. Where several servers share names, a metric may be silent here and
//! busy elsewhere; there the store knows who wrote last, and `plumbago clean` goes by that.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::engine::{Engine, now};
use crate::config::ForgetAfter;
use crate::http::Cleaned;
use crate::rollup::{PointsError, Policies};
use plumbago_model::{MetricId, PolicyId, QueryError, Span};

/// Metrics looked at while memory is locked.
const LOOKED_AT: u32 = 4096;
/// Metrics forgotten in one go. Cuts wait for each, and so do senders of these metrics, for a few milliseconds.
const BATCH: usize = 2000;
/// Pause between two batches, so that forgetting a million metrics leaves the disk to others.
const PAUSE: Duration = Duration::from_millis(20);
/// Time that senders have after a start before the first metric is forgotten.
const AFTER_START: Duration = Duration::from_secs(60);

/// Metrics without points, and when a pass saw each first. A metric is created before its first point is there, and an import or
/// a call of `/tags/tagSeries` can create it long before.
#[derive(Default)]
pub(super) struct Pointless(Mutex<Arc<HashMap<MetricId, u32>>>);

/// Which metrics are over at one moment.
struct Verdicts<'a> {
    policies: &'a Policies,
    after: ForgetAfter,
    now: u32,
    /// Of each policy, how long it keeps points.
    kept_secs: Vec<u64>,
    pointless: Arc<HashMap<MetricId, u32>>,
}

impl Verdicts<'_> {
    fn is_over(&self, id: MetricId, policy: PolicyId, span: Span) -> bool {
        let limit = match self.after {
            ForgetAfter::Never => return false,
            ForgetAfter::Time(time) => time.as_secs(),
            ForgetAfter::Retention => self.kept(id, policy),
        };
        let since = if span == Span::EMPTY { self.pointless.get(&id).copied() } else { Some(span.last) };
        since.is_some_and(|since| u64::from(self.now.saturating_sub(since)) > limit)
    }

    /// How long a metric keeps points, those under earlier policies included.
    fn kept(&self, id: MetricId, policy: PolicyId) -> u64 {
        let policies = self.policies.earlier(id).into_iter().chain([policy]);
        // A policy that is newer than this list belongs to a metric that is in use.
        let kept = policies.map(|policy| self.kept_secs.get(policy.0 as usize).copied().unwrap_or(u64::MAX));
        kept.max().unwrap_or(u64::MAX)
    }
}

impl Engine {
    /// How long to wait before metrics are looked at.
    pub(super) fn forget_interval(&self, is_first: bool) -> Duration {
        let interval = self.retention().rules().forgetting.interval;
        if is_first { interval.min(AFTER_START) } else { interval }
    }

    /// Forgets the metrics that are over now. `pause` waits between batches and says whether to stop.
    pub(super) fn forget_expired(
        &self,
        now: u32,
        pause: impl FnMut(Duration) -> bool,
    ) -> Result<u64, PointsError> {
        let after = self.retention().rules().forgetting.after;
        if after == ForgetAfter::Never {
            return Ok(0);
        }
        self.note_pointless(now);
        let gone = self.forget_over(&self.verdicts(after, now), pause)?.len() as u64;
        if gone > 0 {
            tracing::info!(
                metrics = gone,
                "metrics without new points were forgotten (retention.forget_after)"
            );
        }
        Ok(gone)
    }

    /// Forgets metrics whose last point is older than `secs`, or than `retention.forget_after` says. A trial only lists them.
    pub(super) fn clean_up(&self, secs: Option<u64>, trial: bool) -> Result<Cleaned, QueryError> {
        if !self.store.upstream.is_sole_writer() {
            return Err(QueryError::invalid(
                "several servers may share the names in Cassandra; `plumbago clean` without --url goes by its tables",
            ));
        }
        let after = match (secs, self.retention().rules().forgetting.after) {
            (Some(secs), _) => ForgetAfter::Time(Duration::from_secs(secs)),
            // Somebody asks for it now.
            (None, ForgetAfter::Never) => ForgetAfter::Retention,
            (None, configured) => configured,
        };
        let verdicts = self.verdicts(after, now());
        let mut metrics = if trial {
            let over = self.over(&verdicts, 0..self.points.id_bound());
            let index = self.index.read();
            over.into_iter().filter_map(|id| index.name(id).map(str::to_owned)).collect()
        } else {
            let gone = self.forget_over(&verdicts, |_| false)?;
            self.points.sync()?;
            gone
        };
        metrics.sort_unstable();
        Ok(Cleaned { done: !trial, metrics })
    }

    /// Forgets what is over, in batches. Gives the names.
    fn forget_over(
        &self,
        verdicts: &Verdicts<'_>,
        mut pause: impl FnMut(Duration) -> bool,
    ) -> Result<Vec<String>, PointsError> {
        let mut gone = Vec::new();
        for from in (0..self.points.id_bound()).step_by(LOOKED_AT as usize) {
            let over = self.over(verdicts, from..from.saturating_add(LOOKED_AT));
            for batch in over.chunks(BATCH) {
                gone.extend(self.forget_batch(batch, verdicts)?);
                if pause(PAUSE) {
                    return Ok(gone);
                }
            }
        }
        Ok(gone)
    }

    /// Forgets those of a batch that are still over: a point may have come since they were looked at.
    fn forget_batch(&self, batch: &[MetricId], verdicts: &Verdicts<'_>) -> Result<Vec<String>, PointsError> {
        // An import must find the metrics that it has looked up until its points are in.
        let _no_import = self.importing.write();
        let gone = self.forget_if(batch, |id, policy, span| verdicts.is_over(id, policy, span))?;
        self.telemetry.metrics_forgotten.add(gone.len() as u64);
        Ok(gone)
    }

    /// The metrics of a range of ids that are over.
    fn over(&self, verdicts: &Verdicts<'_>, ids: Range<u32>) -> Vec<MetricId> {
        let states = self.points.states(ids).into_iter();
        states.filter(|&(id, policy, span)| verdicts.is_over(id, policy, span)).map(|(id, ..)| id).collect()
    }

    fn verdicts(&self, after: ForgetAfter, now: u32) -> Verdicts<'_> {
        let policies = self.points.policies();
        let kept_secs = policies.all().iter().map(|(_, policy)| policy.retention.span_secs()).collect();
        Verdicts { policies, after, now, kept_secs, pointless: Arc::clone(&self.pointless.0.lock()) }
    }

    /// Remembers which metrics have no points, and since when.
    fn note_pointless(&self, now: u32) {
        let known = Arc::clone(&self.pointless.0.lock());
        let mut found = HashMap::new();
        for from in (0..self.points.id_bound()).step_by(LOOKED_AT as usize) {
            for (id, _, span) in self.points.states(from..from.saturating_add(LOOKED_AT)) {
                if span == Span::EMPTY {
                    found.insert(id, known.get(&id).copied().unwrap_or(now));
                }
            }
        }
        *self.pointless.0.lock() = Arc::new(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Sender;
    use crate::config::{Config, Forgetting};
    use crate::receive::Sink as _;
    use plumbago_model::{Batch, Point, Retention};

    const DAY: u32 = 86_400;

    fn engine(after: ForgetAfter) -> (tempfile::TempDir, Engine) {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.store.path = dir.path().join("data");
        config.retention.default_retention = Retention::new(vec![(10, 360), (60, 1440)]).unwrap();
        config.retention.forgetting = Forgetting { after, ..Forgetting::default() };
        let engine = Engine::open(config).unwrap();
        (dir, engine)
    }

    fn send(engine: &Engine, name: &str, timestamp: u32) {
        let mut batch = Batch::default();
        batch.push(name, Point { timestamp, value: 1.0 });
        assert!(engine.accept(&batch, &Sender::default()).is_ok());
    }

    fn names(engine: &Engine) -> Vec<String> {
        let index = engine.index.read();
        (0..engine.points.id_bound()).filter_map(|id| index.name(MetricId(id)).map(str::to_owned)).collect()
    }

    #[test]
    fn a_metric_leaves_when_its_last_point_is_older_than_its_retention() {
        let (_dir, engine) = engine(ForgetAfter::Retention);
        let start = now();
        send(&engine, "silent", start - 100);
        send(&engine, "busy", start);
        let forget = |now| engine.forget_expired(now, |_| false).unwrap();
        assert_eq!(forget(start - 100 + DAY), 0, "the last second of its retention");
        assert_eq!(forget(start - 100 + DAY + 1), 1);
        assert_eq!(names(&engine), ["busy"]);
        assert_eq!(engine.telemetry.metrics_forgotten.get(), 1);
        send(&engine, "silent", start);
        assert_eq!(names(&engine), ["busy", "silent"], "it is back with its next point");
    }

    #[test]
    fn a_time_counts_instead_of_the_retention_and_off_keeps_all() {
        let start = now();
        let hour = ForgetAfter::Time(Duration::from_secs(3600));
        for (after, left) in [(hour, 0), (ForgetAfter::Never, 1)] {
            let (_dir, engine) = engine(after);
            send(&engine, "a", start);
            engine.forget_expired(start + 3601, |_| false).unwrap();
            assert_eq!(names(&engine).len(), left, "{after:?}");
        }
    }

    #[test]
    fn a_metric_without_points_has_its_time_from_when_it_was_seen() {
        let (_dir, engine) = engine(ForgetAfter::Retention);
        let mut batch = Batch::default();
        batch.push("tagged;a=b", Point { timestamp: now(), value: 0.0 });
        engine.resolver.resolve(&batch, None, now()).unwrap();
        let forget = |now| engine.forget_expired(now, |_| false).unwrap();
        let seen = now() + 10 * DAY;
        assert_eq!((forget(seen), forget(seen + DAY)), (0, 0));
        assert_eq!(forget(seen + DAY + 1), 1);
    }

    #[test]
    fn a_pause_can_end_a_pass_between_two_batches() {
        let (_dir, engine) = engine(ForgetAfter::Time(Duration::from_secs(1)));
        let mut batch = Batch::default();
        let many: Vec<String> = (0..BATCH + 1).map(|n| format!("m{n}")).collect();
        many.iter().for_each(|name| batch.push(name, Point { timestamp: now() - 100, value: 1.0 }));
        assert!(engine.accept(&batch, &Sender::default()).is_ok());
        assert_eq!(engine.forget_expired(now(), |_| true).unwrap(), BATCH as u64);
        assert_eq!(engine.forget_expired(now(), |_| true).unwrap(), 1);
    }

    #[test]
    fn a_point_whose_metric_leaves_after_it_was_looked_up_is_not_lost() {
        let (_dir, engine) = engine(ForgetAfter::Time(Duration::from_secs(3600)));
        let start = now();
        send(&engine, "a.b", start - 7200);
        let mut batch = Batch::default();
        batch.push("a.b", Point { timestamp: start, value: 1.0 });
        let resolved = engine.resolver.resolve(&batch, None, start).unwrap();
        assert_eq!(engine.forget_expired(start, |_| false).unwrap(), 1);
        let taken = engine.points.append_since(&resolved.points, resolved.deletions, start).unwrap();
        assert_eq!(taken, None, "the point would go to a metric that is gone");
        // The sink looks the name up again.
        send(&engine, "a.b", start);
        let id = engine.index.read().lookup(b"a.b").unwrap();
        assert_eq!(engine.points.state(id).unwrap().1, Span { first: start, last: start });
        assert_eq!(engine.forget_expired(start, |_| false).unwrap(), 0, "it is in use again");
    }

    #[test]
    fn a_metric_that_gets_a_point_after_it_was_picked_stays() {
        let (_dir, engine) = engine(ForgetAfter::Time(Duration::from_secs(3600)));
        let start = now();
        send(&engine, "a.b", start - 7200);
        let verdicts = engine.verdicts(ForgetAfter::Time(Duration::from_secs(3600)), start);
        let picked = engine.over(&verdicts, 0..10);
        assert_eq!(picked.len(), 1);
        send(&engine, "a.b", start);
        assert!(engine.forget_batch(&picked, &verdicts).unwrap().is_empty());
        assert_eq!(names(&engine), ["a.b"]);
    }
}
