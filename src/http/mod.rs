//! Step 9: the Graphite HTTP API.
//!
//! A request is read into a [`call::Call`] (query string and form body are one), its blocking part runs on
//! [`workers::Workers`] with a deadline, and [`error::Failure`] alone knows the status codes. One file per endpoint. What
//! lies below is reached through [`Backend`] only, so the API can be tested over real sockets with a made-up one.

pub mod browser;
mod call;
mod carbonapi;
mod cardinality;
mod clock;
mod error;
mod events;
mod expand;
mod find;
mod functions;
mod index;
mod info;
mod params;
mod render;
mod reply;
mod request_line;
mod router;
mod serve;
mod tags;
mod trace;
mod transfer;
mod workers;

#[cfg(test)]
mod tests;

pub use serve::serve;

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::config;
use crate::index::{FindError, SharedIndex};
use crate::telemetry::Telemetry;
use graphite_render::Source;
use plumbago_model::{Cancel, Event, EventFilter, EventId, Policy};
use workers::Workers;

/// What the API asks of the server behind it. All methods may block: they are called on threads made for that.
pub trait Backend: Send + Sync + 'static {
    /// Where renders get their series.
    fn source(&self) -> &dyn Source;

    /// Where the metric browser looks.
    fn browse(&self) -> &dyn browser::Browse;

    /// Visits the nodes that match `query`, sorted by path. With a `window` (first and last epoch second) leaves without
    /// data in it are left out; directories stay.
    fn find(
        &self,
        query: &str,
        window: Option<(i64, i64)>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(Node<'_>),
    ) -> Result<(), FindFailure>;

    /// All metric names in order, by asking again and again for up to so many; none when all were given.
    fn names(&self) -> NameStream;

    /// For each of these metrics its policy, where it is known here.
    fn policies(&self, names: &[&str]) -> Vec<Option<Arc<Policy>>> {
        vec![None; names.len()]
    }

    /// All names, where they are all in memory.
    fn index(&self) -> Result<&SharedIndex, FindFailure>;

    /// Makes series that are not there yet. Gives the names they are stored under.
    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, FindFailure>;

    /// Deletes tagged series with their points; those that are not there are no trouble.
    fn delete_series(&self, paths: &[&str]) -> Result<(), FindFailure>;

    /// Records an event. It is durable when this returns.
    fn add_event(&self, event: &Event) -> Result<EventId, EventFailure>;

    /// An event by its id.
    fn event(&self, id: EventId) -> Result<Option<Event>, EventFailure>;

    /// The events that `filter` takes, in the order of time.
    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, EventFailure>;

    /// Returns when every point received before the call is durable and readable; with `settle` it is also in merged
    /// blocks, as it would be after a quiet while.
    fn flush(&self, settle: bool) -> Result<(), String>;

    /// Do queries and writes work? If not, why.
    fn ready(&self) -> Result<(), String>;

    /// The counters as Prometheus text.
    fn prometheus(&self) -> String;
}

/// The names of all metrics, a piece at a time.
pub type NameStream = Box<dyn FnMut(usize) -> Vec<String> + Send>;

/// One node of the metric tree. A name can be a metric and a directory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Full path, without a dot at the end.
    pub path: &'a str,
    /// Is it a metric?
    pub leaf: bool,
    /// Does it hold other nodes?
    pub directory: bool,
    /// First and last second with data, for a leaf that has any.
    pub span: Option<(u32, u32)>,
}

/// The last component of a path.
fn last_component(path: &str) -> &str {
    let begin = memchr::memrchr(b'.', path.as_bytes()).map_or(0, |dot| dot + 1);
    path.get(begin..).unwrap_or(path)
}

/// Why a find gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindFailure {
    /// Too many hits. The text names the limit and the key that sets it.
    #[error("{0}")]
    Limit(String),
    /// The pattern cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// The deadline passed.
    #[error("the find took longer than its deadline")]
    Deadline,
    /// The client went away.
    #[error("the client went away")]
    Abandoned,
    /// The store failed.
    #[error("reading the store failed: {0}")]
    Store(String),
    /// The store is out of reach for now.
    #[error("the store is out of reach: {0}")]
    Away(String),
}

impl From<FindError> for FindFailure {
    fn from(error: FindError) -> Self {
        let text = error.to_string();
        match error {
            FindError::TooManyHits { .. } => FindFailure::Limit(text),
            FindError::Deadline { .. } => FindFailure::Deadline,
            FindError::Abandoned => FindFailure::Abandoned,
            _ => FindFailure::Invalid(text),
        }
    }
}

/// Why an event was not recorded, or events were not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventFailure {
    /// The event is too long. The text names the limit and the key that sets it.
    #[error("{0}")]
    TooLong(String),
    /// Too many events. The text names the limit and the key that sets it.
    #[error("{0}")]
    Limit(String),
    /// The deadline passed.
    #[error("finding events took longer than the deadline")]
    Deadline,
    /// The client went away.
    #[error("the client went away")]
    Abandoned,
    /// The store failed.
    #[error("the store of events failed: {0}")]
    Store(String),
    /// The store is out of reach for now.
    #[error("the store of events is out of reach: {0}")]
    Away(String),
}

/// What all handlers share.
struct Api {
    backend: Arc<dyn Backend>,
    config: Arc<config::Query>,
    telemetry: Arc<Telemetry>,
    workers: Workers,
    timezone: TimeZone,
}
