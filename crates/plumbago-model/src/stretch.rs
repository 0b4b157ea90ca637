//! A stretch of time whose points are to be deleted.

use crate::{Stage, StageKind};

/// From the first second on, before the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stretch {
    /// Where it begins.
    pub from: u32,
    /// Where it ends.
    pub until: u32,
}

impl Stretch {
    /// All of time.
    pub const ALL: Self = Self { from: 0, until: u32::MAX };

    /// Does all of a slot lie inside? A point of stage 0 lies where its slot starts.
    pub fn takes(self, stage: Stage, slot: u32) -> bool {
        let length = if stage.kind == StageKind::Raw { 1 } else { stage.step_secs };
        slot >= self.from && u64::from(slot) + u64::from(length) <= u64::from(self.until)
    }

    /// Does a part of a slot lie inside?
    pub fn touches(self, stage: Stage, slot: u32) -> bool {
        u64::from(slot) + u64::from(stage.step_secs) > u64::from(self.from) && slot < self.until
    }

    /// The first slot that lies inside, and where the last one ends that does; `None` if there is none.
    pub fn slots(self, stage: Stage) -> Option<(u32, u32)> {
        let step = u64::from(stage.step_secs);
        let first = u64::from(self.from).div_ceil(step) * step;
        let end = match stage.kind {
            StageKind::Raw => u64::from(self.until).div_ceil(step) * step,
            StageKind::Aggregated => u64::from(self.until) / step * step,
        };
        let end = u32::try_from(end).unwrap_or_else(|_| stage.floor(u32::MAX));
        u32::try_from(first).ok().filter(|&first| first < end).map(|first| (first, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_those_that_it_takes() {
        for stage in ["100*60s_0", "100*60s_aggr"] {
            let stage: Stage = stage.parse().unwrap();
            for (from, until) in [(0, 60), (1, 60), (60, 61), (61, 180), (119, 300), (120, 121), (130, 170)] {
                let stretch = Stretch { from, until };
                let taken: Vec<u32> =
                    (0..10).map(|n| n * 60).filter(|&slot| stretch.takes(stage, slot)).collect();
                let (first, end) = stretch.slots(stage).unwrap_or((0, 0));
                let slots: Vec<u32> = (first..end).step_by(60).collect();
                assert_eq!(slots, taken, "{stretch:?} of {stage}");
            }
        }
    }

    #[test]
    fn it_may_reach_to_the_end_of_time() {
        let hours: Stage = "100*3600s_aggr".parse().unwrap();
        let (_, end) = Stretch { from: 5, until: u32::MAX }.slots(hours).unwrap();
        assert_eq!(end, hours.floor(u32::MAX));
        assert_eq!(Stretch { from: u32::MAX - 1, until: u32::MAX }.slots(hours), None);
    }
}
