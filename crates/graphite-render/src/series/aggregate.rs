//! Aggregation functions by name: over the values of one series, and over the rows of many.

use std::sync::Arc;

use crate::error::RenderError;

/// An aggregation function. Nulls are left out, except where a variant says otherwise; nothing but nulls gives null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Mean.
    Average,
    /// Mean with nulls as zeros.
    AvgZero,
    /// Middle value, or the mean of the two middle ones.
    Median,
    /// Sum.
    Sum,
    /// Least.
    Min,
    /// Greatest.
    Max,
    /// The first less all others.
    Diff,
    /// Population standard deviation.
    Stddev,
    /// Number of known values.
    Count,
    /// Greatest less least.
    Range,
    /// Product; null if any is null.
    Multiply,
    /// The last known one.
    Last,
}

impl Aggregation {
    /// Every name that is understood, short forms included, in alphabetical order.
    pub const NAMES: [&'static str; 16] = [
        "average", "avg", "avg_zero", "count", "current", "diff", "last", "max", "median", "min", "multiply",
        "range", "rangeOf", "stddev", "sum", "total",
    ];

    /// By name; an unknown one is an error in graphite-web's words.
    pub fn named(name: &str) -> Result<Self, RenderError> {
        Self::find(name)
            .ok_or_else(|| RenderError::invalid(format!("Unsupported aggregation function: {name}")))
    }

    /// By name, or `sumSeries` for `sum`. The name without the suffix comes back as well.
    pub fn named_series(name: &str) -> Result<(Self, &str), RenderError> {
        let short = name.strip_suffix("Series").unwrap_or(name);
        let found = Self::find(short);
        let found =
            found.ok_or_else(|| RenderError::invalid(format!("Unsupported aggregation function: {name}")))?;
        Ok((found, short))
    }

    fn find(name: &str) -> Option<Self> {
        Some(match name {
            "average" | "avg" => Aggregation::Average,
            "avg_zero" => Aggregation::AvgZero,
            "median" => Aggregation::Median,
            "sum" | "total" => Aggregation::Sum,
            "min" => Aggregation::Min,
            "max" => Aggregation::Max,
            "diff" => Aggregation::Diff,
            "stddev" => Aggregation::Stddev,
            "count" => Aggregation::Count,
            "range" | "rangeOf" => Aggregation::Range,
            "multiply" => Aggregation::Multiply,
            "last" | "current" => Aggregation::Last,
            _ => return None,
        })
    }

    /// Does it make whole numbers of whole numbers, to Python? The median does of an odd number of them.
    pub fn keeps_whole(self) -> bool {
        use Aggregation::{Average, AvgZero, Median, Stddev};
        !matches!(self, Average | AvgZero | Median | Stddev)
    }

    /// Over some values. NaN when there is no result.
    pub fn of(self, values: &[f64]) -> f64 {
        let known = || values.iter().copied().filter(|v| !v.is_nan());
        let count = known().count();
        if count == 0 {
            // Python's len of nothing is 0, and so is the mean of zeros. All others have no answer.
            let zero = self == Aggregation::Count || (self == Aggregation::AvgZero && !values.is_empty());
            return if zero { 0.0 } else { f64::NAN };
        }
        // From zero upwards, in order: the same rounding as Python's sum.
        let sum = || known().fold(0.0, |sum, v| sum + v);
        match self {
            Aggregation::Average => sum() / count as f64,
            Aggregation::AvgZero => sum() / values.len() as f64,
            Aggregation::Median => median(&mut known().collect::<Vec<_>>()),
            Aggregation::Sum => sum(),
            Aggregation::Min => known().fold(f64::NAN, f64::min),
            Aggregation::Max => known().fold(f64::NAN, f64::max),
            Aggregation::Diff => {
                let mut rest = known();
                let first = rest.next().unwrap_or(f64::NAN);
                rest.fold(first, |diff, v| diff - v)
            }
            Aggregation::Stddev => {
                let mean = sum() / count as f64;
                (known().fold(0.0, |sum, v| sum + (v - mean) * (v - mean)) / count as f64).sqrt()
            }
            Aggregation::Count => count as f64,
            Aggregation::Range => known().fold(f64::NAN, f64::max) - known().fold(f64::NAN, f64::min),
            Aggregation::Multiply => values.iter().fold(1.0, |product, v| product * v),
            Aggregation::Last => known().next_back().unwrap_or(f64::NAN),
        }
    }

