//! Fills in aggregated stages, and drops what is past its retention.
//!
//! A fill computes finished slots by the same view as a query and moves the mark behind them, in one commit. Until then every
//! query computes them from the finer stage. So a fill never changes an answer: it can wait for a convenient number of slots,
//! and a crash before its commit only means that the next one does the work.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::points::{Points, PointsError};
use super::view::View;
use crate::planted::{Planted, is_planted};
use crate::store::{Column, Cut, Mark, StoreError};
use plumbago_model::{MetricId, Policy, PolicyId, SlotRange, Stage};

/// Slots filled in by one commit. After a long stop there are many, and the finer stage is read in pieces that fit into memory.
pub(super) const PIECE_SLOTS: u32 = 512;
/// A slot waits this long after its end, so that most late points are in before it is written.
const GRACE_SECS: u32 = 60;
/// Metrics aggregated together.
pub(super) const BATCH: usize = 64;

impl Points {
    /// Fills in the aggregated stages that have enough finished slots. Returns the number of stages moved forward.
    pub fn fill(&self, now: u32) -> Result<u64, PointsError> {
        let mut moved = 0;
        for (id, policy) in self.policies().all() {
            for level in 1..policy.retention.stages().len() {
                let stages = policy.retention.stages();
                let (finer, stage) = (stages[level - 1], stages[level]);
                let target = stage.floor(now.saturating_sub(GRACE_SECS));
                // Until it is filled in, a stage is computed from the finer one, and what that has dropped cannot be filled in any more.
                // A short finer stage must therefore not wait for as many slots as the store would like.
                let quarter = u32::try_from(finer.span_secs() / 4).unwrap_or(u32::MAX) / stage.step_secs;
                let due = self.store().fill_slots(stage).min(quarter).max(1);
                if target.saturating_sub(self.mark(id, level)) / stage.step_secs >= due {
                    self.fill_to(id, &policy, level, target)?;
                    moved += 1;
                }
            }
        }
        Ok(moved)
    }

    /// Fills in everything of a policy, including the current slots, because its metrics are about to leave it.
    pub fn settle(&self, id: PolicyId, now: u32) -> Result<(), PointsError> {
        let Some(policy) = self.policies().get(id) else { return Ok(()) };
        for (level, stage) in policy.retention.stages().iter().enumerate().skip(1) {
            self.fill_to(id, &policy, level, stage.floor(now) + stage.step_secs)?;
        }
        Ok(())
    }

