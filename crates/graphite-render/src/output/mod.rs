//! What a render answers with, if it is not a picture: series written as text or records.

pub mod csv;
mod document;
pub mod dygraph;
pub mod json;
mod page;
pub mod raw;
pub mod record;
pub mod rickshaw;
pub mod thin;

use std::borrow::Cow;

use crate::series::Series;
pub use document::{Document, Form, Part};

/// A series as an output format sees it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Its name: the `target`.
    pub name: &'a str,
    /// Its tags.
    pub tags: Vec<(String, String)>,
    /// Stamp of the first value.
    pub start: i64,
    /// End of the window as the series states it.
    pub end: i64,
    /// Seconds from one value to the next.
    pub step: i64,
    /// NaN is null.
    pub values: Cow<'a, [f64]>,
}

impl<'a> From<&'a Series> for Line<'a> {
    fn from(series: &'a Series) -> Self {
        Self {
            name: &series.name,
            tags: series.tags.pairs(),
            start: series.start,
            end: series.end,
            step: series.step,
            values: Cow::Borrowed(&series.values),
        }
    }
}

impl<'a> Line<'a> {
    /// All series as they are.
    pub fn all(series: &'a [Series]) -> Vec<Self> {
        series.iter().map(Self::from).collect()
    }

    /// Values and their stamps.
    fn points(&self) -> impl Iterator<Item = (f64, i64)> {
        let (start, step) = (self.start, self.step);
        self.values.iter().zip(0_i64..).map(move |(&value, i)| (value, start + i * step))
    }

    #[cfg(test)]
    fn new(name: &'a str, tags: &[(&str, &str)], start: i64, step: i64, values: &'a [f64]) -> Self {
        let tags = tags.iter().map(|&(tag, value)| (tag.to_owned(), value.to_owned())).collect();
        let end = start + step * values.len() as i64;
        Self { name, tags, start, end, step, values: Cow::Borrowed(values) }
    }
}
