//! `compressPeriodicGaps`: a series that was written less often than it is stored gets its real step.

use super::Invocation;
use super::summarize::buckets;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

pub(super) fn compress_periodic_gaps(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("compressPeriodicGaps({})", s.name));
        if let Some((first, period)) = period(&s.values) {
            compress(s, first, period);
        }
    }
    Ok(series.into())
}

/// Where the first value is, and how many places on the next one, if a third one follows after as many and stands between
/// nulls. Graphite takes a value for one only if it is not zero. Its 1.1.10 also passes over the first place, which loses
/// the first value of a series that begins with one; as on its main branch that place counts here.
fn period(values: &[f64]) -> Option<(usize, usize)> {
    let is_seen = |at: usize| values.get(at).is_some_and(|v| !v.is_nan() && *v != 0.0);
    let is_null = |at: usize| values.get(at).is_some_and(|v| v.is_nan());
    let mut seen = (0..values.len()).filter(|&at| is_seen(at));
    let (first, second) = (seen.next()?, seen.next()?);
    let period = second - first;
    let third = second + period;
    let found = period > 1 && is_seen(third) && is_null(third - 1) && is_null(third + 1);
    found.then_some((first, period))
}

/// The last value of each period becomes its value.
fn compress(series: &mut Series, first: usize, period: usize) {
    let step = series.step * period as i64;
    series.start += first as i64 * series.step;
    series.values = series.values.get(first..).unwrap_or_default().into();
    let (values, _) = buckets(series, Aggregation::Last, step, series.start, series.end);
    series.end = series.start + step * (values.len() as i64 - 1);
    series.step = step;
    series.values = values.into();
}

#[cfg(test)]
mod tests {
    use super::period;
    use crate::testing::*;

    #[test]
    fn the_step_becomes_the_period() {
        let store = Memory::new().with("a", 60, &[N, 1.0, N, 3.0, N, 5.0, N, N, N, 9.0]).over(0, 600);
        let got = store.one("compressPeriodicGaps(a)");
        assert_eq!((got.start, got.end, got.step), (120, 600, 120));
        assert_eq!(shown(&got), show(&[1.0, 3.0, 5.0, N, 9.0]));
        assert_eq!(
            (&*got.name, &*got.path_expression),
            ("compressPeriodicGaps(a)", "compressPeriodicGaps(a)")
        );
    }

    #[test]
    fn a_series_that_begins_with_a_value_keeps_it() {
        let store = Memory::new().with("a", 60, &[1.0, N, 3.0, N, 5.0, N, 7.0, N]).over(0, 480);
        let got = store.one("compressPeriodicGaps(a)");
        assert_eq!((got.start, got.step), (60, 120));
        assert_eq!(shown(&got), show(&[1.0, 3.0, 5.0, 7.0]));
    }

    #[test]
    fn only_three_values_at_even_distances_tell_a_period() {
        assert_eq!(period(&[N, 1.0, N, 1.0, N, 1.0, N]), Some((1, 2)));
        assert_eq!(period(&[N, 1.0, N, 1.0, N, 1.0]), None); // nothing behind the third
        assert_eq!(period(&[N, 1.0, N, 1.0, 1.0, 1.0, N]), None);
        assert_eq!(period(&[1.0, N, 1.0, N, 1.0, N]), Some((0, 2)));
        assert_eq!(period(&[N, 0.0, N, 1.0, N, 1.0, N, 1.0, N]), Some((3, 2))); // and so are zeros
        assert_eq!(period(&[N, 1.0, 1.0, 1.0]), None);
        assert_eq!(period(&[]), None);
    }
}
