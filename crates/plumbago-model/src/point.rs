//! A point, and a batch of named points as a receiver hands them on.

use super::Arrival;

/// One value at one second. Names are kept apart: see [`Batch`] and `MetricId`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the epoch.
    pub timestamp: u32,
    /// Never NaN: parsers drop NaN values and count them.
    pub value: f64,
}

/// Points with the names they were sent under, borrowed from the receive buffer.
///
/// Names are as they arrived: UTF-8, but not yet normalised or checked. Those of a plaintext line are free of white space;
/// a pickle may bring blanks (in tag values), as carbon allows.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    /// In the order of arrival: for two points in one slot the later entry wins.
    pub entries: Vec<(&'a str, Point)>,
    /// How they came in.
    pub arrival: Arrival,
}

impl<'a> Batch<'a> {
    /// Adds one point.
    pub fn push(&mut self, name: &'a str, point: Point) {
        self.entries.push((name, point));
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when there is nothing to hand on.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
