//! The storage contract (`plumbago::store`), one test body per sentence, run for every store.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod clustered;
mod embedded;
mod events;
mod metrics;
#[path = "../cassandra/node.rs"]
mod node;
mod points;
#[path = "../server/skip.rs"]
mod skip;

use plumbago::store::{EventStore, MetricStore, PointStore};

/// A store under test. Opening it again must show what was committed.
pub(crate) trait Subject {
    fn points(&self) -> &dyn PointStore;
    fn metrics(&self) -> &dyn MetricStore;
    fn events(&self) -> &dyn EventStore;
    /// Closes the store as a crash would, and opens it again.
    fn reopen(&mut self);
}
