//! Dense runs of slots: how stores hand data out.

use super::{Aggregator, Partial};

/// A run of slots of one step: `len` slots, the first starting at `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// Start of the first slot, a multiple of `step`.
    pub start: u32,
    /// Seconds per slot.
    pub step: u32,
    /// Number of slots.
    pub len: usize,
}

impl SlotRange {
    /// The slots that start in `from..until`.
    pub fn between(from: u32, until: u32, step: u32) -> Self {
        let start = u64::from(from).div_ceil(u64::from(step)) * u64::from(step);
        let len = u64::from(until).saturating_sub(start).div_ceil(u64::from(step));
        // A start beyond u32 only happens for an empty range at the end of time.
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), step, len: len as usize }
    }

    /// End of the last slot.
    pub fn end(&self) -> u32 {
        let end = u64::from(self.start) + self.len as u64 * u64::from(self.step);
        u32::try_from(end).unwrap_or(u32::MAX)
    }

    /// Position of the slot that holds `timestamp`, if it is inside.
    pub fn position(&self, timestamp: u32) -> Option<usize> {
        let offset = timestamp.checked_sub(self.start)? / self.step;
        (offset as usize).lt(&self.len).then_some(offset as usize)
    }

    /// The same slots in parts of at most so many.
    pub fn pieces(self, slots: usize) -> impl Iterator<Item = SlotRange> {
        (0..self.len).step_by(slots.max(1)).map(move |at| SlotRange {
            start: self.time(at),
            len: slots.min(self.len - at),
            ..self
        })
    }

    /// Start of the slot at `position`.
    pub fn time(&self, position: usize) -> u32 {
        self.start + position as u32 * self.step
    }
}

/// The slots of one metric in one stage. Missing slots are NaN with count 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Which slots.
    pub range: SlotRange,
    /// One value per slot; NaN where there is none.
    pub values: Vec<f64>,
    /// One count per slot for an aggregated stage; empty for a raw one.
    pub counts: Vec<u32>,
}

impl Window {
    /// All slots missing.
    pub fn empty(range: SlotRange, aggregated: bool) -> Self {
        let counts = if aggregated { vec![0; range.len] } else { Vec::new() };
        Self { range, values: vec![f64::NAN; range.len], counts }
    }

    /// The slot at `position` as a partial aggregate.
    pub fn partial(&self, position: usize) -> Partial {
        let value = self.values[position];
        let count = self.counts.get(position).copied().unwrap_or(u32::from(!value.is_nan()));
        Partial { value, count }
    }

    /// Replaces the slot at `position`.
    pub fn set(&mut self, position: usize, partial: Partial) {
        self.values[position] = partial.value;
        if let Some(count) = self.counts.get_mut(position) {
            *count = partial.count;
        }
    }

    /// Forgets the slots from `position` on.
    pub fn clear_from(&mut self, position: usize) {
        self.values[position..].fill(f64::NAN);
        if let Some(counts) = self.counts.get_mut(position..) {
            counts.fill(0);
        }
    }

    /// True when no slot has a value.
    pub fn is_empty(&self) -> bool {
        self.values.iter().all(|v| v.is_nan())
    }

    /// Aggregates the slots into the coarser slots of `range`; what lies outside of `range` is left out.
    pub fn aggregate(&self, range: SlotRange, method: Aggregator) -> Window {
        let mut coarse = Window::empty(range, true);
        for i in 0..self.values.len() {
            if self.values[i].is_nan() {
                continue;
            }
            if let Some(at) = range.position(self.range.time(i)) {
                coarse.set(at, method.merge(coarse.partial(at), self.partial(i)));
            }
        }
        coarse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_once() {
        let range = SlotRange { start: 600, step: 60, len: 7 };
        let pieces: Vec<SlotRange> = range.pieces(3).collect();
        assert_eq!(
            pieces.iter().map(|piece| (piece.start, piece.len)).collect::<Vec<_>>(),
            [(600, 3), (780, 3), (960, 1)]
        );
        assert_eq!(SlotRange { len: 0, ..range }.pieces(3).count(), 0);
    }

    #[test]
    fn between_takes_the_slots_that_start_inside() {
        let r = SlotRange::between(61, 240, 60);
        assert_eq!((r.start, r.len, r.end()), (120, 2, 240));
        assert_eq!(SlotRange::between(60, 241, 60).len, 4);
        assert_eq!(SlotRange::between(100, 100, 60).len, 0);
        assert_eq!(
            (r.position(119), r.position(120), r.position(239), r.position(240)),
            (None, Some(0), Some(1), None)
        );
    }

    #[test]
    fn aggregate_merges_only_known_slots() {
        let fine = SlotRange::between(0, 60, 10);
        let mut w = Window::empty(fine, false);
        w.values[1] = 4.0;
        w.values[5] = 6.0;
        let coarse = w.aggregate(SlotRange::between(0, 120, 60), Aggregator::Average);
        assert_eq!((coarse.values[0], coarse.counts[0]), (10.0, 2));
        assert_eq!(coarse.counts[1], 0);
    }
}
