//! `maxDataPoints`: fewer points, on stamps that stay the same when a dashboard refreshes.

use std::borrow::Cow;

use super::Line;
use crate::error::RenderError;
use crate::series::Series;

/// How the series of an answer become shorter.
///
/// As in graphite-web the number of points is judged over the time that all series span together, buckets begin at
/// multiples of their length, and what lies before the first such multiple is dropped (up to one value of it).
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinning {
    span: i64,
    max: usize,
}

impl Thinning {
    /// For these series together.
    pub(super) fn of(series: &[Series], max: usize) -> Self {
        let from = series.iter().map(|s| s.start).min().unwrap_or(0);
        let until = series.iter().map(|s| s.end).max().unwrap_or(0);
        Self { span: until - from, max }
    }

    /// A series with as many points as it may have.
    pub(super) fn line<'a>(&self, series: &'a Series) -> Result<Line<'a>, RenderError> {
        if self.max == 1 { one_point(series) } else { fewer_points(series, self.span, self.max) }
    }

    /// Does a series have more points than it may have?
    pub(super) fn shortens(&self, series: &Series) -> bool {
        self.max == 1 || (self.max as f64) < points(series, self.span)
    }

    /// Points that a series may have.
    pub(super) fn max(&self) -> usize {
        self.max
    }
}

/// Consolidates each series to at most about `max` points, with its own function and xFilesFactor.
pub fn thin(series: &[Series], max: usize) -> Result<Vec<Line<'_>>, RenderError> {
    let thinning = Thinning::of(series, max);
    series.iter().map(|series| thinning.line(series)).collect()
}

/// The points that a series of this step has over so many seconds.
fn points(series: &Series, span: i64) -> f64 {
    span as f64 / series.step.max(1) as f64
}

fn one_point(series: &Series) -> Result<Line<'_>, RenderError> {
    let values = consolidated(series, &series.values, series.values.len())?;
    Ok(Line { values, ..Line::from(series) })
}

fn fewer_points(series: &Series, span: i64, max: usize) -> Result<Line<'_>, RenderError> {
    let (step, points) = (series.step.max(1), points(series, span));
    if max as f64 >= points {
        return Ok(Line::from(series));
    }
    let per_point = (points / max as f64).ceil() as i64;
    let wide = per_point.saturating_mul(step);
    // A multiple of the step, at least one of them: `wide` is one, and the two remainders differ by one.
    let nudge = wide + series.start.rem_euclid(step) - series.start.rem_euclid(wide);
    let lost = usize::try_from(nudge / step - 1).unwrap_or(0).min(series.values.len());
    let values =
        consolidated(series, &series.values[lost..], usize::try_from(per_point).unwrap_or(usize::MAX))?;
    Ok(Line { start: series.start + nudge, step: wide, values, ..Line::from(series) })
}

fn consolidated(
    series: &Series,
    values: &[f64],
    per_point: usize,
) -> Result<Cow<'static, [f64]>, RenderError> {
    series.consolidation.consolidate(values, per_point, series.x_files_factor).map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(start: i64, step: i64, values: Vec<f64>) -> Series {
        Series::new("a", (start, start + step * values.len() as i64, step), values, 0.0)
    }

    #[test]
    fn a_series_short_enough_stays_as_it_is() {
        let all = [series(10, 10, vec![1.0, 2.0, 3.0])];
        let lines = thin(&all, 3).unwrap();
        assert_eq!((&*lines[0].values, lines[0].step), (&[1.0, 2.0, 3.0][..], 10));
        assert!(thin(&[], 5).unwrap().is_empty());
    }

    #[test]
    fn the_span_of_all_series_decides() {
        let all = [series(0, 10, vec![1.0; 4]), series(0, 10, vec![1.0; 40])];
        let lines = thin(&all, 20).unwrap();
        assert_eq!(lines[0].step, 20);
    }

    #[test]
    fn a_series_lost_whole_is_empty() {
        let all = [series(10, 10, vec![1.0]), series(0, 10, vec![1.0; 400])];
        assert!(thin(&all, 2).unwrap()[0].values.is_empty());
        let all = [series(10, 10, Vec::new()), series(10, 10, vec![4.0, 2.0])];
        let lines = thin(&all, 1).unwrap();
        assert_eq!((lines[0].values.len(), &*lines[1].values, lines[1].start), (0, &[3.0][..], 10));
    }

    proptest! {
        #[test]
        fn stamps_stay_on_multiples_while_the_window_moves(
            start in 0_i64..1000, step in 1_i64..90, len in 1_usize..300, max in 2_usize..50,
        ) {
            let all = [series(start * step, step, vec![1.0; len])];
            let line = &thin(&all, max).unwrap()[0];
            prop_assert!(line.values.len() <= max);
            if line.step != step {
                prop_assert_eq!(line.start % line.step, 0);
            }
        }
    }
}
