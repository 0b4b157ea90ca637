//! What a find returns, and why it may fail.

use plumbago_model::glob::GlobError;
use plumbago_model::{Cancelled, MetricId};

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

/// All names that match, sorted. Their texts share one buffer: ten thousand hits are one allocation, not ten thousand.
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
            path: &text[hit.range()],
            leaf: hit.leaf,
            directory: hit.directory,
        })
    }

    /// One metric.
    pub(super) fn one(name: &str, leaf: MetricId) -> Self {
        let hit = Hit { start: 0, len: name.len() as u32, directory: false, leaf: Some(leaf) };
        Self { text: name.to_owned(), hits: vec![hit] }
    }
}

impl Hit {
    fn range(self) -> std::ops::Range<usize> {
        self.start..self.start + self.len as usize
    }
}

/// Hits while they are collected. They are bytes, so that UTF-8 is checked once at the end and not for each hit.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    text: Vec<u8>,
    hits: Vec<Hit>,
}

impl Gathering {
    /// How many there are so far.
    pub(super) fn len(&self) -> usize {
        self.hits.len()
    }

    /// Adds the name that is `parent` (with its dot) and `name` together.
    pub(super) fn push(&mut self, parent: &[u8], name: &[u8], leaf: Option<MetricId>, directory: bool) {
        let start = self.text.len();
        self.text.extend_from_slice(parent);
        self.text.extend_from_slice(name);
        // A path has no more than 64 components, and each is shorter than 64 KiB.
        self.hits.push(Hit { start, len: (self.text.len() - start) as u32, directory, leaf });
    }

    /// Sorts by name and removes duplicates.
    pub(super) fn sort(&mut self) {
        let Self { text, hits } = self;
        hits.sort_by(|a, b| text[a.range()].cmp(&text[b.range()]));
        hits.dedup_by(|a, b| text[a.range()] == text[b.range()]);
    }

    /// What was collected.
    pub(super) fn finish(self) -> Findings {
        let text = String::from_utf8(self.text).expect("components are written from strings");
        Findings { text, hits: self.hits }
    }
}

/// Bounds on one find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindLimits {
    /// Most names it may return: `query.max_find_hits`.
    pub max_hits: usize,
}

/// Why a find failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// More names match than may be returned.
    #[error("`{pattern}` matches more than {limit} names; narrow it, or raise {key}")]
    TooManyHits {
        /// The query.
        pattern: String,
        /// The limit.
        limit: usize,
        /// The key in the configuration that sets it.
        key: &'static str,
    },
    /// It took too long.
    #[error("looking for `{pattern}` took longer than allowed; narrow it, or raise query.find_timeout")]
    Deadline {
        /// The query.
        pattern: String,
    },
    /// A search has too many words.
    #[error("a search takes at most {limit} words and parts of words between dots; leave some out")]
    TooManyWords {
        /// The limit.
        limit: usize,
    },
    /// The client no longer waits for it.
    #[error("the client went away")]
    Abandoned,
    /// The text is not a valid pattern.
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
