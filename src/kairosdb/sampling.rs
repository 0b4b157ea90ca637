//! The buckets of a range aggregator.

use jiff::tz::TimeZone;

use super::unit::{Length, Unit};

/// How samples are gathered in buckets, and which time the result of one bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The length of a bucket.
    pub length: Length,
    /// Do buckets begin where the calendar says, rather than at the start of the query?
    pub align: bool,
    /// Does a result bear the start of its bucket, rather than the time of the first sample in it?
    pub align_start: bool,
    /// Does it bear the start of the next bucket?
    pub align_end: bool,
}

impl Default for Sampling {
    fn default() -> Self {
        let length = Length { value: 1, unit: Unit::Milliseconds };
        Self { length, align: true, align_start: false, align_end: false }
    }
}

impl Sampling {
    /// The buckets of a query that starts at `start`.
    pub(super) fn buckets<'a>(&self, start: i64, zone: &'a TimeZone) -> Buckets<'a> {
        let origin = if self.align { self.length.unit.floor(zone, start) } else { start };
        Buckets { origin, length: self.length, zone }
    }

    /// The time of a bucket's result.
    pub(super) fn time_of(&self, bucket: &Bucket, first: i64) -> i64 {
        match (self.align_start, self.align_end) {
            (true, _) => bucket.start,
            (false, true) => bucket.end,
            (false, false) => first,
        }
    }
}

/// Stretches of time of one length, from an origin on.
pub(super) struct Buckets<'a> {
    origin: i64,
    length: Length,
    zone: &'a TimeZone,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) start: i64,
    /// Start of the next one.
    pub(super) end: i64,
}

impl Buckets<'_> {
    /// The bucket of a moment. What is earlier than the first belongs to it: a slot that holds the start of the query began before it.
    pub(super) fn of(&self, at: i64) -> Bucket {
        let Length { value, unit } = self.length;
        let at = at.max(self.origin);
        let number = unit.between(self.zone, self.origin, at).div_euclid(value).max(0);
        let edge = |number: i64| unit.add(self.zone, self.origin, number.saturating_mul(value));
        let (start, end) = (edge(number), edge(number.saturating_add(1)));
        Bucket { start, end: end.max(start.saturating_add(1)) }
    }

    /// The number of a moment's bucket.
    pub(super) fn number_of(&self, at: i64) -> i64 {
        let at = at.max(self.origin);
        self.length.unit.between(self.zone, self.origin, at).div_euclid(self.length.value).max(0)
    }
}
