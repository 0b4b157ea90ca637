//! Commands that look at two servers at once: `compare` shows where their answers differ.

mod answer;
mod compare;
mod dashboard;
mod difference;
mod targets;

pub(in crate::cli) use compare::compare;
