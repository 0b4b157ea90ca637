//! How far values stray from their mean: `stdev` along a series, `mostDeviant` among series.

use super::Invocation;
use super::rank::first;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;

/// The series that stray most, the wildest first; those without values are left out.
pub(super) fn most_deviant(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let n = call.int(1).unwrap_or(0);
    let mut ranked: Vec<(f64, Series)> =
        call.series(0).into_iter().map(|s| (variance(&s.values), s)).filter(|(v, _)| !v.is_nan()).collect();
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    Ok(first(ranked.into_iter().map(|(_, s)| s).collect(), n).into())
}

fn variance(values: &[f64]) -> f64 {
    let known = || values.iter().copied().filter(|v| !v.is_nan());
    let count = known().count() as f64;
    let mean = known().fold(0.0, |sum, v| sum + v) / count;
    known().fold(0.0, |sum, v| sum + (v - mean) * (v - mean)) / count
}

/// The standard deviation of the points up to each one, as far as the window has them; null where too few are known.
pub(super) fn stdev(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (points, tolerance) = (call.int(1).unwrap_or(0), call.float_or(2, 0.1));
    let window = usize::try_from(points)
        .map_err(|_| RenderError::invalid(format!("stdev needs a number of points, not {points}")))?;
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("stdev", points.to_string());
        s.rename(format!("stdev({},{points})", s.name));
        s.values = deviations(&s.values, window, tolerance).into();
    }
    Ok(series.into())
}

/// Sums are kept from window to window, as Graphite does: their rounding is part of the answer.
fn deviations(values: &[f64], window: usize, tolerance: f64) -> Vec<f64> {
    let (mut known, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let deviation = |(at, &entering): (usize, &f64)| {
        let leaving = at.checked_sub(window).map_or(f64::NAN, |at| values[at]);
        for (value, sign) in [(leaving, -1.0), (entering, 1.0)] {
            if !value.is_nan() {
                known += sign;
                sum += sign * value;
                squares += sign * square(value);
            }
        }
        let enough = known > 0.0 && known / window as f64 >= tolerance;
        // Rounding may leave a little less than nothing, whose root is null.
        if enough { (known * squares - square(sum)).sqrt() / known } else { f64::NAN }
    };
    values.iter().enumerate().map(deviation).collect()
}

/// By the power function, as Python does: where nearly everything cancels out, its last bit is seen in the result. The
/// compiler would make a product of it if it knew the exponent.
fn square(value: f64) -> f64 {
    value.powf(std::hint::black_box(2.0))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn windows_start_short_and_need_enough_values() {
        let store = Memory::new().with("a", 60, &[1.0, 3.0, N, 5.0, 9.0, N, N, N]).over(0, 480);
        for (target, values) in [
            ("stdev(a,2)", [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, N, N]),
            ("stdev(a,2,0.6)", [N, 1.0, N, N, 2.0, N, N, N]),
            ("stdev(a,2,windowTolerance=0)", [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, N, N]),
            ("stdev(a,0)", [N; 8]),
        ] {
            let got = store.one(target);
            assert_eq!(shown(&got), show(&values), "{target}");
            assert_eq!(got.name, got.path_expression);
        }
        assert_eq!(tags(&store.one("stdev(a,2)")), "name=a stdev=2");
        assert!(store.error("stdev(a,-1)").contains("stdev needs a number of points, not -1"));
        assert_eq!(shown(&store.one("stdev(a,9223372036854775807)")), show(&[N; 8]));
    }

    #[test]
    fn the_wildest_come_first() {
        let store = Memory::new()
            .with("s.a", 60, &[1.0, 1.0, 1.0, 1.0])
            .with("s.b", 60, &[N; 4])
            .with("s.c", 60, &[1.0, 9.0, N, N])
            .with("s.d", 60, &[1.0, 3.0, 1.0, 3.0])
            .with("s.e", 60, &[2.0, 4.0, 2.0, 4.0]);
        for (n, expected) in [
            ("10", vec!["s.c", "s.d", "s.e", "s.a"]),
            ("2", vec!["s.c", "s.d"]),
            ("0", vec![]),
            ("-1", vec!["s.c", "s.d", "s.e"]),
        ] {
            assert_eq!(names(&store.run(&format!("mostDeviant(s.*,{n})"))), expected, "{n}");
        }
    }
}
