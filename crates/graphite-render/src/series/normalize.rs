//! Series of different steps are brought to one.

use std::sync::Arc;

use crate::error::RenderError;
use crate::series::Series;

/// Series on a common step. Columns are matched by position, not by time: that is how Graphite combines series.
pub(crate) struct Normalized {
    /// Earliest start.
    pub(crate) start: i64,
    /// Latest end, cut to a whole number of steps from the start.
    pub(crate) end: i64,
    /// Least common multiple of the steps.
    pub(crate) step: i64,
    /// The values of each series, consolidated with its own function.
    pub(crate) columns: Vec<Arc<[f64]>>,
}

impl Normalized {
    /// `None` when there are no series.
    pub(crate) fn of(series: &[&Series]) -> Result<Option<Self>, RenderError> {
        let Some(first) = series.first() else { return Ok(None) };
        let step = series.iter().try_fold(first.step, |step, s| lcm(step, s.step)).ok_or_else(|| {
            let steps: Vec<i64> = series.iter().map(|s| s.step).take(8).collect();
            RenderError::invalid(format!("series with the steps {steps:?} have no common step"))
        })?;
        let start = series.iter().map(|s| s.start).min().unwrap_or(first.start);
        let end = series.iter().map(|s| s.end).max().unwrap_or(first.end);
        let end = end - (end - start).rem_euclid(step);
        let column =
            |s: &&Series| s.consolidation.shared(&s.values, (step / s.step) as usize, s.x_files_factor);
        let columns = series.iter().map(column).collect::<Result<_, _>>()?;
        Ok(Some(Self { start, end, step, columns }))
    }

    /// Start, end and step.
    pub(crate) fn times(&self) -> (i64, i64, i64) {
        (self.start, self.end, self.step)
    }

    /// Number of rows: the longest column.
    pub(crate) fn rows(&self) -> usize {
        self.columns.iter().map(|c| c.len()).max().unwrap_or(0)
    }
}

/// `None` for steps below 1 or a multiple beyond 64 bits.
fn lcm(a: i64, b: i64) -> Option<i64> {
    if a < 1 || b < 1 {
        return None;
    }
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(start: i64, step: i64, values: &[f64]) -> Series {
        Series::new("s", (start, start + step * values.len() as i64, step), values.to_vec(), 0.0)
    }

    #[test]
    fn the_step_is_the_least_common_multiple() {
        let a = series(20, 20, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = series(30, 30, &[1.0, 2.0, 3.0, 4.0]);
        let both = Normalized::of(&[&a, &b]).unwrap().unwrap();
        assert_eq!(both.times(), (20, 140, 60));
        assert_eq!((&*both.columns[0], &*both.columns[1]), (&[2.0, 5.0][..], &[1.5, 3.5][..]));
        assert_eq!(both.rows(), 2);
    }

    #[test]
    fn nothing_and_impossible_steps() {
        assert!(Normalized::of(&[]).unwrap().is_none());
        let huge = |step| series(0, step, &[]);
        let error = Normalized::of(&[&huge(i64::MAX), &huge(2)]).err().unwrap();
        assert!(error.to_string().contains("no common step"));
        assert!(Normalized::of(&[&series(0, 0, &[])]).is_err());
    }
}
