//! The view: one consistent read of some metrics, from the store, the points on their way into it, and the points in memory.
//!
//! Queries, cuts and fills all read through a view, so what a cut writes is what a query saw before it. Two things make this hard.
//! A slot may have parts in the store, in the finer stage and in memory at once, and each point must count exactly once;
//! `read_some` applies the rules of [the module](super) in a fixed order for that. And finer data may have expired, so
//! a slot that is aggregated again could lose points: [`better`] decides whether the stored slot knows more.

use std::sync::Arc;

use super::head::Direct;
use super::points::{Memory, Points};
use crate::planted::{Planted, is_planted};
use crate::store::{Snapshot, StoreError};
use plumbago_model::{Aggregator, MetricId, Partial, Point, Policy, PolicyId, SlotRange, Window};

/// Metrics of one policy, as of one moment.
pub(super) struct View<'a> {
    points: &'a Points,
    snapshot: Box<dyn Snapshot>,
    policy_id: PolicyId,
    policy: Arc<Policy>,
    metrics: Vec<MetricId>,
    memory: Vec<InMemory>,
    /// False for metrics that have left the policy: the view then ignores memory and other policies.
    current: bool,
}

/// A metric's points that the snapshot does not have, oldest first.
#[derive(Default)]
struct InMemory {
    points: Vec<Point>,
    direct: Vec<Direct>,
}

