//! Percentiles: of a series as a line, and what lies above, below or between them.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::number::{general, repr};
use crate::series::Series;
use crate::series::aggregate::Aggregation;

/// The percentile of each series as a line over its window; series without values are left out.
pub(super) fn n_percentile(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let n = percent(&call)?;
    let mut series = call.series(0);
    series.retain(|s| s.known() > 0);
    for s in &mut series {
        call.is_wanted()?;
        let value = percentile(&s.values, n).ok_or_else(|| outside(&call, n))?;
        let points = usize::try_from((s.end - s.start) / s.step.max(1)).unwrap_or(0);
        call.context.charge(points)?;
        s.tags.set("nPercentile", repr(n));
        s.rename(format!("nPercentile({}, {})", s.name, general(n)));
        s.values = std::iter::repeat_n(value, points).collect();
    }
    Ok(series.into())
}

pub(super) fn remove_above_percentile(call: Invocation<'_>) -> Result<Value, RenderError> {
    remove_by_percentile(call, |value, limit| value > limit)
}

pub(super) fn remove_below_percentile(call: Invocation<'_>) -> Result<Value, RenderError> {
    remove_by_percentile(call, |value, limit| value < limit)
}

/// A percentile that does not exist removes nothing.
fn remove_by_percentile(
    mut call: Invocation<'_>,
    removed: fn(f64, f64) -> bool,
) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    if series.is_empty() {
        return Ok(series.into());
    }
    let n = percent(&call)?;
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("{}({}, {})", call.name(), s.name, general(n)));
        if let Some(limit) = percentile(&s.values, n) {
            s.tags.set("nPercentile", repr(n));
            s.map(|value| if removed(value, limit) { f64::NAN } else { value });
        }
    }
    Ok(series.into())
}

pub(super) fn remove_above_value(call: Invocation<'_>) -> Result<Value, RenderError> {
    remove_by_value(call, |value, limit| value > limit)
}

pub(super) fn remove_below_value(call: Invocation<'_>) -> Result<Value, RenderError> {
    remove_by_value(call, |value, limit| value < limit)
}

fn remove_by_value(mut call: Invocation<'_>, removed: fn(f64, f64) -> bool) -> Result<Value, RenderError> {
    let limit = call.float_or(1, f64::NAN);
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("{}({}, {})", call.name(), s.name, general(limit)));
        s.map(|value| if removed(value, limit) { f64::NAN } else { value });
    }
    Ok(series.into())
}

/// The series whose mean is outside of what most means are. One without values has no mean and is left out.
pub(super) fn average_outside_percentile(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let series = call.series(0);
    let mean = |s: &Series| Aggregation::Average.of(&s.values);
    let means: Vec<f64> = series.iter().map(mean).collect();
    let band = Band::of(&call, &means)?;
    let outside = series.into_iter().zip(means).filter(|(_, mean)| band.excludes(*mean));
    Ok(outside.map(|(s, _)| s).collect::<Vec<_>>().into())
}

/// The series with at least one value outside of what most have at that moment.
pub(super) fn remove_between_percentile(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    let rows = series.iter().map(|s| s.values.len()).max().unwrap_or(0);
    let mut row = Vec::with_capacity(series.len());
    let mut bands = Vec::with_capacity(rows);
    for at in 0..rows {
        row.clear();
        row.extend(series.iter().filter_map(|s| s.values.get(at)));
        bands.push(Band::of(&call, &row)?);
    }
    series.retain(|s| s.values.iter().zip(&bands).any(|(value, band)| band.excludes(*value)));
    Ok(series.into())
}

/// What lies between two percentiles.
struct Band {
    low: f64,
    high: f64,
}

