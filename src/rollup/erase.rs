//! Erases a stretch of time: the points of some metrics in every stage, while the metrics stay.
//!
//! An erased slot is written by a cut like any other, as a slot without a value. It replaces what older blocks hold, and a point that
//! comes later replaces it in turn. A merge that begins with the oldest block of its partition drops it.
//!
//! A slot of an aggregated stage that lies wholly inside goes. One at the edge is made again from the finer stage, as far as that still
//! has all of its points. If not, or if points entered it directly, nobody knows which part of it lies inside, and it stays.

use std::sync::Arc;

use super::points::{Points, PointsError};
use super::view::{View, better};
use crate::planted::{Planted, is_planted};
use crate::store::{Column, StoreError};
use plumbago_model::{
    Aggregator, Cancel, MetricId, Partial, Policy, PolicyId, QueryError, SlotRange, Span, Stage, Stretch,
    Window,
};

/// Metrics of one commit, and slots from which on a commit takes no more metrics: cuts wait for each commit.
const COMMIT_METRICS: usize = 256;
const COMMIT_SLOTS: usize = 1 << 20;
/// Slots read at a time.
const PIECE_SLOTS: usize = 65_536;

/// What was erased of one metric, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
    /// Aggregated slots at the edges that were made again.
    pub remade: u64,
}

/// The slots that a commit replaces, and what is counted of them.
#[derive(Default)]
struct Work {
    columns: Vec<(Stage, MetricId, Aggregator, Column)>,
    slots: usize,
}

impl Points {
    /// Erases the slots in a stretch of metrics, given by ascending id, and says what that was for each of them. What is accepted
    /// before this call is erased, and it is durable when this returns; a point that comes meanwhile stays. A trial only counts.
    ///
    /// Where several servers share a store, this is this server's part.
    pub fn erase(&self, ids: &[MetricId], stretch: Stretch) -> Result<Vec<Erased>, PointsError> {
        // From here on only what is in the store has to be erased. What comes into memory now is cut later, and so replaces it.
        if !is_planted(Planted::MemoryNotErased) {
            self.cut_all()?;
        }
        let mut erased = Vec::with_capacity(ids.len());
        while let Some(left) = ids.get(erased.len()..).filter(|left| !left.is_empty()) {
            self.erase_some(left, stretch, &mut erased)?;
        }
        Ok(erased)
    }

    /// Counts what [`Points::erase`] would erase, and changes nothing.
    pub fn count_erased(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        cancel: &Cancel,
    ) -> Result<Vec<Erased>, QueryError> {
        self.cut_all()?;
        let count = |&id: &MetricId| {
            cancel.check()?;
            let _no_cut = self.cutting.lock();
            Ok(self.erase_metric(id, stretch, &mut Work::default())?)
        };
        ids.iter().map(count).collect()
    }

    /// Erases as many of these metrics as one commit takes.
    fn erase_some(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        erased: &mut Vec<Erased>,
    ) -> Result<(), PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let mut position = self.store().snapshot().position().clone();
        let mut work = Work::default();
        for &id in ids.iter().take(COMMIT_METRICS) {
            erased.push(self.erase_metric(id, stretch, &mut work)?);
            if work.slots >= COMMIT_SLOTS {
                break;
            }
        }
        if work.columns.is_empty() {
            return Ok(());
        }
        work.columns.sort_by_key(|(stage, id, ..)| (*stage, *id));
        let mut cut = self.store().begin()?;
        for (stage, id, method, column) in &work.columns {
            cut.put(*stage, *id, *method, column)?;
        }
        position.cut = self.next_cut(position.cut);
        position.marks = self.marks_with(position.marks);
        Ok(cut.commit(position)?)
    }

    /// Goes through every stage that the metric has or had. What an earlier policy wrote would fill the gaps otherwise.
    fn erase_metric(&self, id: MetricId, stretch: Stretch, work: &mut Work) -> Result<Erased, StoreError> {
        let mut erased = Erased::default();
        let Some((current, span)) = self.state(id) else { return Ok(erased) };
        let mut seen: Vec<Stage> = Vec::new();
        for policy_id in [current].into_iter().chain(self.policies().earlier(id).into_iter().rev()) {
            let Some(policy) = self.policies().get(policy_id) else { continue };
            let eraser = Eraser::new(self, id, (policy_id, Arc::clone(&policy)), stretch);
            for (level, &stage) in policy.retention.stages().iter().enumerate() {
                if seen.contains(&stage) {
                    continue;
                }
                seen.push(stage);
                let column = eraser.column(level, span, &mut erased)?;
                if !column.times.is_empty() {
                    work.slots += column.times.len();
                    work.columns.push((stage, id, policy.aggregator, column));
                }
            }
        }
        Ok(erased)
    }
}

