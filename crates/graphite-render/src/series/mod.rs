//! A series on its way through the functions, and what can be done with its values.

pub(crate) mod aggregate;
pub(crate) mod consolidate;
mod drawing;
pub(crate) mod normalize;
mod tags;

pub use aggregate::Aggregation;
pub use consolidate::Consolidation;
pub use drawing::Drawing;
pub use tags::Tags;

use std::sync::Arc;

use crate::python::number;
use crate::source::Fetched;

/// Values at regular times, with what the functions and output formats need to know of them.
///
/// Clones share values and tags. A function that changes values does so through [`Series::map`] or replaces them, so
/// nobody else's are touched.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the answer shows as `target`.
    pub name: Arc<str>,
    /// The text that was fetched, or the name that a function gave; aggregates build their names of these.
    pub path_expression: Arc<str>,
    /// Stamp of the first value.
    pub start: i64,
    /// For fetched series the last stamp + step. Functions may leave something else: stamps never go beyond it.
    pub end: i64,
    /// Seconds per value.
    pub step: i64,
    /// NaN is null.
    pub values: Arc<[f64]>,
    /// How several values become one when the series is made coarser.
    pub consolidation: Consolidation,
    /// The part of the values that must be known for a coarser one.
    pub x_files_factor: f64,
    /// Tags, those that functions add included.
    pub tags: Tags,
    /// The values, if they were counted: Python has them as whole numbers and writes them without a point. Void when they
    /// are others by now.
    pub(crate) counts: Option<Arc<[f64]>>,
    /// How to draw it, where a function said so: rare, hence out of the way.
    pub drawing: Option<Box<Drawing>>,
}

impl Series {
    /// A new series that knows nothing of others: its path expression and tags are those of its name.
    pub fn new(
        name: impl Into<Arc<str>>,
        (start, end, step): (i64, i64, i64),
        values: Vec<f64>,
        xff: f64,
    ) -> Self {
        let name: Arc<str> = name.into();
        Self {
            path_expression: Arc::clone(&name),
            tags: Tags::of_name(Arc::clone(&name)),
            name,
            start,
            end,
            step,
            values: values.into(),
            consolidation: Consolidation::default(),
            x_files_factor: xff,
            counts: None,
            drawing: None,
        }
    }

    /// A series as it came from the store.
    pub fn fetched(fetched: Fetched, pattern: Arc<str>, xff: f64) -> Self {
        let Fetched { name, start, end, step, values } = fetched;
        let name: Arc<str> = name.into();
        Self {
            path_expression: pattern,
            tags: Tags::of_name(Arc::clone(&name)),
            name,
            start,
            end,
            step,
            values,
            consolidation: Consolidation::default(),
            x_files_factor: xff,
            counts: None,
            drawing: None,
        }
    }

    /// Says that its values, as they are now, were counted.
    pub fn counted(mut self) -> Self {
        self.mark_counted();
        self
    }

    /// [`Series::counted`] in place.
    pub fn mark_counted(&mut self) {
        self.counts = Some(Arc::clone(&self.values));
    }

    /// Were its values counted?
    pub fn is_counted(&self) -> bool {
        self.counts.as_ref().is_some_and(|counts| Arc::ptr_eq(counts, &self.values))
    }

    /// An aggregate of its values as Python's `str` writes it.
    pub fn aggregate_text(&self, aggregation: Aggregation, value: f64) -> String {
        let is_whole = match aggregation {
            Aggregation::Count => true,
            // The mean of the two in the middle is a fraction to Python, even where nothing is left over.
            Aggregation::Median => self.is_counted() && !self.known().is_multiple_of(2),
            other => self.is_counted() && other.keeps_whole(),
        };
        match value {
            _ if value.is_nan() => "None".to_owned(),
            _ if is_whole => number::whole(value),
            _ => number::repr(value),
        }
    }

    /// Gives the series a name that is its path expression too.
    pub fn rename(&mut self, name: impl Into<Arc<str>>) {
        self.name = name.into();
        self.path_expression = Arc::clone(&self.name);
    }

    /// Changes each value; nulls are handed over as NaN.
    pub fn map(&mut self, change: impl Fn(f64) -> f64) {
        match Arc::get_mut(&mut self.values) {
            Some(values) => values.iter_mut().for_each(|v| *v = change(*v)),
            None => self.values = self.values.iter().map(|&v| change(v)).collect(),
        }
    }

    /// The values, for editing; copied first if anybody else holds them.
    pub fn values_mut(&mut self) -> &mut [f64] {
        Arc::make_mut(&mut self.values)
    }

    /// How to draw it, for setting.
    pub fn drawing_mut(&mut self) -> &mut Drawing {
        self.drawing.get_or_insert_default()
    }

    /// Bytes of its values, if nobody else holds them.
    pub(crate) fn own_value_bytes(&self) -> usize {
        let holders = 1 + usize::from(self.is_counted());
        if Arc::strong_count(&self.values) > holders { 0 } else { size_of_val(&*self.values) }
    }

    /// Bytes of memory that only it takes.
    pub(crate) fn own_bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.own_value_bytes()
    }

    /// Values that are not null.
    pub fn known(&self) -> usize {
        self.values.iter().filter(|v| !v.is_nan()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_counts_until_they_are_changed() {
        let mut counted = Series::new("a", (0, 30, 10), vec![1.0, 2.0, 2.0], 0.0).counted();
        let text = |series: &Series, aggregation: Aggregation| {
            series.aggregate_text(aggregation, aggregation.of(&series.values))
        };
        assert_eq!(text(&counted.clone(), Aggregation::Sum), "5");
        assert_eq!(text(&counted, Aggregation::Median), "2");
        assert_eq!(text(&counted, Aggregation::AvgZero), "1.6666666666666667");
        counted.map(|v| v);
        assert_eq!(
            (text(&counted, Aggregation::Sum), text(&counted, Aggregation::Count)),
            ("5.0".into(), "3".into())
        );
    }

    #[test]
    fn values_that_others_hold_are_not_its_own() {
        let series = Series::new("a", (0, 20, 10), vec![1.0, 2.0], 0.0);
        let alone = series.own_bytes();
        assert_eq!(series.clone().counted().own_value_bytes(), 0);
        let mut other = series.clone();
        assert_eq!((series.own_bytes(), other.own_bytes()), (alone - 16, alone - 16));
        other.map(|v| v + 1.0);
        assert_eq!((series.own_bytes(), other.own_bytes()), (alone, alone));
        assert_eq!(series.counted().own_bytes(), alone);
    }

    #[test]
    fn editing_never_touches_a_clone() {
        let original = Series::new("a", (0, 20, 10), vec![1.0, f64::NAN], 0.0);
        let mut edited = original.clone();
        edited.map(|v| v + 1.0);
        edited.values_mut()[1] = 5.0;
        edited.tags.set("scale", "2.0");
        assert_eq!((&*edited.values, original.values[0]), (&[2.0, 5.0][..], 1.0));
        assert_eq!((original.known(), original.tags.get("scale")), (1, None));
    }
}
