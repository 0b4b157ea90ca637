//! Why a query has no answer: one error for everything that reads.
//!
//! Index, points, events, tags and render all fail in the same few ways. They share this type, so that a failure keeps its
//! kind on its way up, and one place (the HTTP API) decides what a client sees of it.

use std::error::Error;

use super::cancel::Cancelled;
use super::glob::GlobError;

/// What a store or a driver said. It stays the source of the error.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The answer needs more than a limit allows. The text names the limit and the key that sets it.
    #[error("{0}")]
    Limit(String),
    /// There is too much of something already; the same can succeed later. The text says of what.
    #[error("{0}")]
    TooMuch(String),
    /// The query needs more memory than one query may have. The text has the figure and the key.
    #[error("{0}")]
    Memory(String),
    /// All queries together have the memory that there is. The same query can succeed later.
    #[error("{0}")]
    Crowded(String),
    /// The query cannot be understood, or cannot be answered as it is asked. The text says why.
    #[error("{0}")]
    Invalid(String),
    /// It is not for this caller. The text says why.
    #[error("{0}")]
    Forbidden(String),
    /// The deadline passed.
    #[error("the query took longer than its deadline")]
    Deadline,
    /// The client went away.
    #[error("the client went away")]
    Abandoned,
    /// The store is out of reach for now; the same query can succeed later.
    #[error("the store is out of reach: {0}")]
    Away(#[source] Cause),
    /// The store failed.
    #[error("reading the store failed: {0}")]
    Store(#[source] Cause),
}

impl QueryError {
    /// A query that cannot be understood; `reason` says why.
    pub fn invalid(reason: impl ToString) -> Self {
        QueryError::Invalid(reason.to_string())
    }
}

impl From<Cancelled> for QueryError {
    fn from(cancelled: Cancelled) -> Self {
        if cancelled.deadline { QueryError::Deadline } else { QueryError::Abandoned }
    }
}

impl From<GlobError> for QueryError {
    fn from(error: GlobError) -> Self {
        QueryError::invalid(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_said_stays_readable_and_reachable() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = QueryError::Store(full.into());
        assert_eq!(error.to_string(), "reading the store failed: no storage space");
        let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::StorageFull));
    }

    #[test]
    fn work_that_was_given_up_says_by_whom() {
        assert!(matches!(QueryError::from(Cancelled { deadline: true }), QueryError::Deadline));
        assert!(matches!(QueryError::from(Cancelled { deadline: false }), QueryError::Abandoned));
    }
}
