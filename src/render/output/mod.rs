//! What a render answers with: series written as JSON, CSV or Graphite's raw text.

pub mod csv;
pub mod json;
pub mod raw;

use std::borrow::Cow;

/// A series as an output format sees it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Its name: the `target`.
    pub name: &'a str,
    /// Its tags, sorted by name.
    pub tags: Vec<(&'a str, &'a str)>,
    /// Stamp of the first value.
    pub start: i64,
    /// End of the window as the series states it.
    pub end: i64,
    /// Seconds from one value to the next.
    pub step: i64,
    /// NaN is null.
    pub values: Cow<'a, [f64]>,
}

impl<'a> Line<'a> {
    /// Values and their stamps.
    fn points(&self) -> impl Iterator<Item = (f64, i64)> {
        let (start, step) = (self.start, self.step);
        self.values.iter().zip(0_i64..).map(move |(&value, i)| (value, start + i * step))
    }

    #[cfg(test)]
    fn new(name: &'a str, tags: &[(&'a str, &'a str)], start: i64, step: i64, values: &'a [f64]) -> Self {
        let end = start + step * values.len() as i64;
        Self { name, tags: tags.to_vec(), start, end, step, values: Cow::Borrowed(values) }
    }
}