/// Looks at one metric under one policy, in the store alone.
struct Eraser<'a> {
    view: View<'a>,
    policy: Arc<Policy>,
    stretch: Stretch,
}

impl<'a> Eraser<'a> {
    fn new(points: &'a Points, id: MetricId, policy: (PolicyId, Arc<Policy>), stretch: Stretch) -> Self {
        let rules = Arc::clone(&policy.1);
        Self { view: View::open_stored(points, policy, vec![id], false), policy: rules, stretch }
    }

    /// The slots of a stage as they are to be written.
    fn column(&self, level: usize, span: Span, erased: &mut Erased) -> Result<Column, StoreError> {
        let stage = self.policy.retention.stages()[level];
        let mut column = Column::default();
        let start = stage.floor(self.stretch.from.max(span.first));
        let until = self.stretch.until.min(span.last.saturating_add(1));
        for piece in SlotRange::between(start, until, stage.step_secs).pieces(PIECE_SLOTS) {
            let Some(stored) = self.view.stored(level, piece, &[0])?.pop() else { continue };
            for at in (0..piece.len).filter(|&at| stored.partial(at).count() > 0) {
                let (slot, there) = (piece.time(at), stored.partial(at));
                let written = if self.stretch.takes(stage, slot) {
                    *if level == 0 { &mut erased.points } else { &mut erased.aggregates } += 1;
                    Partial::EMPTY
                } else if level > 0
                    && u64::from(slot) + u64::from(stage.step_secs) <= self.filled_until(level)
                {
                    let Some(remade) = self.remade(level, slot, there)? else { continue };
                    erased.remade += 1;
                    remade
                } else {
                    continue;
                };
                column.times.push(slot);
                column.values.push(written.value);
                column.counts.extend((level > 0).then_some(written.count));
            }
        }
        Ok(column)
    }

    /// Later slots are made from the finer stage whenever they are read.
    fn filled_until(&self, level: usize) -> u64 {
        u64::from(self.view.mark(level))
    }

    /// What is left of a slot at the edge, if something of it goes and the finer stage has all of its points.
    fn remade(&self, level: usize, slot: u32, there: Partial) -> Result<Option<Partial>, StoreError> {
        let stages = self.policy.retention.stages();
        if !self.stretch.touches(stages[level], slot) {
            return Ok(None);
        }
        let whole = SlotRange { start: slot, step: stages[level].step_secs, len: 1 };
        let (before, after) = self.around(level - 1, self.view.finer(level, whole))?;
        let aggregate = |window: &Window| window.aggregate(whole, self.policy.aggregator).partial(0);
        let (before, after) = (aggregate(&before), aggregate(&after));
        let is_changed = after.count() != before.count();
        Ok(better(there, before).map(|_| after).filter(|_| is_changed))
    }

    /// A window before and after the erasure.
    fn around(&self, level: usize, range: SlotRange) -> Result<(Window, Window), StoreError> {
        let stage = self.policy.retention.stages()[level];
        let before = self.view.read(level, range)?.pop();
        let before = before.unwrap_or_else(|| Window::empty(range, level > 0));
        let mut after = before.clone();
        for at in (0..range.len).filter(|&at| before.partial(at).count() > 0) {
            let slot = range.time(at);
            if self.stretch.takes(stage, slot) {
                after.set(at, Partial::EMPTY);
            } else if level > 0
                && let Some(remade) = self.remade(level, slot, before.partial(at))?
            {
                after.set(at, remade);
            }
        }
        Ok((before, after))
    }
}
