//! Copies the points of one metric to another metric of the same policy.
//!
//! Points of stage 0 are accepted for the target as if a sender had sent them. Late points count in every stage, so every slot
//! that stage 0 reaches comes out right, whatever the target had there. Older slots are written unchanged, unless the target's
//! slot was made from more points. Copying twice changes nothing.

use std::sync::Arc;

use super::points::{Points, PointsError};
use super::view::View;
use crate::store::{Column, StoreError};
use plumbago_model::{MetricId, Point, Policy, PolicyId, SlotRange, Span, Stage, Window};

/// Slots read at a time.
const PIECE_SLOTS: usize = 65_536;

/// What was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
}

/// One copy under way.
struct Job {
    source: MetricId,
    /// `None` to count only.
    target: Option<MetricId>,
    policy: (PolicyId, Arc<Policy>),
    from: u32,
    until: u32,
    now: u32,
}

impl Job {
    /// The slots of a stage that are both asked for and within its retention.
    fn range(&self, stage: Stage) -> SlotRange {
        let span = u32::try_from(stage.span_secs()).unwrap_or(u32::MAX);
        SlotRange::between(self.from.max(self.now.saturating_sub(span)), self.until, stage.step_secs)
    }
}

impl Points {
    /// Copies slots that start in `from..until` to a metric of the same policy; without a target it only counts them. A point that
    /// the source gets meanwhile may be left out; the next copy has it.
    pub fn copy(
        &self,
        source: MetricId,
        target: Option<MetricId>,
        (from, until): (u32, u32),
        now: u32,
    ) -> Result<Copied, PointsError> {
        let Some((id, span)) = self.state(source) else { return Ok(Copied::default()) };
        let Some(policy) = self.policies().get(id) else { return Ok(Copied::default()) };
        let until = until.min(span.last.saturating_add(1));
        let job = Job { source, target, policy: (id, policy), from, until, now };
        let points = self.copy_raw(&job)?;
        if target.is_some() {
            self.cut()?;
        }
        let aggregates = self.copy_aggregated(&job)?;
        if let Some(target) = target {
            self.widen(target, Span { first: from.max(span.first), last: until.saturating_sub(1) })?;
        }
        Ok(Copied { points, aggregates })
    }

    fn copy_raw(&self, job: &Job) -> Result<u64, PointsError> {
        let mut count = 0;
        for piece in job.range(job.policy.1.retention.raw()).pieces(PIECE_SLOTS) {
            let window = self.window(job, job.source, 0, piece)?;
            let there = (0..piece.len).filter(|&at| !window.values[at].is_nan());
            let points: Vec<Point> =
                there.map(|at| Point { timestamp: piece.time(at), value: window.values[at] }).collect();
            count += points.len() as u64;
            if let Some(target) = job.target {
                let points: Vec<(MetricId, Point)> =
                    points.into_iter().map(|point| (target, point)).collect();
                self.append(&points, job.now)?;
                if self.wants_cut() {
                    self.cut()?;
                }
            }
        }
        Ok(count)
    }

    fn copy_aggregated(&self, job: &Job) -> Result<u64, PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let mut position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        let (mut slots, mut written) = (0, 0);
        for level in 1..job.policy.1.retention.stages().len() {
            let (found, fuller) = self.fuller(job, level)?;
            slots += found;
            if let Some(target) = job.target.filter(|_| !fuller.times.is_empty()) {
                let stage = job.policy.1.retention.stages()[level];
                cut.put(stage, target, job.policy.1.aggregator, &fuller)?;
                written += fuller.times.len();
            }
        }
        if written > 0 {
            position.cut = self.next_cut(position.cut);
            position.marks = self.marks_with(position.marks);
            cut.commit(position)?;
        }
        Ok(slots)
    }

    /// How many slots the source has in a stage, and those that the target has with fewer points or not at all.
    fn fuller(&self, job: &Job, level: usize) -> Result<(u64, Column), StoreError> {
        let stage = job.policy.1.retention.stages()[level];
        let mut range = job.range(stage);
        // Slots after the mark are not stored: they are computed from the finer stage.
        let filled = SlotRange::between(range.start, self.mark(job.policy.0, level), stage.step_secs);
        range.len = range.len.min(filled.len);
        let (mut slots, mut column) = (0, Column::default());
        for piece in range.pieces(PIECE_SLOTS) {
            let source = self.window(job, job.source, level, piece)?;
            let target = job.target.map(|target| self.window(job, target, level, piece)).transpose()?;
            for at in (0..piece.len).filter(|&at| source.partial(at).count() > 0) {
                slots += 1;
                let there = target.as_ref().map_or(0, |target| target.partial(at).count());
                if source.partial(at).count() > there {
                    column.push_partial(piece.time(at), source.partial(at));
                }
            }
        }
        Ok((slots, column))
    }

    fn window(&self, job: &Job, id: MetricId, level: usize, range: SlotRange) -> Result<Window, StoreError> {
        let view = View::open(self, job.policy.clone(), vec![id], (range.start, range.end()));
        let read = view.read(level, range)?.into_iter().next();
        Ok(read.unwrap_or_else(|| Window::empty(range, level > 0)))
    }

    /// Extends the span of a metric, in memory and in the catalogue.
    fn widen(&self, id: MetricId, span: Span) -> Result<(), PointsError> {
        if span.first <= span.last {
            let whole = self.memory().live.cover(id, span);
            self.catalogue().touch(&[(id, whole)])?;
        }
        Ok(())
    }
}