    /// Over each row of some columns; a shorter column counts as null beyond its end. A row counts when at least one of
    /// its values is known, and known / columns reaches the xFilesFactor.
    ///
    /// Column by column over contiguous memory: no row is ever put together, except for the median.
    pub fn rows(self, columns: &[Arc<[f64]>], xff: f64) -> Vec<f64> {
        let rows = columns.iter().map(|c| c.len()).max().unwrap_or(0);
        let mut counts = vec![0_u32; rows];
        for column in columns {
            for (count, v) in counts.iter_mut().zip(column.iter()) {
                *count += u32::from(!v.is_nan());
            }
        }
        let mut result = self.accumulate(columns, &counts);
        let total = columns.len() as f64;
        for (value, &count) in result.iter_mut().zip(&counts) {
            if count == 0 || f64::from(count) / total < xff {
                *value = f64::NAN;
            }
        }
        result
    }

    fn accumulate(self, columns: &[Arc<[f64]>], counts: &[u32]) -> Vec<f64> {
        let rows = counts.len();
        let divided = |mut acc: Vec<f64>, by: &dyn Fn(u32) -> f64| {
            acc.iter_mut().zip(counts).for_each(|(v, &count)| *v /= by(count));
            acc
        };
        match self {
            Aggregation::Sum => sums(columns, rows),
            Aggregation::Average => divided(sums(columns, rows), &f64::from),
            Aggregation::AvgZero => divided(sums(columns, rows), &|_| columns.len() as f64),
            Aggregation::Count => counts.iter().copied().map(f64::from).collect(),
            // f64::min and max drop a NaN on either side.
            Aggregation::Min => fold(columns, rows, f64::NAN, f64::min),
            Aggregation::Max => fold(columns, rows, f64::NAN, f64::max),
            Aggregation::Range => {
                let least = fold(columns, rows, f64::NAN, f64::min);
                fold(columns, rows, f64::NAN, f64::max)
                    .iter()
                    .zip(least)
                    .map(|(max, min)| max - min)
                    .collect()
            }
            Aggregation::Last => fold(columns, rows, f64::NAN, |last, v| if v.is_nan() { last } else { v }),
            Aggregation::Diff => fold(columns, rows, f64::NAN, |diff, v| match (diff.is_nan(), v.is_nan()) {
                (true, _) => v,
                (false, true) => diff,
                (false, false) => diff - v,
            }),
            Aggregation::Multiply => {
                let mut acc = fold(columns, rows, 1.0, |product, v| product * v);
                for column in columns {
                    acc.iter_mut().skip(column.len()).for_each(|v| *v = f64::NAN);
                }
                acc
            }
            Aggregation::Stddev => deviations(columns, counts),
            Aggregation::Median => medians(columns, rows),
        }
    }
}

fn fold(columns: &[Arc<[f64]>], rows: usize, from: f64, step: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut result = vec![from; rows];
    for column in columns {
        for (acc, &v) in result.iter_mut().zip(column.iter()) {
            *acc = step(*acc, v);
        }
    }
    result
}

/// The hot loop of dashboards. Adding 0.0 for a null keeps it free of branches.
fn sums(columns: &[Arc<[f64]>], rows: usize) -> Vec<f64> {
    let mut acc = vec![0.0; rows];
    for column in columns {
        for (sum, &v) in acc.iter_mut().zip(column.iter()) {
            *sum += if v.is_nan() { 0.0 } else { v };
        }
    }
    acc
}

fn deviations(columns: &[Arc<[f64]>], counts: &[u32]) -> Vec<f64> {
    let mut means = sums(columns, counts.len());
    means.iter_mut().zip(counts).for_each(|(mean, &count)| *mean /= f64::from(count));
    let mut squares = vec![0.0; counts.len()];
    for column in columns {
        for ((square, mean), &v) in squares.iter_mut().zip(&means).zip(column.iter()) {
            *square += if v.is_nan() { 0.0 } else { (v - mean) * (v - mean) };
        }
    }
    squares.iter().zip(counts).map(|(square, &count)| (square / f64::from(count)).sqrt()).collect()
}

