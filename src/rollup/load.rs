//! Loading: slots that come from elsewhere, straight into the store.
//!
//! What a metric has stays. Time before its first point is written to the blocks as it comes, in one commit for many metrics.
//! From its first point on a loaded point must not replace one that a sender sent, and aggregated slots that hold both have to be
//! made again. So the points of free slots there are accepted like late ones of a sender, and of an aggregated slot beyond the
//! reach of stage 0 the one that counts more points stays. Loading the same twice changes nothing.
//!
//! Where several servers share a store, a span does not say what others have. So all of a metric that others may have is compared with
//! what is there, and an aggregated slot of which anybody has something stays as it is: its parts are added up.

use std::sync::Arc;

use super::points::{Points, PointsError};
use super::view::View;
use crate::store::{Column, Cut, StoreError};
use plumbago_model::{MetricId, Point, Policy, PolicyId, SlotRange, Span, Window};

/// Slots read at a time.
const PIECE_SLOTS: usize = 65_536;

/// What a metric is to be given: one column per stage of its policy.
pub struct Load {
    /// The metric.
    pub id: MetricId,
    /// From the finest stage to the coarsest; the first has no counts.
    pub columns: Vec<Column>,
    /// Nobody can have anything of it yet.
    pub is_new: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Slots of stage 0 that were written.
    pub points: u64,
    /// Aggregated slots that were written.
    pub aggregates: u64,
    /// Slots that the metric had already.
    pub there: u64,
}

/// A metric that is loaded.
struct Target<'a> {
    load: &'a Load,
    policy: (PolicyId, Arc<Policy>),
    /// Slots before this are nobody's yet.
    free_until: u32,
}

impl Points {
    /// Writes slots of several metrics, by ascending id, and gives what became of them. It is durable when this returns.
    pub fn load(&self, loads: &[Load], now: u32) -> Result<Loaded, PointsError> {
        let targets: Vec<Target<'_>> = loads.iter().filter_map(|load| self.target(load)).collect();
        let mut loaded = Loaded::default();
        self.load_free(&targets, &mut loaded)?;
        for target in &targets {
            self.load_late(target, now, &mut loaded)?;
        }
        self.sync()?;
        Ok(loaded)
    }

