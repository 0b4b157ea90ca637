//! One series by another.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::normalize::Normalized;

pub(super) fn divide_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let divisors = call.series(1);
    let mut dividends = call.series(0);
    let divisor = match divisors.as_slice() {
        [] => {
            for s in &mut dividends {
                call.is_wanted()?;
                s.rename(format!("divideSeries({},MISSING)", s.name));
                s.map(|_| f64::NAN);
            }
            return Ok(dividends.into());
        }
        [divisor] => divisor,
        many => {
            return Err(RenderError::invalid(format!(
                "divideSeries second argument must reference exactly 1 series (got {})",
                many.len()
            )));
        }
    };
    let xff = call.context.x_files_factor();
    let quotients = dividends.iter().map(|dividend| {
        let name = format!("divideSeries({},{})", dividend.name, divisor.name);
        paired(dividend, divisor, name, xff, quotient)
    });
    Ok(quotients.collect::<Result<Vec<_>, _>>()?.into())
}

/// Nothing by nothing, and nothing by zero.
pub(super) fn quotient(dividend: f64, divisor: f64) -> f64 {
    if divisor == 0.0 { f64::NAN } else { dividend / divisor }
}

/// Two series on a common step, row by row.
pub(super) fn paired(
    left: &Series,
    right: &Series,
    name: String,
    xff: f64,
    combine: impl Fn(f64, f64) -> f64,
) -> Result<Series, RenderError> {
    let Some(both) = Normalized::of(&[left, right])? else {
        return Err(RenderError::invalid("no series to combine"));
    };
    let values = zip_longest(&both.columns[0], &both.columns[1], combine);
    Ok(Series::new(name, both.times(), values, xff))
}

/// The shorter one is null beyond its end.
pub(super) fn zip_longest(left: &[f64], right: &[f64], combine: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(f64::NAN);
    (0..left.len().max(right.len())).map(|i| combine(at(left, i), at(right, i))).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("a.x", 60, &[6.0, 1.0, N, 4.0])
            .with("a.y", 60, &[3.0, 3.0, 3.0, 3.0])
            .with("d", 60, &[2.0, 0.0, 2.0, N])
            .with("fine", 30, &[1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0])
    }

    #[test]
    fn division_by_zero_or_null_is_null() {
        let got = store().run("divideSeries(a.*,d)");
        assert_eq!(names(&got), ["divideSeries(a.x,d)", "divideSeries(a.y,d)"]);
        assert_eq!(shown(&got[0]), show(&[3.0, N, N, N]));
        assert_eq!(shown(&got[1]), show(&[1.5, N, 1.5, N]));
        assert_eq!(
            (tags(&got[0]).as_str(), &*got[0].path_expression),
            ("name=divideSeries(a.x,d)", &*got[0].name)
        );
    }

    #[test]
    fn steps_are_normalised_pair_by_pair() {
        let got = store().one("divideSeries(a.x,fine)");
        assert_eq!((got.step, got.start, shown(&got)), (60, 30, show(&[3.0, 1.0, N, 0.8])));
    }

    #[test]
    fn a_divisor_that_is_not_there_and_too_many() {
        let got = store().one("divideSeries(a.x,nothing)");
        assert_eq!((&*got.name, shown(&got)), ("divideSeries(a.x,MISSING)", show(&[N; 4])));
        assert_eq!(tags(&got), "name=a.x");
        assert!(store().error("divideSeries(d,a.*)").contains("exactly 1 series (got 2)"));
        assert!(store().run("divideSeries(nothing,d)").is_empty());
    }
}
