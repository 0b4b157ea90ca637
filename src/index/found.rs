//! What a find gives, and why it may give nothing.

use crate::model::glob::GlobError;
use crate::model::{Cancelled, MetricId};

/// A name that matches: a metric, a directory, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The name.
    pub path: &'a str,
    /// The metric of this name.
    pub leaf: Option<MetricId>,
    /// Are there metrics below it?
    pub directory: bool,
}

/// All names that match, sorted. Their texts stand in one buffer: ten thousand hits are one allocation, not ten thousand.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    text: String,
    hits: Vec<Hit>,
}

#[derive(Clone, Copy, Debug)]
struct Hit {
    start: usize,
    len: u32,
    directory: bool,
    leaf: Option<MetricId>,
}

impl Findings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// True when nothing matched.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Bytes of all names together.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Found<'_>> {
        let text = &self.text;
        self.hits.iter().map(move |hit| Found {
            path: hit.path(text),
            leaf: hit.leaf,
            directory: hit.directory,
        })
    }

    /// Adds the name that is `parent` (with its dot) and `name` together.
    pub(super) fn push(&mut self, parent: &str, name: &str, leaf: Option<MetricId>, directory: bool) {
        let start = self.text.len();
        self.text.push_str(parent);
        self.text.push_str(name);
        // A path has no more than 64 components, and each is shorter than 64 KiB.
        self.hits.push(Hit { start, len: (self.text.len() - start) as u32, directory, leaf });
    }

    /// Sorts by name and leaves each name once.
    pub(super) fn sort(&mut self) {
        let Self { text, hits } = self;
        hits.sort_by(|a, b| a.path(text).cmp(b.path(text)));
        hits.dedup_by(|a, b| a.path(text) == b.path(text));
    }
}

impl Hit {
    fn path(self, text: &str) -> &str {
        &text[self.start..self.start + self.len as usize]
    }
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
