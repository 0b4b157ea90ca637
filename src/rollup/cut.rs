//! The cut: moves the points in memory into the store.
//!
//! A cut first starts a new log segment and freezes the head, under one lock: the frozen points are then exactly those of the
//! older segments. Senders go on into a new head while the frozen points are written. Only the commit moves the log's floor, so
//! at every moment a point is in the log or in the store, and a crash at any moment loses none.

use std::sync::Arc;

use super::head::{Direct, Frozen};
use super::points::{Points, PointsError};
use super::view::View;
use crate::log::Log;
use crate::planted::{Planted, is_planted};
use crate::store::{Column, Cut, Mark, Position, StoreError};
use plumbago_model::{MetricId, MetricRecord, Point, Policy, PolicyId, SlotRange, Span, Stage, Window};

const HOUR: u32 = 3600;
const MANY_CREATED: usize = 50_000;
/// Metrics whose points are collected together. There are enough of them for their cache misses to overlap, and few enough
/// for their points to stay in the cache; points of neighbouring metrics lie side by side.
const GATHERED: usize = 64;

impl Points {
    /// Writes all points in memory to the store and removes them from the log. Returns the number of points written.
    ///
    /// After an error the points are still in memory and in the log, and the next call tries again.
    pub fn cut(&self) -> Result<usize, PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let Some(frozen) = self.freeze(&mut self.log())? else { return Ok(0) };
        if is_planted(Planted::LogRemovedFirst) {
            self.log().remove_before(frozen.log_floor)?;
        }
        self.write(&frozen)?;
        self.log().remove_before(frozen.log_floor)?;
        Ok(frozen.len())
    }

    /// Empties memory while the caller holds the locks of cuts and of the log, so that no point comes in meanwhile.
    pub(super) fn cut_rest(&self, log: &mut Log) -> Result<(), PointsError> {
        // The first round may be a cut that failed earlier.
        while let Some(frozen) = self.freeze(log)? {
            self.write(&frozen)?;
            log.remove_before(frozen.log_floor)?;
        }
        Ok(())
    }

    /// Writes the points of a cut that failed, if there are any, under the same locks.
    pub(super) fn cut_failed(&self, log: &mut Log) -> Result<(), PointsError> {
        let frozen = self.memory().frozen.clone();
        let Some(frozen) = frozen else { return Ok(()) };
        self.write(&frozen)?;
        Ok(log.remove_before(frozen.log_floor)?)
    }

    /// Writes frozen points to the store, and lets go of them.
    fn write(&self, frozen: &Frozen) -> Result<(), PointsError> {
        self.finish_deletions()?;
        // Names come before the commit. It moves the log's floor, and after that the log no longer has them.
        if !is_planted(Planted::NamesAfterCommit) {
            self.record_metrics(frozen)?;
        }
        let position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        let mut column = Column::default();
        let metrics: Vec<MetricId> = frozen.metrics().collect();
        let mut received: Vec<u32> = Vec::with_capacity(metrics.len());
        let mut gathered: Vec<Vec<Point>> = vec![Vec::new(); GATHERED];
        for group in metrics.chunks(GATHERED) {
            gathered.iter_mut().for_each(Vec::clear);
            frozen.walk_many(group, |nth, point| gathered[nth].push(point));
            let mut touched = Vec::new();
            for (&id, points) in group.iter().zip(&mut gathered) {
                received.push((points.len() + frozen.direct(id).len()) as u32);
                // A metric that was deleted since the points were frozen has no state any more.
                let Some((policy_id, _)) = self.state(id) else { continue };
                let Some(policy) = self.policies().get(policy_id) else { continue };
                let stage = policy.retention.raw();
                raw_column(points, stage, &mut column);
                cut.put(stage, id, policy.aggregator, &column)?;
                let marks = &position.marks;
                self.note_touched(
                    id,
                    (policy_id, policy),
                    marks,
                    &column.times,
                    frozen.direct(id),
                    &mut touched,
                );
            }
            self.put_touched(&mut *cut, touched)?;
        }
        cut.commit(Position {
            cut: frozen.cut(),
            log_floor: frozen.log_floor,
            marks: self.marks_with(position.marks),
        })?;
        if is_planted(Planted::NamesAfterCommit) {
            self.record_metrics(frozen)?;
        }
        // Under one lock, so that a question finds the points in memory or in the tally, and never in both.
        let mut tally = self.tally.lock();
        self.memory().frozen = None;
        tally.add(&metrics, &received, frozen.accepted_since);
        Ok(())
    }

    /// Writes everything that was accepted before this call to the store.
    pub fn cut_all(&self) -> Result<(), PointsError> {
        let floor = self.log().rotate();
        // The first cut may find points that an earlier one froze and could not write. Then the head is left for the second.
        for _ in 0..2 {
            self.cut()?;
            if self.store().snapshot().position().log_floor >= floor {
                break;
            }
        }
        Ok(())
    }

    /// Freezes the points of the head, or returns those of a cut that failed. `None` if there is nothing to do.
    fn freeze(&self, log: &mut Log) -> Result<Option<Arc<Frozen>>, PointsError> {
        let cut = self.store().snapshot().position().cut + 1;
        {
            let memory = self.memory();
            if memory.frozen.is_some() && !is_planted(Planted::FailedCutForgotten) {
                return Ok(memory.frozen.clone());
            }
            if memory.live.len() == 0 && !self.has_unrecorded() {
                return Ok(None);
            }
        }
        let floor = log.rotate();
        let mut memory = self.memory();
        memory.frozen = Some(Arc::new(memory.live.freeze(cut, floor)));
        Ok(memory.frozen.clone())
    }

    /// Records new metrics in the catalogue between two cuts if there are very many, so that they do not fill memory.
    pub fn record_created(&self) -> Result<(), PointsError> {
        let _one_at_a_time = self.cutting.lock();
        if self.created.lock().len() >= MANY_CREATED {
            self.record_names()?;
        }
        Ok(())
    }

    /// Records new policies, new metrics and longer spans in the catalogue.
    fn record_metrics(&self, frozen: &Frozen) -> Result<(), PointsError> {
        self.record_names()?;
        let spans = self.news(frozen);
        self.catalogue().touch(&spans)?;
        let mut recorded = self.recorded.lock();
        for (id, span) in spans {
            if let Some(recorded) = recorded.get_mut(id.index()) {
                recorded.cover(span.first);
                recorded.cover(span.last);
            }
        }
        Ok(())
    }

    pub(super) fn record_names(&self) -> Result<(), PointsError> {
        // Metrics first: a policy is there before its first metric. So a catalogue without the log, which is what a backup has, knows
        // the policy of every metric in it.
        let mut created: Vec<MetricRecord> = std::mem::take(&mut *self.created.lock());
        created.sort_by_key(|m| m.id);
        let owned = std::mem::take(&mut *self.owned.lock());
        let recorded = self.record_policies().and_then(|()| self.catalogue().create(&created));
        let recorded = recorded.and_then(|()| self.catalogue().own(&owned));
        if let Err(error) = recorded {
            self.created.lock().extend(created);
            self.owned.lock().extend(owned);
            return Err(error.into());
        }
        Ok(())
    }

    fn record_policies(&self) -> Result<(), StoreError> {
        let policies = self.new_policies.lock().clone();
        self.catalogue().add_policies(&policies)?;
        self.new_policies.lock().drain(..policies.len());
        Ok(())
    }

    /// Spans that are longer than the catalogue has them. They are rounded to hours, so each metric is written once an hour.
    fn news(&self, frozen: &Frozen) -> Vec<(MetricId, Span)> {
        let memory = self.memory();
        let mut recorded = self.recorded.lock();
        let bound = recorded.len().max(memory.live.id_bound() as usize);
        recorded.resize(bound, Span::EMPTY);
        let state = |id: MetricId| memory.live.state(id).map(|s| (id, s.span));
        let is_news = |(id, span): &(MetricId, Span)| {
            recorded.get(id.index()).is_none_or(|known| span.last > known.last || span.first < known.first)
        };
        let rounded = |(id, span): (MetricId, Span)| {
            let last = span.last.saturating_add(HOUR) / HOUR * HOUR;
            (id, Span { first: span.first / HOUR * HOUR, last })
        };
        frozen.metrics().filter_map(state).filter(is_news).map(rounded).collect()
    }

    /// Collects the slots before the marks that points of this cut fall into: points of stage 0 at the ascending `times`, and
    /// points that entered a coarser stage directly.
    ///
    /// Slots after a mark are left out, because readers compute them from the finer stage, which this cut writes anyway. The
    /// exception is a point that entered the stage directly: no finer stage has it, so its slot is written wherever it is.
    fn note_touched(
        &self,
        id: MetricId,
        (policy_id, policy): (PolicyId, Arc<Policy>),
        marks: &[Mark],
        times: &[u32],
        direct: &[Direct],
        touched: &mut Vec<Touched>,
    ) {
        for (level, &stage) in policy.retention.stages().iter().enumerate().skip(1) {
            let mark = marks.iter().find(|m| m.policy == policy_id && m.level as usize == level);
            let mark = mark.map_or_else(|| self.first_mark(policy_id, level), |m| m.until);
            let edge = if is_planted(Planted::EdgeOfStage) { stage.step_secs } else { 0 };
            let late = times.iter().copied().take_while(|&t| t < mark.saturating_sub(edge));
            let reaches = |d: &&Direct| d.level == level || (d.level < level && d.point.timestamp < mark);
            let entered = direct.iter().filter(reaches);
            let entered = entered.map(|d| d.point.timestamp);
            let mut slots: Vec<u32> = late.chain(entered).map(|t| stage.floor(t)).collect();
            slots.sort_unstable();
            slots.dedup();
            if !slots.is_empty() {
                touched.push(Touched { id, policy: (policy_id, Arc::clone(&policy)), level, slots });
            }
        }
    }

    /// Rewrites the touched slots. Metrics of one policy and level are read together, through one view; the store wants them by
    /// ascending id within a stage, which several policies may share. So everything is collected and sorted twice.
    fn put_touched(&self, cut: &mut dyn Cut, mut touched: Vec<Touched>) -> Result<(), StoreError> {
        touched.sort_by_key(|t| (t.policy.0, t.level, t.id));
        let mut columns = Vec::with_capacity(touched.len());
        for alike in touched.chunk_by(|a, b| (a.policy.0, a.level) == (b.policy.0, b.level)) {
            let [Touched { policy: (_, policy), level, .. }, ..] = alike else { continue };
            let stage = policy.retention.stages()[*level];
            for (touched, column) in alike.iter().zip(self.touched_columns(alike, stage.step_secs)?) {
                columns.push((stage, touched.id, policy.aggregator, column));
            }
        }
        columns.sort_by_key(|(stage, id, ..)| (*stage, *id));
        columns.iter().try_for_each(|(stage, id, method, column)| cut.put(*stage, *id, *method, column))
    }

    /// The touched slots of metrics of one policy and level.
    fn touched_columns(&self, alike: &[Touched], step: u32) -> Result<Vec<Column>, StoreError> {
        let mut columns = vec![Column::default(); alike.len()];
        if let Some(range) = common_range(alike, step) {
            let windows = self.windows_of(alike, range)?;
            for ((touched, window), column) in alike.iter().zip(&windows).zip(&mut columns) {
                push_slots(window, &touched.slots, column);
            }
            return Ok(columns);
        }
        for (touched, column) in alike.iter().zip(&mut columns) {
            for run in touched.slots.chunk_by(|a, b| a + step == *b) {
                let [start, ..] = *run else { continue };
                let range = SlotRange { start, step, len: run.len() };
                for window in &self.windows_of(std::slice::from_ref(touched), range)? {
                    push_slots(window, run, column);
                }
            }
        }
        Ok(columns)
    }

    fn windows_of(&self, alike: &[Touched], range: SlotRange) -> Result<Vec<Window>, StoreError> {
        let Some(Touched { policy, level, .. }) = alike.first() else { return Ok(Vec::new()) };
        let ids = alike.iter().map(|t| t.id).collect();
        View::open_frozen(self, policy.clone(), ids, (range.start, range.end())).read_touched(*level, range)
    }
}

