//! What became of points that were handed in together.

use std::collections::BTreeMap;

use super::Reject;

/// How many points were stored, and how many were refused for which reason. Points that rules only gather into aggregates
/// are neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// In the log and readable.
    pub stored: u64,
    /// By the labels of the reasons; none of them zero.
    pub refused: BTreeMap<&'static str, u64>,
}

impl Verdict {
    /// Adds refused points.
    pub fn refuse(&mut self, reason: Reject, points: u64) {
        *self.refused.entry(reason.label()).or_default() += points;
    }
}
