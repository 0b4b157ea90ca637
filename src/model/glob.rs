//! Graphite's glob patterns.
