//! The render functions: one family per file, one table of all of them.
//!
//! A function gets series that are already fetched and never sees a store. The few that need their first argument over
//! another window evaluate its expression again through the [`Context`](super::context::Context), and tell the plan about
//! it through [`Row::reach`]. To add a function: write it in its family's file and add a row to [`registry`].

mod alias;
mod arithmetic;
mod as_percent;
mod combine;
mod consolidate_by;
mod derivative;
mod divide;
mod filter;
mod graph;
mod group;
mod invocation;
mod key;
mod legend;
mod letters;
mod line;
mod lists;
mod map_reduce;
mod moving;
mod nulls;
pub(super) mod pattern;
pub mod pie;
mod query;
mod rank;
pub mod registry;
mod row;
mod rows;
mod shift;
mod sliding;
mod sort;
mod substr;
mod summarize;
#[cfg(test)]
pub(crate) mod testing;
mod wildcards;

pub(super) use invocation::Invocation;
pub use row::{Default, Kind, Param, Row};