/// Slots of a metric in an aggregated stage that a cut must rewrite.
struct Touched {
    id: MetricId,
    policy: (PolicyId, Arc<Policy>),
    level: usize,
    /// Ascending.
    slots: Vec<u32>,
}

/// One range for the slots of all these metrics, unless it would be mostly empty: one very old point must not make the
/// cut read years of every metric.
fn common_range(alike: &[Touched], step: u32) -> Option<SlotRange> {
    let start = *alike.iter().filter_map(|t| t.slots.first()).min()?;
    let last = *alike.iter().filter_map(|t| t.slots.last()).max()?;
    let len = ((last - start) / step) as usize + 1;
    let slots: usize = alike.iter().map(|t| t.slots.len()).sum();
    (len * alike.len() <= 4 * slots).then_some(SlotRange { start, step, len })
}

fn push_slots(window: &Window, slots: &[u32], column: &mut Column) {
    for &time in slots {
        let partial = window.range.position(time).map(|at| window.partial(at));
        if let Some(partial) = partial.filter(|partial| partial.count() > 0) {
            column.push_partial(time, partial);
        }
    }
}

/// A metric's points by slot. They are given newest first; of several in one slot, the last accepted one counts.
fn raw_column(points: &mut Vec<Point>, stage: Stage, column: &mut Column) {
    column.clear();
    for point in points.iter_mut() {
        point.timestamp = stage.floor(point.timestamp);
    }
    if points.is_sorted_by(|newer, older| newer.timestamp > older.timestamp) {
        points.reverse();
    } else {
        // The sort is stable, so the point accepted last stays first within its slot.
        points.sort_by_key(|p| p.timestamp);
        points.dedup_by_key(|p| p.timestamp);
    }
    column.times.extend(points.iter().map(|p| p.timestamp));
    column.values.extend(points.iter().map(|p| p.value));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::OnceLock;

    use super::super::testing::{NOW, NoNames};
    use super::*;
    use crate::store::MetricStore;
    use crate::store::embedded::Embedded;

    /// A catalogue during whose recording of policies a sender brings a metric with a new one.
    struct Busy {
        catalogue: Arc<dyn MetricStore>,
        points: OnceLock<Arc<Points>>,
    }

    impl MetricStore for Busy {
        fn policies(&self) -> Result<Vec<(PolicyId, Policy)>, StoreError> {
            self.catalogue.policies()
        }

        fn add_policies(&self, policies: &[(PolicyId, Policy)]) -> Result<(), StoreError> {
            if let Some(points) = self.points.get() {
                let policy = points.intern_policy(&"60*1s|sum|0".parse().unwrap(), NOW).unwrap();
                points.create(&[(MetricId(0), policy, "a")], NOW).unwrap();
            }
            self.catalogue.add_policies(policies)
        }

        fn id_bound(&self) -> Result<u32, StoreError> {
            self.catalogue.id_bound()
        }

        fn load(&self, visit: &mut dyn FnMut(MetricRecord)) -> Result<(), StoreError> {
            self.catalogue.load(visit)
        }

        fn create(&self, metrics: &[MetricRecord]) -> Result<(), StoreError> {
            self.catalogue.create(metrics)
        }

        fn touch(&self, spans: &[(MetricId, Span)]) -> Result<(), StoreError> {
            self.catalogue.touch(spans)
        }

        fn set_policies(&self, changes: &[(MetricId, Vec<PolicyId>)]) -> Result<(), StoreError> {
            self.catalogue.set_policies(changes)
        }

        fn own(&self, quotas: &[(MetricId, String)]) -> Result<(), StoreError> {
            self.catalogue.own(quotas)
        }

        fn owners(&self) -> Result<Vec<(MetricId, String)>, StoreError> {
            self.catalogue.owners()
        }

        fn rename(&self, names: &[(MetricId, String)]) -> Result<(), StoreError> {
            self.catalogue.rename(names)
        }

        fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
            self.catalogue.delete(metrics)
        }
    }

    fn open(dir: &Path) -> (Embedded, Arc<Busy>, Arc<Points>) {
        let store = Embedded::open(dir).unwrap();
        let busy = Arc::new(Busy { catalogue: Arc::clone(&store.metrics), points: OnceLock::new() });
        let catalogue: Arc<dyn MetricStore> = Arc::<Busy>::clone(&busy);
        let opened =
            Points::open(Arc::clone(&store.points), catalogue, &store.log_dir, 1000, NOW, &mut NoNames)
                .unwrap();
        (store, busy, Arc::new(opened.points))
    }

    #[test]
    fn the_catalogue_never_has_a_metric_without_its_policy() {
        let dir = tempfile::tempdir().unwrap();
        let (store, busy, points) = open(dir.path());
        assert!(busy.points.set(Arc::clone(&points)).is_ok());
        points.record_names().unwrap();
        let policies: Vec<PolicyId> =
            store.metrics.policies().unwrap().into_iter().map(|(id, _)| id).collect();
        let mut unknown = Vec::new();
        let is_known = |metric: &MetricRecord| metric.policies.iter().all(|policy| policies.contains(policy));
        store
            .metrics
            .load(&mut |metric| unknown.extend((!is_known(&metric)).then_some(metric.name)))
            .unwrap();
        assert_eq!(unknown, [""; 0]);
        assert!(points.has_unrecorded(), "the new metric waits for the next time");
    }
}