    fn target<'a>(&self, load: &'a Load) -> Option<Target<'a>> {
        let (id, span) = self.state(load.id)?;
        let policy = self.policies().get(id)?;
        let coarsest = policy.retention.stages().last()?;
        let free_until = match span {
            _ if !load.is_new && self.is_shared() => 0,
            Span::EMPTY => u32::MAX,
            span => coarsest.floor(span.first),
        };
        Some(Target { load, policy: (id, policy), free_until })
    }

    /// Writes what lies before the first point of each metric, all in one commit.
    fn load_free(&self, targets: &[Target<'_>], loaded: &mut Loaded) -> Result<(), PointsError> {
        let _one_at_a_time = self.cutting.lock();
        // A slot of a metric that the catalogue does not know is nobody's after a crash.
        self.record_names()?;
        let mut position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        let mut spans = Vec::new();
        for target in targets {
            let written = self.put_free(&mut *cut, target, loaded)?;
            spans.extend(written.map(|span| (target.load.id, span)));
        }
        if spans.is_empty() {
            return Ok(());
        }
        position.cut = self.next_cut(position.cut);
        position.marks = self.marks_with(position.marks);
        cut.commit(position)?;
        let whole: Vec<(MetricId, Span)> = {
            let mut memory = self.memory();
            spans.into_iter().map(|(id, span)| (id, memory.live.cover(id, span))).collect()
        };
        Ok(self.catalogue().touch(&whole)?)
    }

    /// Gives the span of what was written.
    fn put_free(
        &self,
        cut: &mut dyn Cut,
        target: &Target<'_>,
        loaded: &mut Loaded,
    ) -> Result<Option<Span>, StoreError> {
        let (policy_id, policy) = &target.policy;
        let mut span = Span::EMPTY;
        for (level, column) in target.load.columns.iter().enumerate() {
            let Some(&stage) = policy.retention.stages().get(level) else { continue };
            // Slots behind the mark follow from the finer stage.
            let mark = if level == 0 { u32::MAX } else { self.mark(*policy_id, level) };
            let free = before(column, target.free_until.min(mark));
            let (Some(&first), Some(&last)) = (free.times.first(), free.times.last()) else { continue };
            cut.put(stage, target.load.id, policy.aggregator, &free)?;
            let written = if level == 0 { &mut loaded.points } else { &mut loaded.aggregates };
            *written += free.times.len() as u64;
            span.cover(first);
            span.cover(last);
        }
        Ok((span != Span::EMPTY).then_some(span))
    }

    /// Adds what lies behind the first point of a metric.
    fn load_late(&self, target: &Target<'_>, now: u32, loaded: &mut Loaded) -> Result<(), PointsError> {
        let Some((raw, coarser)) = target.load.columns.split_first() else { return Ok(()) };
        let points: Vec<(MetricId, Point)> = {
            let free = self.missing(target, 0, raw, loaded)?;
            let point = |(&timestamp, &value)| (target.load.id, Point { timestamp, value });
            free.times.iter().zip(&free.values).map(point).collect()
        };
        loaded.points += self.append(&points, now)?.stored;
        if self.wants_cut() {
            self.cut()?;
        }
        let mut fuller = Vec::new();
        for (nth, column) in coarser.iter().enumerate() {
            fuller.push((nth + 1, self.missing(target, nth + 1, column, loaded)?));
        }
        fuller.retain(|(_, column)| !column.times.is_empty());
        self.put_fuller(target, &fuller, loaded)
    }

    fn put_fuller(
        &self,
        target: &Target<'_>,
        fuller: &[(usize, Column)],
        loaded: &mut Loaded,
    ) -> Result<(), PointsError> {
        if fuller.is_empty() {
            return Ok(());
        }
        let _one_at_a_time = self.cutting.lock();
        let mut position = self.store().snapshot().position().clone();
        let mut cut = self.store().begin()?;
        for (level, column) in fuller {
            let Some(&stage) = target.policy.1.retention.stages().get(*level) else { continue };
            cut.put(stage, target.load.id, target.policy.1.aggregator, column)?;
            loaded.aggregates += column.times.len() as u64;
        }
        position.cut = self.next_cut(position.cut);
        position.marks = self.marks_with(position.marks);
        Ok(cut.commit(position)?)
    }

    /// The slots from the first point of the metric on that it lacks: of stage 0 those without a value, of others those that count
    /// fewer points.
    fn missing(
        &self,
        target: &Target<'_>,
        level: usize,
        column: &Column,
        loaded: &mut Loaded,
    ) -> Result<Column, StoreError> {
        let (policy_id, policy) = &target.policy;
        let mut missing = Column::default();
        let Some(&stage) = policy.retention.stages().get(level) else { return Ok(missing) };
        let begin = column.times.partition_point(|&time| time < target.free_until);
        let mark = if level == 0 { u32::MAX } else { self.mark(*policy_id, level) };
        let end = column.times.partition_point(|&time| time < mark);
        let (Some(&first), Some(&last)) = (column.times.get(begin), column.times.get(end.wrapping_sub(1)))
        else {
            return Ok(missing);
        };
        let range = SlotRange::between(stage.floor(first), last.saturating_add(1), stage.step_secs);
        let is_shared = self.is_shared();
        let mut at = begin;
        for piece in range.pieces(PIECE_SLOTS) {
            let window = self.present(target, level, piece)?;
            while let Some(&time) = column.times.get(at).filter(|&&time| at < end && time < piece.end()) {
                let there = piece.position(time).map_or(0, |slot| window.partial(slot).count());
                let count = column.counts.get(at).map_or(1, |count| count & !plumbago_model::Partial::DIRECT);
                if there == 0 || (there < count && !is_shared) {
                    missing.times.push(time);
                    missing.values.extend(column.values.get(at));
                    missing.counts.extend(column.counts.get(at));
                } else {
                    loaded.there += 1;
                }
                at += 1;
            }
        }
        Ok(missing)
    }

    fn present(&self, target: &Target<'_>, level: usize, piece: SlotRange) -> Result<Window, StoreError> {
        let bounds = (piece.start, piece.end());
        let view = View::open_shared(self, target.policy.clone(), vec![target.load.id], bounds);
        let read = view.read(level, piece)?.into_iter().next();
        Ok(read.unwrap_or_else(|| Window::empty(piece, level > 0)))
    }
}

/// The slots of a column before a time.
fn before(column: &Column, time: u32) -> Column {
    let end = column.times.partition_point(|&slot| slot < time);
    let counts = if column.counts.is_empty() { 0 } else { end };
    Column {
        times: column.times[..end].to_vec(),
        values: column.values[..end].to_vec(),
        counts: column.counts[..counts].to_vec(),
    }
}

#[cfg(test)]
mod tests;
