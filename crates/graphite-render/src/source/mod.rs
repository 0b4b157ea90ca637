//! Where the render engine gets its series: the one door between evaluation and everything below it.
//!
//! Implement [`Source`] for a store of your own, or fill a [`MemorySource`].

mod memory;
mod tag_query;

pub use memory::MemorySource;
pub use tag_query::{TagQuery, TagQueryError, anchored};

use std::sync::Arc;

use crate::error::RenderError;
use crate::grammar::Tagged;
use crate::request::TimeRange;
use plumbago_model::{Cancel, EventFilter, QueryError};

/// One path expression to fetch over one window.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FetchRequest {
    /// The path with its wildcards, in which a backslash makes the next character a plain one; or the text of a `seriesByTag(...)` call.
    pub pattern: String,
    /// Of such a call what it asks for; all that counts then.
    pub tags: Option<TagQuery>,
    /// Start of the window in epoch seconds, exclusive.
    pub from: i64,
    /// End of the window in epoch seconds, inclusive.
    pub until: i64,
    /// The clock the request runs by; decides which stage still covers `from`.
    pub now: i64,
}

impl FetchRequest {
    /// The series of a path.
    pub fn path(pattern: &str, TimeRange { from, until }: TimeRange, now: i64) -> Self {
        Self { pattern: pattern.to_owned(), tags: None, from, until, now }
    }

    /// The series that have some tags.
    pub fn tagged(
        tagged: &Tagged,
        TimeRange { from, until }: TimeRange,
        now: i64,
    ) -> Result<Self, RenderError> {
        let tags = TagQuery::new(&tagged.conditions);
        let tags = tags.map_err(|error| RenderError::invalid(format!("seriesByTag: {error}")))?;
        Ok(Self { pattern: tagged.text.clone(), tags: Some(tags), from, until, now })
    }
}

/// One stored series over a window.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Full metric name.
    pub name: String,
    /// First time stamp: `from - from % step + step`.
    pub start: i64,
    /// Last time stamp + step.
    pub end: i64,
    /// Seconds per value.
    pub step: i64,
    /// NaN is null.
    pub values: Arc<[f64]>,
}

/// Series by path expression.
pub trait Source: Send + Sync {
    /// For each request the matching series, sorted by name. A pattern that matches nothing, or whose metrics cannot
    /// have data in the window, gives an empty list. The calls of one batch may run in parallel.
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError>;

    /// The seconds of the events that `filter` takes, ascending; a second appears once for each of its events. A source
    /// need not have any.
    fn event_times(&self, _filter: &EventFilter, _cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        Ok(Vec::new())
    }
}
