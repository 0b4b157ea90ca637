//! What is known of a metric.

use super::PolicyId;

/// A metric's handle inside this process and its store: dense, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId(pub u32);

impl MetricId {
    /// The handle as an index into per-metric tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A metric as the catalogue keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricRecord {
    /// Its handle.
    pub id: MetricId,
    /// Its canonical name.
    pub name: String,
    /// The policies it has had, oldest first; the last one is in force. Never empty.
    pub policies: Vec<PolicyId>,
    /// When it has data.
    pub span: Span,
}

/// The first and last second for which a metric has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Earliest second with data; `u32::MAX` while there is none.
    pub first: u32,
    /// Latest second with data; 0 while there is none.
    pub last: u32,
}

impl Span {
    /// No data yet.
    pub const EMPTY: Span = Span { first: u32::MAX, last: 0 };

    /// Widens the span to hold `timestamp`.
    pub fn cover(&mut self, timestamp: u32) {
        self.first = self.first.min(timestamp);
        self.last = self.last.max(timestamp);
    }

    /// Does any second in `from..=until` lie between first and last?
    pub fn overlaps(&self, from: u32, until: u32) -> bool {
        self.first <= until && self.last >= from
    }
}
