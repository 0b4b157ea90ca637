//! Series by metric and tags, in three phases: the windows of stages that answer for a time, the series that are wanted and may have
//! something there, and their points.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::engine::{Engine, now};
use crate::http::{CatalogQuery, Labelled, Wanted};
use crate::index::{Asked, FindLimits};
use crate::kairosdb::{Read, Sample, Tags};
use crate::rollup::{PointLimit, Seconds, Slot};
use crate::telemetry::LabelledPhase;
use plumbago_model::labelled::parts;
use plumbago_model::{Cancel, MetricId, Phase, QueryError, Scope, Span, Stretch};

/// Series deleted in one go: cuts wait for each.
const DELETE_BATCH: usize = 10_000;

/// How far ahead of the clock a query of a cluster reads that has no end: the clocks of its servers differ.
const OPEN_END_SECS: u32 = 60;

/// Bytes of a series that was found, beside its name and its samples.
const SERIES_BYTES: usize = 200;

/// A series that was found.
type Found = (MetricId, String);

impl Labelled for Engine {
    fn read_series(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Read>, QueryError> {
        self.read_series_within(&Arc::default(), wanted, range, cancel)
    }

    fn series_tags(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Tags>, QueryError> {
        self.series_tags_within(&Arc::default(), wanted, range, cancel)
    }

    fn erase_series(&self, wanted: &Wanted, range: (i64, i64)) -> Result<usize, QueryError> {
        self.erase_series_within(&Arc::default(), wanted, range)
    }

    fn catalog(&self, query: &CatalogQuery, cancel: &Cancel) -> Result<Value, QueryError> {
        self.catalog_within(&Arc::default(), query, cancel)
    }
}

impl Engine {
    pub(super) fn read_series_within(
        &self,
        scope: &Arc<Scope>,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Read>, QueryError> {
        let Some(seconds) = self.seconds(range).map(|seconds| self.within_reason(seconds, range)) else {
            return Ok(Vec::new());
        };
        cancel.begin(Phase::Plan);
        let windows = self.phase(LabelledPhase::Windows, || Ok((self.points.windows(seconds), ())))?;
        if windows.0 == 0 {
            return Ok(Vec::new());
        }
        cancel.begin(Phase::Find);
        let (_, found) = self.phase(LabelledPhase::Series, || {
            let found = self.series(scope, wanted, seconds, cancel)?;
            Ok((found.len(), found))
        })?;
        cancel.begin(Phase::Fetch);
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        self.store.upstream.note_read(&ids);
        let (points, slots) = self.phase(LabelledPhase::Points, || {
            let limit = PointLimit::new(self.config.query.max_points);
            let slots = self.points.read_slots(&ids, seconds, &limit, cancel)?;
            Ok((limit.read(), slots))
        })?;
        cancel.note_read(ids.len(), points);
        let read = |((_, name), slots): (Found, Vec<Slot>)| {
            let samples = slots.into_iter().map(sample).filter(|sample| sample.at <= range.1).collect();
            Read { tags: tags(&name), samples }
        };
        Ok(found.into_iter().zip(slots).map(read).collect())
    }

    pub(super) fn series_tags_within(
        &self,
        scope: &Arc<Scope>,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Tags>, QueryError> {
        let Some(seconds) = self.seconds(range) else { return Ok(Vec::new()) };
        cancel.begin(Phase::Find);
        Ok(self.series(scope, wanted, seconds, cancel)?.iter().map(|(_, name)| tags(name)).collect())
    }

    pub(super) fn erase_series_within(
        &self,
        scope: &Arc<Scope>,
        wanted: &Wanted,
        range: (i64, i64),
    ) -> Result<usize, QueryError> {
        let Some(seconds) = self.seconds(range) else { return Ok(0) };
        let found = self.matching_series(scope, wanted, FindLimits::NONE, &Cancel::never())?;
        let mut ids: Vec<MetricId> = found.into_iter().map(|(id, _)| id).collect();
        ids.sort_unstable();
        let (mut whole, mut parts): (Vec<MetricId>, Vec<(u32, MetricId)>) = Default::default();
        for (&id, span) in ids.iter().zip(self.points.spans(&ids)) {
            let step = self.raw_step(id);
            let from = seconds.from - seconds.from % step;
            let holds_all = from <= span.first && span.last <= seconds.until;
            if seconds.until == u32::MAX && seconds.from == 0 || seconds.spans_known && holds_all {
                whole.push(id);
            } else if !seconds.spans_known || span.overlaps(from, seconds.until) {
                parts.push((from, id));
            }
        }
        parts.sort_unstable();
        for same in parts.chunk_by(|(a, _), (b, _)| a == b) {
            let Some(&(from, _)) = same.first() else { continue };
            let ids: Vec<MetricId> = same.iter().map(|(_, id)| *id).collect();
            let stretch = Stretch { from, until: seconds.until.saturating_add(1) };
            let erased = self.erase_metrics(&ids, stretch)?;
            self.telemetry.slots_deleted.add(erased.iter().map(|one| one.points + one.aggregates).sum());
        }
        for batch in whole.chunks(DELETE_BATCH) {
            self.delete(batch)?;
        }
        self.points.sync()?;
        Ok(whole.len() + parts.len())
    }

    /// The wanted series that may have something in that time.
    fn series(
        &self,
        scope: &Arc<Scope>,
        wanted: &Wanted,
        seconds: Seconds,
        cancel: &Cancel,
    ) -> Result<Vec<Found>, QueryError> {
        let limits = FindLimits::series(self.config.query.max_series);
        let mut found = self.matching_series(scope, wanted, limits, cancel)?;
        if seconds.spans_known {
            let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
            let mut spans = self.points.spans(&ids).into_iter();
            // The slot that holds the first second may begin before it.
            let may_have = |span: Span, id| {
                let step = self.raw_step(id);
                span.overlaps(seconds.from - seconds.from % step, seconds.until)
            };
            found.retain(|(id, _)| spans.next().is_some_and(|span| may_have(span, *id)));
        }
        cancel.take(found.iter().map(|(_, name)| 2 * name.len() + SERIES_BYTES).sum())?;
        Ok(found)
    }

    /// One pass over the index, however many values of tags are asked for.
    fn matching_series(
        &self,
        scope: &Arc<Scope>,
        wanted: &Wanted,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<Found>, QueryError> {
        self.telemetry.index_passes.add(1);
        let asked = Asked { text: wanted.metric(), conditions: &wanted.conditions() };
        self.sight(scope)?.find_series(wanted.metric(), asked, limits, cancel)
    }

    fn raw_step(&self, id: MetricId) -> u32 {
        let policy = self.points.state(id).and_then(|(policy, _)| self.points.policies().get(policy));
        policy.map_or(1, |policy| policy.retention.raw().step_secs)
    }

    /// The seconds of some milliseconds; none if all of them lie before 1970.
    fn seconds(&self, (first, last): (i64, i64)) -> Option<Seconds> {
        if last < 0 || last < first {
            return None;
        }
        let second = |millis: i64| u32::try_from(millis.max(0) / 1000).unwrap_or(u32::MAX);
        let spans_known = self.store.upstream.is_sole_writer();
        Some(Seconds { from: second(first), until: second(last), now: now(), spans_known })
    }

    /// What is read of an end that lies ahead. A cluster would be asked for every partition up to there.
    fn within_reason(&self, seconds: Seconds, (_, last): (i64, i64)) -> Seconds {
        if seconds.spans_known {
            return seconds;
        }
        let most = u32::try_from(self.config.ingest.max_future.as_secs()).unwrap_or(u32::MAX);
        let ahead = if last == i64::MAX { OPEN_END_SECS.min(most) } else { most };
        Seconds { until: seconds.until.min(seconds.now.saturating_add(ahead)), ..seconds }
    }

    /// Does a phase of a query, in a span with what it counted.
    fn phase<T>(
        &self,
        phase: LabelledPhase,
        work: impl FnOnce() -> Result<(usize, T), QueryError>,
    ) -> Result<(usize, T), QueryError> {
        let span = tracing::debug_span!("labelled", phase = phase.label(), count = tracing::field::Empty);
        let _inside = span.enter();
        let began = Instant::now();
        let done = work()?;
        span.record("count", done.0);
        self.telemetry.labelled_phases.record(phase, began.elapsed(), done.0 as u64);
        Ok(done)
    }
}

fn sample(slot: Slot) -> Sample {
    Sample { at: i64::from(slot.start) * 1000, value: slot.value, sum: slot.sum, count: slot.count }
}

fn tags(name: &str) -> Tags {
    parts(name).1.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}
