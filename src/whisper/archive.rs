//! The points of one archive that a reader of whisper would still show.

use plumbago_model::{Point, Stage};

use super::method::Method;

/// One resolution of a file, with its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// Its step and how many points it keeps.
    pub stage: Stage,
    /// How its points were made. The finest archive has the method that it passes on.
    pub method: Method,
    /// Its live points, oldest first: no two in one slot, no value NaN.
    pub points: Vec<Point>,
    /// The oldest slot that it reaches back to.
    pub oldest: u32,
    /// Points that are later than the time of the reading, which are not among `points`.
    pub ahead: u64,
}

/// The slots that a reader of whisper shows of an archive at some time: as many as the archive keeps, up to the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    /// The oldest slot; before 1970 for an archive that reaches back so far.
    pub(super) first: i64,
    /// The present slot.
    pub(super) last: u32,
}

impl Live {
    pub(super) fn at(stage: Stage, now: u32) -> Self {
        let last = stage.floor(now);
        let span = i64::try_from(stage.span_secs()).unwrap_or(i64::MAX);
        Self { first: i64::from(last) - span + i64::from(stage.step_secs), last }
    }

    /// The oldest slot as a time stamp.
    pub(super) fn oldest(&self) -> u32 {
        u32::try_from(self.first).unwrap_or(0)
    }

    pub(super) fn contains(&self, timestamp: u32) -> bool {
        i64::from(timestamp) >= self.first && timestamp <= self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_slots_live_as_the_archive_keeps() {
        let stage: Stage = "6*10s_0".parse().unwrap();
        assert_eq!(Live::at(stage, 1000), Live { first: 950, last: 1000 });
        assert_eq!(Live::at(stage, 1009), Live { first: 950, last: 1000 });
        let live = Live::at(stage, 1009);
        assert_eq!([940, 950, 1000, 1010].map(|t| live.contains(t)), [false, true, true, false]);
        let young = Live::at(stage, 20);
        assert_eq!((young.first, young.oldest()), (-30, 0));
    }
}
