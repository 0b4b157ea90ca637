//! The cut: points leave memory for the store.

use std::sync::Arc;

use super::head::Frozen;
use super::points::{Points, PointsError};
use super::view::View;
use crate::model::{MetricId, MetricRecord, Point, Policy, PolicyId, SlotRange, Span, Stage};
use crate::store::{Column, Cut, Mark, Position, StoreError};

const HOUR: u32 = 3600;
const MANY_CREATED: usize = 50_000;

impl Points {
    /// Writes all points in memory to the store and lets the log forget them. Gives the number of points written.
    ///
    /// When it fails the points stay in memory and in the log, and the next call tries them again.
    pub fn cut(&self) -> Result<usize, PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let Some(frozen) = self.freeze()? else { return Ok(0) };
        self.record_metrics(&frozen)?;
        let position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        let mut column = Column::default();
        for id in frozen.metrics() {
            let Some((policy_id, _)) = self.state(id) else { continue };
            let Some(policy) = self.policies().get(policy_id) else { continue };
            raw_column(&frozen, id, policy.retention.raw(), &mut column);
            cut.put(policy.retention.raw(), id, policy.aggregator, &column)?;
            self.put_touched(&mut *cut, &frozen, id, (policy_id, policy), &position.marks)?;
        }
        cut.commit(Position {
            cut: frozen.cut(),
            log_floor: frozen.log_floor,
            marks: self.marks_with(position.marks),
        })?;
        self.memory().frozen = None;
        self.log().remove_before(frozen.log_floor)?;
        Ok(frozen.len())
    }

    /// Takes the points out of the head, or those of a cut that failed. `None` when there is nothing to do.
    fn freeze(&self) -> Result<Option<Arc<Frozen>>, PointsError> {
        let cut = self.store().snapshot().position().cut + 1;
        let mut log = self.log();
        {
            let memory = self.memory();
            if memory.frozen.is_some() {
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

    /// Tells the catalogue of new metrics between two cuts, should they be a great many: they need not wait in memory.
    pub fn record_created(&self) -> Result<(), PointsError> {
        let _one_at_a_time = self.cutting.lock();
        if self.created.lock().len() >= MANY_CREATED {
            self.record_names()?;
        }
        Ok(())
    }

    /// Tells the catalogue of new policies, new metrics, and metrics with newer data.
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

    fn record_names(&self) -> Result<(), PointsError> {
        let policies = self.new_policies.lock().clone();
        self.catalogue().add_policies(&policies)?;
        self.new_policies.lock().drain(..policies.len());

        let mut created: Vec<MetricRecord> = std::mem::take(&mut *self.created.lock());
        created.sort_by_key(|m| m.id);
        if let Err(error) = self.catalogue().create(&created) {
            self.created.lock().extend(created);
            return Err(error.into());
        }
        Ok(())
    }

    /// Spans that outgrew what the catalogue has. Rounded to hours so that each metric is written once an hour.
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

    /// Writes anew the slots before the marks that the points of this cut fall into.
    fn put_touched(
        &self,
        cut: &mut dyn Cut,
        frozen: &Frozen,
        id: MetricId,
        (policy_id, policy): (PolicyId, Arc<Policy>),
        marks: &[Mark],
    ) -> Result<(), StoreError> {
        let mut times: Vec<u32> = Vec::new();
        frozen.walk(id, |p| times.push(p.timestamp));
        times.extend(frozen.direct(id).iter().map(|d| d.point.timestamp));
        for (level, &stage) in policy.retention.stages().iter().enumerate().skip(1) {
            let mark = marks.iter().find(|m| m.policy == policy_id && m.level as usize == level);
            let mark = mark.map_or_else(|| self.first_mark(policy_id, level), |m| m.until);
            let is_direct =
                |t: u32| frozen.direct(id).iter().any(|d| d.level == level && d.point.timestamp == t);
            let touched = times.iter().filter(|&&t| t < mark || is_direct(t));
            let mut slots: Vec<u32> = touched.map(|&t| stage.floor(t)).collect();
            if slots.is_empty() {
                continue;
            }
            slots.sort_unstable();
            slots.dedup();
            let column = self.slots_of(id, (policy_id, Arc::clone(&policy)), level, &slots)?;
            cut.put(stage, id, policy.aggregator, &column)?;
        }
        Ok(())
    }

    fn slots_of(
        &self,
        id: MetricId,
        policy: (PolicyId, Arc<Policy>),
        level: usize,
        slots: &[u32],
    ) -> Result<Column, StoreError> {
        let step = policy.1.retention.stages()[level].step_secs;
        let mut column = Column::default();
        for run in slots.chunk_by(|a, b| a + step == *b) {
            let [start, ..] = *run else { continue };
            let range = SlotRange { start, step, len: run.len() };
            let view = View::open(self, policy.clone(), vec![id], (start, range.end()));
            for window in view.read(level, range)? {
                for (at, &time) in run.iter().enumerate() {
                    let partial = window.partial(at);
                    if partial.count() > 0 {
                        column.push_partial(time, partial);
                    }
                }
            }
        }
        Ok(column)
    }
}

/// The metric's points by slot; of several in one slot the last accepted.
fn raw_column(frozen: &Frozen, id: MetricId, stage: Stage, column: &mut Column) {
    column.clear();
    let mut points: Vec<Point> = Vec::new();
    frozen.walk(id, |p| points.push(Point { timestamp: stage.floor(p.timestamp), value: p.value }));
    // Newest first, so a stable sort keeps the last accepted in front of its slot.
    points.sort_by_key(|p| p.timestamp);
    points.dedup_by_key(|p| p.timestamp);
    column.times.extend(points.iter().map(|p| p.timestamp));
    column.values.extend(points.iter().map(|p| p.value));
}
