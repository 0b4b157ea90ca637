//! Step 4: points go through the log into memory, are held there, cut into the store, and aggregated into stages.
//!
//! # How a coarse slot stays exact
//!
//! Points wait in the [`head`] until a *cut* writes them to stage 0 of the store. Aggregated stages are filled in later, a
//! run of slots at a time, up to a *mark* ([`crate::store::Mark`]). A reader of stage k takes
//!
//! 1. the slots before the mark from the store,
//! 2. the slots behind the mark by aggregating stage k-1, which is read by the same rule,
//! 3. and any slot before the mark that a point in memory falls into by aggregating stage k-1 again.
//!
//! So a late point counts in every stage from the moment it is accepted, and when it is cut the slots it touched are
//! written anew with it. One function, [`view::View::read`], serves queries, cuts and the filling-in of stages.
//!
//! A point older than stage 0 reaches is merged into the finest stage that does reach it; there it cannot be known
//! whether it replaces another point, so it counts as one more.

mod copy;
mod cut;
mod fetch;
mod fill;
mod head;
mod points;
mod policies;
mod recent;
mod recovery;
mod running;
#[cfg(test)]
mod testing;
mod view;

pub use copy::Copied;
pub use fetch::Series;
pub use points::{Appended, Points, PointsError};
pub use policies::Policies;
pub use recovery::{Names, Opened};
