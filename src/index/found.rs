//! What a find returns, and why it may fail.

use plumbago_model::{MetricId, QueryError};

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
    #[inline]
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
    #[inline]
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
    #[inline]
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

/// Bounds on one find, and the key that sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindLimits {
    /// Most hits it may return.
    pub(super) max_hits: usize,
    /// What it returns: names or series.
    hits: &'static str,
    key: &'static str,
}

impl FindLimits {
    /// Everything that matches.
    pub const NONE: Self = Self::names(usize::MAX);

    /// A find of names may return `query.max_find_hits`.
    pub const fn names(max_hits: usize) -> Self {
        Self { max_hits, hits: "names", key: "query.max_find_hits" }
    }

    /// A render may need `query.max_series`.
    pub const fn series(max_hits: usize) -> Self {
        Self { max_hits, hits: "series", key: "query.max_series" }
    }

    /// The error of a pattern that matches more.
    pub(super) fn exceeded(self, pattern: &str) -> QueryError {
        let Self { max_hits, hits, key } = self;
        QueryError::Limit(format!(
            "`{pattern}` matches more than {max_hits} {hits}; narrow it, or raise {key}"
        ))
    }
}