impl Band {
    /// Between the percentile of the call and its counterpart. Of no values at all it is nowhere.
    fn of(call: &Invocation<'_>, values: &[f64]) -> Result<Self, RenderError> {
        let n = call.float_or(1, f64::NAN);
        let n = if n < 50.0 { 100.0 - n } else { n };
        if values.iter().all(|v| v.is_nan()) {
            return Ok(Self { low: f64::NAN, high: f64::NAN });
        }
        let edge = |n: f64| percentile(values, n).ok_or_else(|| outside(call, n));
        Ok(Self { low: edge(100.0 - n)?, high: edge(n)? })
    }

    fn excludes(&self, value: f64) -> bool {
        let inside = self.low < value && value < self.high;
        !value.is_nan() && !inside
    }
}

/// The percentile asked for.
fn percent(call: &Invocation<'_>) -> Result<f64, RenderError> {
    let n = call.float_or(1, f64::NAN);
    if n.is_finite() && n != 0.0 {
        return Ok(n);
    }
    let (function, shown) = (call.name(), general(n));
    Err(RenderError::invalid(format!("{function} needs a percentile other than 0, up to 100, not {shown}")))
}

fn outside(call: &Invocation<'_>, n: f64) -> RenderError {
    let (function, shown) = (call.name(), general(n));
    RenderError::invalid(format!("{function}: there is no percentile {shown} of so few values; use 0 to 100"))
}

/// The value at a rank of n in a hundred, rounded up; nulls do not count. `None` where there is no such rank. A negative
/// one counts from the end, as Python's lists do.
pub(super) fn percentile(values: &[f64], n: f64) -> Option<f64> {
    let mut known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    let rank = n / 100.0 * (known.len() as f64 + 1.0);
    // From zero on, and below that from zero as well: the fraction of a negative rank is dropped.
    let rank = if rank > 0.0 { rank.ceil() } else { rank.trunc() };
    let len = known.len() as f64;
    let at = match rank {
        0.0 => 0.0,
        beyond if beyond == len + 1.0 => len - 1.0,
        rank if rank < 0.0 => len + rank - 1.0,
        rank => rank - 1.0,
    };
    // The comparison refuses NaN as well.
    if !(0.0..len).contains(&at) {
        return None;
    }
    let (_, value, _) = known.select_nth_unstable_by(at as usize, f64::total_cmp);
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::percentile;
    use crate::testing::*;

    #[test]
    fn ranks_go_up_and_nulls_do_not_count() {
        let values = [5.0, N, 1.0, 3.0, 2.0, 4.0, N, 6.0, 7.0, 9.0, 8.0];
        for (n, expected) in [
            (5.0, Some(1.0)),
            (10.0, Some(1.0)),
            (11.0, Some(2.0)),
            (50.0, Some(5.0)),
            (90.0, Some(9.0)),
            (91.0, Some(9.0)),
            (100.0, Some(9.0)),
            (101.0, None),
            (-5.0, Some(1.0)),
            (-10.0, Some(8.0)),
            (-200.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(percentile(&values, n), expected, "{n}");
        }
        assert_eq!(percentile(&[N], 50.0), None);
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn mistakes_are_named() {
        let store = Memory::new().with("s.a", 60, &[1.0, 2.0, 3.0, 4.0]).with("s.b", 60, &[N; 4]);
        assert!(store.error("nPercentile(s.a,0)").contains("nPercentile needs a percentile other than 0"));
        assert!(store.error("removeAbovePercentile(s.a,inf)").contains("removeAbovePercentile needs"));
        assert!(store.error("nPercentile(s.a,500)").contains("no percentile 500"));
        assert!(store.error("averageOutsidePercentile(s.*,300)").contains("no percentile"));
        assert!(store.error("removeBetweenPercentile(s.*,300)").contains("no percentile"));
        assert!(store.run("nPercentile(s.b,50)").is_empty());
        // As graphite-web has it: nothing is removed, and only the name tells.
        let got = store.one("removeAbovePercentile(s.a,500)");
        assert_eq!((shown(&got), tags(&got).as_str()), (show(&[1.0, 2.0, 3.0, 4.0]), "name=s.a"));
    }
}
