//! Metric names: the rules a name must keep, and the canonical form of tagged names.
