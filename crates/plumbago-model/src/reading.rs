//! As what the slots of a series are read.

/// As what the slots of a series are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The value that its aggregation method and xFilesFactor give.
    #[default]
    Value,
    /// The sum of the points, where the method keeps it.
    Sum,
    /// How many points there are.
    Count,
}