fn medians(columns: &[Arc<[f64]>], rows: usize) -> Vec<f64> {
    let mut row = Vec::with_capacity(columns.len());
    let median_at = |i: usize| {
        row.clear();
        row.extend(columns.iter().filter_map(|c| c.get(i).copied()).filter(|v| !v.is_nan()));
        median(&mut row)
    };
    (0..rows).map(median_at).collect()
}

/// Of known values; NaN for none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(values)
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        None => f64::NAN,
        Some(&upper) if sorted.len().is_multiple_of(2) => (sorted[middle - 1] + upper) / 2.0,
        Some(&value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const N: f64 = f64::NAN;
    const ALL: [Aggregation; 12] = [
        Aggregation::Average,
        Aggregation::AvgZero,
        Aggregation::Median,
        Aggregation::Sum,
        Aggregation::Min,
        Aggregation::Max,
        Aggregation::Diff,
        Aggregation::Stddev,
        Aggregation::Count,
        Aggregation::Range,
        Aggregation::Multiply,
        Aggregation::Last,
    ];

    #[test]
    fn nulls_are_dropped_but_by_avg_zero_and_multiply() {
        let expected = [2.0, 1.5, 2.0, 6.0, 1.0, 3.0, -4.0, (2.0_f64 / 3.0).sqrt(), 3.0, 2.0, N, 3.0];
        for (function, expected) in ALL.into_iter().zip(expected) {
            let got = function.of(&[1.0, 2.0, N, 3.0]);
            assert!(got == expected || (got.is_nan() && expected.is_nan()), "{function:?} {got}");
        }
        assert_eq!(Aggregation::Multiply.of(&[2.0, 3.0]), 6.0);
        assert_eq!(Aggregation::Median.of(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn names_and_short_forms() {
        for name in Aggregation::NAMES {
            assert!(Aggregation::named(name).is_ok(), "{name}");
            let with_suffix = format!("{name}Series");
            assert_eq!(Aggregation::named_series(&with_suffix).unwrap().1, name);
        }
        assert!(Aggregation::named("sumSeries").is_err());
        let error = Aggregation::named_series("bogusSeries").unwrap_err().to_string();
        assert_eq!(error, "Invalid parameters (Unsupported aggregation function: bogusSeries)");
    }

    #[test]
    fn x_files_factor_and_short_columns() {
        let columns: Vec<Arc<[f64]>> = vec![Arc::from([1.0, N, 3.0]), Arc::from([1.0, N])];
        assert_eq!(format!("{:?}", Aggregation::Sum.rows(&columns, 0.0)), "[2.0, NaN, 3.0]");
        assert_eq!(format!("{:?}", Aggregation::Sum.rows(&columns, 0.6)), "[2.0, NaN, NaN]");
        assert_eq!(format!("{:?}", Aggregation::Count.rows(&columns, 0.0)), "[2.0, NaN, 1.0]");
        assert_eq!(format!("{:?}", Aggregation::Multiply.rows(&columns, 0.0)), "[1.0, NaN, NaN]");
    }

    proptest! {
        /// Columns at a time and rows at a time are the same thing, to the last bit.
        #[test]
        fn columns_agree_with_rows(table in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![3 => -1e3_f64..1e3, 1 => Just(N)], 1..6), 1..6))
        {
            let columns: Vec<Arc<[f64]>> = table.iter().map(|c| Arc::from(c.as_slice())).collect();
            let rows = columns.iter().map(|c| c.len()).max().unwrap();
            for function in ALL {
                let got = function.rows(&columns, 0.0);
                prop_assert_eq!(got.len(), rows);
                for (i, &value) in got.iter().enumerate() {
                    let row: Vec<f64> = table.iter().map(|c| c.get(i).copied().unwrap_or(N)).collect();
                    let expected = if row.iter().all(|v| v.is_nan()) { N } else { function.of(&row) };
                    prop_assert!(value == expected || (value.is_nan() && expected.is_nan()));
                }
            }
        }
    }
}
