//! The render functions: one family per file, one table of all of them.
//!
//! A function gets series that are already fetched and never sees a store. The few that need their first argument over
//! another window evaluate its expression again through the [`Context`](crate::eval::Context), and tell the plan about
//! it through [`Row::reach`]. To add a function: write it in its family's file and add a row to [`registry`].
//! What the families share, from the reading of arguments to sliding windows, is in [`machinery`].

mod alias;
mod align;
mod arithmetic;
mod as_percent;
mod combine;
mod consolidate_by;
mod derivative;
mod deviation;
mod divide;
mod events;
mod exponential;
mod filter;
mod graph;
mod group;
mod hitcount;
mod holt_winters;
mod legend;
mod letters;
mod line;
mod lists;
mod logarithm;
mod machinery;
mod map_reduce;
mod moving;
mod nulls;
mod percentile;
mod periodic_gaps;
pub mod pie;
mod query;
mod rank;
pub mod registry;
mod regression;
mod rows;
mod shift;
mod sort;
mod substr;
mod summarize;
mod synthetic;
mod time_slice;
mod wildcards;

pub(crate) use machinery::Invocation;
pub use machinery::{Default, Kind, Param, Row};