impl<'a> View<'a> {
    /// Reads what this server wrote, as cuts and rollups do. Points in memory count only if they are in `from..until`.
    ///
    /// Memory is copied before the snapshot is opened. If a cut commits in between, its points are seen twice, which is
    /// harmless; in the other order they could be missed. The cut's number tells whether the snapshot already has the frozen
    /// points.
    pub(super) fn open(
        points: &'a Points,
        policy: (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
        bounds: (u32, u32),
    ) -> Self {
        Self::open_with(points, policy, metrics, bounds, true, || points.store().snapshot())
    }

    /// The same without the points that no cut has taken yet.
    ///
    /// A cut must leave them out. The next cut writes them, and could not tell that a slot with direct points already had them.
    pub(super) fn open_frozen(
        points: &'a Points,
        policy: (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
        bounds: (u32, u32),
    ) -> Self {
        let takes_live = is_planted(Planted::LivePointsCut);
        Self::open_with(points, policy, metrics, bounds, takes_live, || points.store().snapshot())
    }

    /// Reads what all servers wrote, as queries do.
    pub(super) fn open_shared(
        points: &'a Points,
        policy: (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
        bounds: (u32, u32),
    ) -> Self {
        Self::open_with(points, policy, metrics, bounds, true, || points.store().reader())
    }

    fn open_with(
        points: &'a Points,
        (policy_id, policy): (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
        (from, until): (u32, u32),
        takes_live: bool,
        snapshot: impl FnOnce() -> Box<dyn Snapshot>,
    ) -> Self {
        let mut memory: Vec<InMemory> = metrics.iter().map(|_| InMemory::default()).collect();
        let inside = |t: u32| from <= t && t < until;
        let take = |memory: &mut [InMemory], nth: usize, p: Point| {
            if inside(p.timestamp) {
                memory[nth].points.push(p);
            }
        };
        let take_direct = |found: &mut InMemory, direct: &[Direct]| {
            found.direct.extend(direct.iter().rev().filter(|d| inside(d.point.timestamp)));
        };
        let (walk, frozen) = {
            let held = points.memory();
            let walk = takes_live.then(|| held.live.walk_many(&metrics, |nth, p| take(&mut memory, nth, p)));
            for (id, found) in metrics.iter().zip(&mut memory).filter(|_| takes_live) {
                take_direct(found, held.live.direct(*id));
            }
            (walk, held.frozen.clone())
        };
        // Most of the points are read here, without the lock, so that neither senders nor other readers wait.
        if let Some(walk) = walk {
            walk.finish(|nth, p| take(&mut memory, nth, p));
        }
        let snapshot = snapshot();
        if let Some(frozen) = frozen.filter(|f| f.cut() > snapshot.position().cut) {
            frozen.walk_many(&metrics, |nth, p| take(&mut memory, nth, p));
            for (id, found) in metrics.iter().zip(&mut memory) {
                take_direct(found, frozen.direct(*id));
            }
        }
        for found in &mut memory {
            found.points.reverse();
            found.direct.reverse();
        }
        Self { points, snapshot, policy_id, policy, metrics, memory, current: true }
    }

    /// Reads the store alone, as fills do. `current` is false for metrics that have left the policy: other policies do not
    /// count then.
    ///
    /// A fill must leave out the points in memory. Every later view and the next cut add them to the slot, and could not tell
    /// that the slot already had them.
    pub(super) fn open_stored(
        points: &'a Points,
        (policy_id, policy): (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
        current: bool,
    ) -> Self {
        let memory = metrics.iter().map(|_| InMemory::default()).collect();
        Self { points, snapshot: points.store().snapshot(), policy_id, policy, metrics, memory, current }
    }

    /// Reads what all servers have in the store, without the points in memory.
    pub(super) fn open_delivered(
        points: &'a Points,
        policy: (PolicyId, Arc<Policy>),
        metrics: Vec<MetricId>,
    ) -> Self {
        Self { snapshot: points.store().reader(), ..Self::open_stored(points, policy, metrics, false) }
    }

    /// What it looks at.
    pub(super) fn metrics(&self) -> &[MetricId] {
        &self.metrics
    }

    /// The stage at `level` for all metrics of the view.
    pub(super) fn read(&self, level: usize, range: SlotRange) -> Result<Vec<Window>, StoreError> {
        let all: Vec<usize> = (0..self.metrics.len()).collect();
        self.read_some(level, range, &all, self.current)
    }

    /// What a cut writes to the stage at `level`, where memory touches it.
    ///
    /// As [`View::read`], except after the mark. There a reader adds the aggregate of the finer stage to the stored slot, so a cut
    /// writes only the points that entered this stage directly.
    pub(super) fn read_touched(&self, level: usize, range: SlotRange) -> Result<Vec<Window>, StoreError> {
        let all: Vec<usize> = (0..self.metrics.len()).collect();
        let mut windows = self.stored(level, range, &all)?;
        for (i, window) in windows.iter_mut().enumerate() {
            self.redo_touched(level, i, window, self.current)?;
            self.add_direct(level, i, window);
        }
        Ok(windows)
    }

    /// The stage at `level` as the store has it, for some of the metrics.
    pub(super) fn stored(
        &self,
        level: usize,
        range: SlotRange,
        which: &[usize],
    ) -> Result<Vec<Window>, StoreError> {
        let stage = self.policy.retention.stages()[level];
        let ids: Vec<(MetricId, Aggregator)> =
            which.iter().map(|&i| (self.metrics[i], self.policy.aggregator)).collect();
        self.snapshot.read(stage, &ids, range)
    }

    /// With `earlier`, gaps are filled from the policies that a metric had before.
    fn read_some(
        &self,
        level: usize,
        range: SlotRange,
        which: &[usize],
        earlier: bool,
    ) -> Result<Vec<Window>, StoreError> {
        let mut windows = self.stored(level, range, which)?;
        if level == 0 {
            for (window, &i) in windows.iter_mut().zip(which) {
                for point in &self.memory[i].points {
                    if let Some(at) = range.position(point.timestamp) {
                        window.values[at] = point.value;
                    }
                }
            }
        } else {
            self.add_fresh(level, which, &mut windows, earlier)?;
            for (window, &i) in windows.iter_mut().zip(which) {
                self.redo_touched(level, i, window, earlier)?;
                self.add_direct(level, i, window);
            }
        }
        if earlier {
            self.add_earlier(level, which, &mut windows)?;
        }
        Ok(windows)
    }

    /// Aggregates the slots after the mark from the finer stage.
    fn add_fresh(
        &self,
        level: usize,
        which: &[usize],
        windows: &mut [Window],
        earlier: bool,
    ) -> Result<(), StoreError> {
        let Some(range) = windows.first().map(|w| w.range) else { return Ok(()) };
        let fresh = SlotRange::between(self.mark(level).max(range.start), range.end(), range.step);
        let Some(offset) = range.position(fresh.start).filter(|_| fresh.len > 0) else { return Ok(()) };
        if self.snapshot.settled_until() < u32::MAX {
            // Other writers may have written these slots; their points come in through the finer stage.
            windows.iter_mut().for_each(|window| window.clear_from(offset));
        }
        let finer_range = self.finer(level, fresh);
        // A slot after the mark is in the store for one of two reasons. Either points entered this stage directly: they are merged
        // with the aggregate of the finer stage. Or an earlier policy with the same stage wrote it: then it already has the earlier
        // policy's points, and they must not count again through that policy's other stages.
        let is_begun = |w: &Window| w.counts[offset..].iter().any(|&c| c > 0);
        let begun: Vec<bool> = windows.iter().map(is_begun).collect();
        let (mut plain, mut joined) = (Vec::new(), Vec::new());
        for (at, &i) in which.iter().enumerate() {
            if begun[at] { joined.push((at, i)) } else { plain.push((at, i)) }
        }
        for (group, earlier) in [(plain, earlier), (joined, false)] {
            let members: Vec<usize> = group.iter().map(|&(_, i)| i).collect();
            let finer = if members.is_empty() {
                Vec::new()
            } else {
                self.read_some(level - 1, finer_range, &members, earlier)?
            };
            for (&(at, i), finer) in group.iter().zip(finer) {
                let coarse = finer.aggregate(fresh, self.policy.aggregator);
                let shared = begun[at] && self.shares_finer(level, i);
                for slot in 0..fresh.len {
                    let (stored, fresh) = (windows[at].partial(offset + slot), coarse.partial(slot));
                    let whole = better(stored, fresh).filter(|_| shared);
                    let whole = whole.unwrap_or_else(|| self.policy.aggregator.merge(stored, fresh));
                    windows[at].set(offset + slot, whole);
                }
            }
        }
        Ok(())
    }

    /// Did the metric have an earlier policy with both this stage and the finer one? Then the finer stage has the points that the
    /// earlier policy made the slot from.
    fn shares_finer(&self, level: usize, i: usize) -> bool {
        let Some(pair) = self.policy.retention.stages().get(level - 1..=level) else { return false };
        let policies = self.points.policies();
        let mut earlier = policies.earlier(self.metrics[i]).into_iter().filter_map(|id| policies.get(id));
        earlier.any(|policy| policy.retention.stages().windows(2).any(|other| other == pair))
    }

    /// Aggregates the slots before the mark again that a point in memory falls into.
    fn redo_touched(
        &self,
        level: usize,
        i: usize,
        window: &mut Window,
        earlier: bool,
    ) -> Result<(), StoreError> {
        let memory = &self.memory[i];
        let mark = self.mark(level);
        let finer_direct = memory.direct.iter().filter(|d| d.level < level).map(|d| d.point);
        let touched = memory.points.iter().copied().chain(finer_direct).filter(|p| p.timestamp < mark);
        let mut slots: Vec<usize> = touched.filter_map(|p| window.range.position(p.timestamp)).collect();
        slots.sort_unstable();
        slots.dedup();
        for run in slots.chunk_by(|a, b| a + 1 == *b) {
            let Some(&first) = run.first() else { continue };
            let range =
                SlotRange { start: window.range.time(first), len: run.len(), step: window.range.step };
            let finer = self.read_some(level - 1, self.finer(level, range), &[i], earlier)?;
            let Some(finer) = finer.first() else { continue };
            let coarse = finer.aggregate(range, self.policy.aggregator);
            for (at, &slot) in run.iter().enumerate() {
                let redone = match better(window.partial(slot), coarse.partial(at)) {
                    Some(redone) => redone,
                    None => self.merge_points(level, window, slot, i),
                };
                window.set(slot, redone);
            }
        }
        Ok(())
    }

    /// Adds the new points to the stored slot, for a slot whose finer data has expired in part. Each counts as one more, because
    /// the point that it might replace is no longer known.
    fn merge_points(&self, level: usize, window: &Window, slot: usize, i: usize) -> Partial {
        let raw = self.memory[i].points.iter().map(|&point| (point, Partial::point(point.value)));
        let direct = self.memory[i].direct.iter().filter(|d| d.level < level);
        let direct = direct.map(|d| (d.point, Partial::direct(d.point.value)));
        let in_slot = raw.chain(direct).filter(|(p, _)| window.range.position(p.timestamp) == Some(slot));
        in_slot.fold(window.partial(slot), |all, (_, one)| self.policy.aggregator.merge(all, one))
    }

    /// Adds the points that entered this stage directly.
    fn add_direct(&self, level: usize, i: usize, window: &mut Window) {
        for direct in self.memory[i].direct.iter().filter(|d| d.level == level) {
            if let Some(at) = window.range.position(direct.point.timestamp) {
                let one = Partial::direct(direct.point.value);
                window.set(at, self.policy.aggregator.merge(window.partial(at), one));
            }
        }
    }

    /// Fills slots that are still empty from the policies that a metric had before, the latest first.
    fn add_earlier(&self, level: usize, which: &[usize], windows: &mut [Window]) -> Result<(), StoreError> {
        let own_stage = self.policy.retention.stages()[level];
        for (window, &i) in windows.iter_mut().zip(which) {
            for earlier in self.points.policies().earlier(self.metrics[i]).into_iter().rev() {
                let Some(policy) = self.points.policies().get(earlier) else { continue };
                for (other, stage) in policy.retention.stages().iter().enumerate() {
                    if *stage != own_stage && window.values.iter().any(|v| v.is_nan()) {
                        self.fill_from(&policy, other, self.metrics[i], window)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn fill_from(
        &self,
        policy: &Policy,
        level: usize,
        id: MetricId,
        window: &mut Window,
    ) -> Result<(), StoreError> {
        let stage = policy.retention.stages()[level];
        let (own, other) = (window.range.step, stage.step_secs);
        if !own.is_multiple_of(other) && !other.is_multiple_of(own) {
            return Ok(());
        }
        let range = SlotRange::between(window.range.start, window.range.end(), other);
        for found in self.snapshot.read(stage, &[(id, policy.aggregator)], range)? {
            fill_empty(window, &finished(&found, policy, policy.slots_at(level)), self.policy.aggregator);
        }
        Ok(())
    }

    /// How far the stage at `level` is filled in.
    pub(super) fn mark(&self, level: usize) -> u32 {
        let stored = self.snapshot.position().marks.iter();
        let mut stored = stored.filter(|m| m.policy == self.policy_id && m.level as usize == level);
        let mark = stored.next().map_or_else(|| self.points.first_mark(self.policy_id, level), |m| m.until);
        mark.min(self.settled(level))
    }

    /// The start of the first slot that other writers may not have written yet.
    fn settled(&self, level: usize) -> u32 {
        self.policy.retention.stages()[level].floor(self.snapshot.settled_until())
    }

    /// The slots of the finer stage that make up some slots of the one at `level`.
    pub(super) fn finer(&self, level: usize, coarse: SlotRange) -> SlotRange {
        let step = self.policy.retention.stages()[level - 1].step_secs;
        SlotRange { start: coarse.start, step, len: coarse.len * (coarse.step / step) as usize }
    }
}

/// The recomputed slot, unless it has fewer points than the stored one: then finer data has expired, and the stored slot knows
/// more. A slot with direct points is never replaced, because no finer stage has those points.
pub(super) fn better(stored: Partial, redone: Partial) -> Option<Partial> {
    (redone.count() >= stored.count() && !stored.is_direct()).then_some(redone)
}

/// Turns every slot into one value, which another method can aggregate further.
fn finished(window: &Window, policy: &Policy, slots: u32) -> Window {
    let mut values = window.values.clone();
    if !window.counts.is_empty() {
        for (at, value) in values.iter_mut().enumerate() {
            *value = policy
                .aggregator
                .finish(window.partial(at), slots, policy.x_files_factor)
                .unwrap_or(f64::NAN);
        }
    }
    Window { range: window.range, values, counts: Vec::new() }
}

/// Fills the empty slots of `window` from `found`.
///
/// A coarser slot goes to the slot where it starts, and only if `window` is empty over its whole length. If `window` has
/// anything there, it most likely has the points that the coarse slot was made from, and they would count twice. So a coarser slot that
/// reaches beyond the end of `window` is left out.
fn fill_empty(window: &mut Window, found: &Window, method: Aggregator) {
    let slots = (found.range.step / window.range.step).max(1) as usize;
    let coarse = found.aggregate(window.range, method);
    for at in 0..window.range.len {
        let partial = coarse.partial(at);
        let covered = window.values.get(at..at + slots);
        if partial.count() > 0 && covered.is_some_and(|covered| covered.iter().all(|v| v.is_nan())) {
            // A raw slot has no count to divide by later, so the average is computed here.
            let raw = window.counts.is_empty();
            let value = if raw {
                method.finish(partial, partial.count(), 0.0).unwrap_or(f64::NAN)
            } else {
                partial.value
            };
            window.set(at, Partial { value, count: partial.count() | Partial::DIRECT });
        }
    }
}

/// The memory, locked.
pub(super) type Held<'a> = parking_lot::MutexGuard<'a, Memory>;

#[cfg(test)]
mod tests;
