//! Commands that look at two servers at once: `compare` shows where their answers differ, `fill` brings what one of them
//! lacks, `copy --to` takes metrics from one to the other.

mod compare;
mod dashboard;
mod difference;
mod fill;
mod graphite;
mod ladder;
mod targets;
mod transfer;

pub(in crate::cli) use compare::compare;
pub(in crate::cli) use fill::fill;
pub(super) use transfer::transfer;