    /// Drops partitions whose retention has passed for every metric. Returns the number dropped.
    ///
    /// A stage is kept one slot of the next stage longer, and until the next stage is filled in: the oldest point that is
    /// still accepted may touch that slot, and aggregating the slot again needs all of its finer data. Whether a point is too old
    /// is decided when it is accepted, but its slot is aggregated again only at the next cut. So retention is counted
    /// from the earliest acceptance of what is in memory, not from now.
    pub fn expire(&self, now: u32) -> Result<u64, PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let now = self.memory().accepted_since().map_or(now, |since| since.min(now));
        let mut bounds: BTreeMap<Stage, u32> = BTreeMap::new();
        for (id, policy) in self.policies().all() {
            let stages = policy.retention.stages();
            for (level, &stage) in stages.iter().enumerate() {
                let next = stages.get(level + 1);
                let kept = stage.span_secs() + next.map_or(0, |next| u64::from(next.step_secs));
                let past = u32::try_from(u64::from(now).saturating_sub(kept)).unwrap_or(0);
                let waits = next.filter(|_| !is_planted(Planted::ExpiredUnfilled));
                let before = waits.map_or(past, |_| past.min(self.mark(id, level + 1)));
                // Policies may share a stage: it is kept for the one that needs it longest.
                bounds.entry(stage).and_modify(|bound| *bound = before.min(*bound)).or_insert(before);
            }
        }
        let mut dropped = 0;
        for (stage, before) in bounds {
            dropped += self.store().expire(stage, before)?;
        }
        Ok(dropped)
    }

    pub(super) fn mark(&self, id: PolicyId, level: usize) -> u32 {
        let snapshot = self.store().snapshot();
        let mut marks = snapshot.position().marks.iter();
        let stored = marks.find(|m| m.policy == id && m.level as usize == level).map(|m| m.until);
        stored.unwrap_or_else(|| self.first_mark(id, level))
    }

    fn fill_to(
        &self,
        id: PolicyId,
        policy: &Arc<Policy>,
        level: usize,
        target: u32,
    ) -> Result<(), PointsError> {
        let piece = PIECE_SLOTS.saturating_mul(policy.retention.stages()[level].step_secs);
        loop {
            let begin = self.mark(id, level);
            self.fill_piece(id, policy, level, target.min(begin.saturating_add(piece)))?;
            if self.mark(id, level) >= target {
                return Ok(());
            }
        }
    }

    fn fill_piece(
        &self,
        id: PolicyId,
        policy: &Arc<Policy>,
        level: usize,
        target: u32,
    ) -> Result<(), PointsError> {
        let _one_at_a_time = self.cutting.lock();
        let stage = policy.retention.stages()[level];
        let begin = self.mark(id, level);
        let range = SlotRange::between(begin, target, stage.step_secs);
        let mut position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        let (current, former) = self.members(id);
        let mut all: Vec<(MetricId, bool)> = current.into_iter().map(|m| (m, true)).collect();
        all.extend(former.into_iter().map(|m| (m, false)));
        all.sort_unstable();
        for batch in all.chunk_by(|a, b| a.1 == b.1).flat_map(|run| run.chunks(BATCH)) {
            self.fill_batch(&mut *cut, (id, Arc::clone(policy)), level, batch, range)?;
        }
        position.cut = self.next_cut(position.cut);
        position.marks = self.marks_with(position.marks);
        position.marks.retain(|m| !(m.policy == id && m.level as usize == level));
        position.marks.push(Mark { policy: id, level: level as u32, until: target.max(begin) });
        cut.commit(position)?;
        Ok(())
    }

    /// The number of a commit that follows `last`.
    ///
    /// A failed cut already has its number. It gets a new one, because its points must come after those of this commit. By
    /// these numbers a view tells whether a snapshot already has the frozen points.
    pub(super) fn next_cut(&self, last: u64) -> u64 {
        if let Some(frozen) = &self.memory().frozen {
            frozen.renumber(last + 2);
        }
        last + 1
    }

    fn fill_batch(
        &self,
        cut: &mut dyn Cut,
        policy: (PolicyId, Arc<Policy>),
        level: usize,
        batch: &[(MetricId, bool)],
        range: SlotRange,
    ) -> Result<(), StoreError> {
        let ids: Vec<MetricId> = batch.iter().map(|&(id, _)| id).collect();
        let stage = policy.1.retention.stages()[level];
        let method = policy.1.aggregator;
        let current = batch.first().is_some_and(|&(_, current)| current);
        let view = View::open_stored(self, policy, ids, current);
        each_column(&view, level, range, &mut |id, column| cut.put(stage, id, method, column))
    }

    /// The metrics that have a policy, and those that had it before.
    fn members(&self, id: PolicyId) -> (Vec<MetricId>, Vec<MetricId>) {
        let former = self.policies().former_metrics(id);
        let memory = self.memory();
        let all = (0..memory.live.id_bound()).map(MetricId);
        let has = |m: &MetricId| memory.live.state(*m).is_some_and(|s| s.policy == id);
        (all.filter(has).collect(), former.into_iter().filter(|m| !has(m)).collect())
    }
}

/// The slots of a stage that hold something, metric by metric.
pub(super) fn each_column(
    view: &View<'_>,
    level: usize,
    range: SlotRange,
    visit: &mut dyn FnMut(MetricId, &Column) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut column = Column::default();
    for (&id, window) in view.metrics().iter().zip(view.read(level, range)?) {
        column.clear();
        for at in 0..range.len {
            let partial = window.partial(at);
            if partial.count() > 0 {
                column.push_partial(range.time(at), partial);
            }
        }
        if !column.times.is_empty() {
            visit(id, &column)?;
        }
    }
    Ok(())
}
