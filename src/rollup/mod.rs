//! Step 4: points go through the log into memory; cuts move them into the store, where they are aggregated into stages.
//!
//! # How a coarse slot stays exact
//!
//! Points wait in the [`head`] until a *cut* writes them to stage 0 of the store. Aggregated stages are filled in later, a
//! run of slots at a time, up to a *mark* ([`crate::store::Mark`]). A reader of stage k takes
//!
//! 1. the slots before the mark from the store,
//! 2. the slots after the mark by aggregating stage k-1, which is read by the same rule,
//! 3. and any slot before the mark that a point in memory falls into by aggregating stage k-1 again.
//!
//! So a late point counts in every stage from the moment it is accepted, and the cut that moves it out of memory rewrites the
//! slots it touched. One function, [`view::View::read`], serves queries, cuts and fills.
//!
//! A point that is too old for stage 0 is merged into the finest stage that reaches it. Nothing there tells whether the point
//! replaces another one, so it counts as one more.

mod copy;
mod cut;
mod deletion;
mod erase;
mod fetch;
mod fill;
mod head;
mod held;
mod load;
mod moves;
mod points;
mod policies;
mod recent;
mod recovery;
mod rename;
mod running;
mod slots;
mod tally;
#[cfg(test)]
mod testing;
mod unload;
mod view;

pub use copy::Copied;
pub use deletion::Deletion;
pub use erase::Erased;
pub use fetch::Series;
pub use held::HeldSlots;
pub use load::{Load, Loaded};
pub use points::{Appended, Points, PointsError};
pub use policies::Policies;
pub use recovery::{Names, Opened};
pub use slots::{PointLimit, Seconds, Slot};
pub use tally::Received;
