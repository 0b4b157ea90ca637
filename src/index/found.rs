//! What a find gives, and why it may give nothing.

use crate::model::glob::GlobError;
use crate::model::{Cancelled, MetricId};

/// A name that matches: a metric, a directory, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name.
    pub path: String,
    /// The metric of this name.
    pub leaf: Option<MetricId>,
    /// Are there metrics below it?
    pub directory: bool,
}

/// Bounds on one find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindLimits {
    /// Most names it may give: `query.max_find_hits`.
    pub max_hits: usize,
}

/// Why a find gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// More names match than may be given.
    #[error("`{pattern}` matches more than {limit} names; narrow it, or raise {key}")]
    TooManyHits {
        /// What was asked for.
        pattern: String,
        /// The limit.
        limit: usize,
        /// The key in the configuration that sets it.
        key: &'static str,
    },
    /// It took too long.
    #[error("looking for `{pattern}` took longer than allowed; narrow it, or raise query.find_timeout")]
    Deadline {
        /// What was asked for.
        pattern: String,
    },
    /// Nobody waits for it any more.
    #[error("the client went away")]
    Abandoned,
    /// The text is no pattern.
    #[error(transparent)]
    BadGlob(#[from] GlobError),
}

impl FindError {
    pub(super) fn too_many(pattern: &str, limits: FindLimits) -> Self {
        let (pattern, limit) = (pattern.to_owned(), limits.max_hits);
        FindError::TooManyHits { pattern, limit, key: "query.max_find_hits" }
    }

    pub(super) fn cancelled(pattern: &str, cancelled: Cancelled) -> Self {
        match cancelled.deadline {
            true => FindError::Deadline { pattern: pattern.to_owned() },
            false => FindError::Abandoned,
        }
    }
}
