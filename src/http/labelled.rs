//! Series by metric and tags: what the doors of KairosDB and OpenTSDB need from the server, whatever their clients speak.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::CatalogQuery;
use crate::kairosdb::{Read, Tags};
use plumbago_model::{Cancel, QueryError, TagCondition, TagWish, labelled};

/// Reads and deletes series by their metric and tags. All methods may block.
pub trait Labelled {
    /// What the wanted series have from the first millisecond to the last one, both included, in order of time. A series without
    /// anything there may be left out.
    fn read_series(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Read>, QueryError>;

    /// The tags of the wanted series that may have something in that time.
    fn series_tags(
        &self,
        wanted: &Wanted,
        range: (i64, i64),
        cancel: &Cancel,
    ) -> Result<Vec<Tags>, QueryError>;

    /// Deletes what the wanted series have in that time, and those that have nothing else with their names. Gives how many series
    /// were looked at.
    fn erase_series(&self, wanted: &Wanted, range: (i64, i64)) -> Result<usize, QueryError>;

    /// What is known of metrics with tags, as JSON.
    fn catalog(&self, query: &CatalogQuery, cancel: &Cancel) -> Result<Value, QueryError>;
}

/// Which series: those of a metric for which all tests hold.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The metric as it is stored.
    metric: String,
    tests: Vec<TagTest>,
}

/// A test of one tag.
#[derive(Clone, Debug)]
struct TagTest {
    /// Its key as it is stored.
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// One value, as it is stored. The metric is such a tag.
    Is(String),
    /// One of several, as they are stored.
    OneOf(BTreeSet<String>),
    /// None of these.
    NoneOf(BTreeSet<String>),
    /// Any value.
    Present,
    /// There is no such tag.
    Absent,
    /// Tells of a value as it was sent, which is not empty.
    Passes(Pass),
}

/// A test of a value as it was sent.
#[derive(Clone)]
struct Pass(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pass")
    }
}

impl Wanted {
    /// All series of a metric.
    pub fn all(metric: &str) -> Self {
        let metric = labelled::metric(metric).into_owned();
        let test = TagTest { key: "name".to_owned(), test: Test::Is(metric.clone()) };
        Self { metric, tests: vec![test] }
    }

    /// The metric as it is stored.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// All conditions, with that of the metric.
    pub fn conditions(&self) -> Vec<&dyn TagCondition> {
        self.tests.iter().map(|test| test as &dyn TagCondition).collect()
    }

    /// Those whose tag has one of these values.
    #[must_use]
    pub fn one_of<'a>(self, key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        self.with(key, Test::OneOf(stored(values)))
    }

    /// Those whose tag has none of these values.
    #[must_use]
    pub fn none_of<'a>(self, key: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        self.with(key, Test::NoneOf(stored(values)))
    }

    /// Those that have the tag.
    #[must_use]
    pub fn present(self, key: &str) -> Self {
        self.with(key, Test::Present)
    }

    /// Those that do not have it.
    #[must_use]
    pub fn absent(self, key: &str) -> Self {
        self.with(key, Test::Absent)
    }

    /// Those whose value of the tag, as it was sent, matches.
    #[must_use]
    pub fn matching(self, key: &str, pattern: Regex) -> Self {
        self.testing(key, move |value| pattern.is_match(value))
    }

    /// Those whose value of the tag, as it was sent, passes a test.
    #[must_use]
    pub fn testing(self, key: &str, test: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.with(key, Test::Passes(Pass(Arc::new(test))))
    }

    fn with(mut self, key: &str, test: Test) -> Self {
        self.tests.push(TagTest { key: labelled::key(key).into_owned(), test });
        self
    }
}

fn stored<'a>(values: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    values.into_iter().map(|value| labelled::value(value).into_owned()).collect()
}

impl TagCondition for TagTest {
    fn tag(&self) -> &str {
        &self.key
    }

    fn wanted(&self) -> TagWish<'_> {
        match &self.test {
            Test::Is(value) => TagWish::Is(value),
            Test::OneOf(values) => TagWish::OneOf(values),
            Test::Present => TagWish::Present,
            Test::Absent => TagWish::Absent,
            Test::NoneOf(_) | Test::Passes(_) => TagWish::Tested { prefix: "" },
        }
    }

    fn holds(&self, value: &str) -> bool {
        match &self.test {
            Test::Is(wanted) => value == wanted,
            Test::OneOf(values) => values.contains(value),
            Test::NoneOf(values) => !values.contains(value),
            Test::Present => !value.is_empty(),
            Test::Absent => value.is_empty(),
            Test::Passes(Pass(passes)) => !value.is_empty() && passes(&labelled::plain(value)),
        }
    }
}
