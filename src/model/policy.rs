//! A policy: retention, aggregation method and xFilesFactor, as the rules give them to a name.

use super::{Aggregator, Retention};

/// A policy's number in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyId(pub u32);

/// What happens to the points of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The stages.
    pub retention: Retention,
    /// How finer points become coarser ones.
    pub aggregator: Aggregator,
    /// Fraction of points that must be known for an aggregate to be shown, 0 to 1.
    pub x_files_factor: f64,
}

impl Policy {
    /// Stage-0 slots in one slot of the stage at `level`.
    pub fn slots_at(&self, level: usize) -> u32 {
        let stages = self.retention.stages();
        stages.get(level).map_or(1, |s| s.step_secs / stages[0].step_secs)
    }
}
