//! Commands that look at two servers at once: `compare` shows where their answers differ, `fill` brings what one of them
//! lacks.

mod answer;
mod carrier;
mod compare;
mod dashboard;
mod difference;
mod fill;
mod graphite;
mod ladder;
mod targets;

pub(in crate::cli) use compare::compare;
pub(in crate::cli) use fill::fill;
