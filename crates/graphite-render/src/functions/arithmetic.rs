//! The same sum on every value: `scale`, `offset`, `pow`, `round` and their kin.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::number::{general, repr, round_to_place, whole};
use crate::series::Series;
use crate::series::aggregate::Aggregation;

pub(super) fn scale(call: Invocation<'_>) -> Result<Value, RenderError> {
    with_number(call, general, |value, factor| value * factor)
}

pub(super) fn offset(call: Invocation<'_>) -> Result<Value, RenderError> {
    with_number(call, general, |value, offset| value + offset)
}

/// As `offset`, but the name drops the fraction.
pub(super) fn add(call: Invocation<'_>) -> Result<Value, RenderError> {
    finite(&call, 1)?;
    with_number(call, whole, |value, constant| value + constant)
}

pub(super) fn pow(call: Invocation<'_>) -> Result<Value, RenderError> {
    with_number(call, general, power)
}

pub(super) fn square_root(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "1", f64::sqrt)
}

pub(super) fn invert(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "1", |value| power(value, -1.0))
}

pub(super) fn absolute(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, "1", f64::abs)
}

/// To the power of `exponent`; null where the result is beyond all numbers.
fn power(value: f64, exponent: f64) -> f64 {
    let power = value.powf(exponent);
    if power.is_infinite() && value.is_finite() && exponent.is_finite() { f64::NAN } else { power }
}

/// Halves go to the even neighbour; a negative precision rounds to tens, hundreds and so on.
pub(super) fn round(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let precision = call.int(1).unwrap_or(0);
    let shown = if call.is_given(1) { format!(",{}", general(precision as f64)) } else { String::new() };
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("round", precision.to_string());
        s.rename(format!("round({}{shown})", s.name));
        s.map(|value| round_to_place(value, precision));
    }
    Ok(series.into())
}

/// From one value each step to one each so many seconds.
pub(super) fn scale_to_seconds(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let seconds = finite(&call, 1)?;
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("scaleToSeconds", repr(seconds));
        s.rename(format!("scaleToSeconds({},{})", s.name, whole(seconds)));
        let factor = seconds / s.step as f64;
        s.map(|value| round_to_place(value * factor, 6));
    }
    Ok(series.into())
}

pub(super) fn offset_to_zero(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        let (least, _) = extremes(s);
        s.tags.set("offsetToZero", s.aggregate_text(Aggregation::Min, least));
        s.rename(format!("offsetToZero({})", s.name));
        s.map(|value| value - least);
    }
    Ok(series.into())
}

/// From 0 at the least value to 1 at the greatest; 0 where these are the same.
pub(super) fn min_max(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        let (least, greatest) = extremes(s);
        s.rename(format!("minMax({})", s.name));
        s.map(|value| match greatest - least {
            0.0 if !value.is_nan() => 0.0,
            range => (value - least) / range,
        });
    }
    Ok(series.into())
}

/// NaN drops out of `min` and `max`.
fn extremes(series: &Series) -> (f64, f64) {
    let values = || series.values.iter().copied();
    (values().fold(f64::NAN, f64::min), values().fold(f64::NAN, f64::max))
}

/// A number whose whole part can be shown.
fn finite(call: &Invocation<'_>, param: usize) -> Result<f64, RenderError> {
    let number = call.float_or(param, f64::NAN);
    if number.is_finite() {
        return Ok(number);
    }
    Err(RenderError::invalid(format!("{} needs a finite number, not {}", call.name(), repr(number))))
}

/// A null stays null, whatever the number.
fn with_number(
    mut call: Invocation<'_>,
    show: fn(f64) -> String,
    change: fn(f64, f64) -> f64,
) -> Result<Value, RenderError> {
    let (function, number) = (call.name(), call.float_or(1, f64::NAN));
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set(function, repr(number));
        s.rename(format!("{function}({},{})", s.name, show(number)));
        s.map(|value| if value.is_nan() { value } else { change(value, number) });
    }
    Ok(series.into())
}

/// A function of nothing but the value.
pub(super) fn each(
    mut call: Invocation<'_>,
    tag: &str,
    change: fn(f64) -> f64,
) -> Result<Value, RenderError> {
    let function = call.name();
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set(function, tag);
        s.rename(format!("{function}({})", s.name));
        s.map(change);
    }
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn values_names_and_tags() {
        let store = Memory::new().with("a", 60, &[1.0, -2.0, N, 0.0]);
        for (target, name, tagged, values) in [
            ("scale(a,10)", "scale(a,10)", "name=a scale=10.0", [10.0, -20.0, N, 0.0]),
            ("scale(a,0.5)", "scale(a,0.5)", "name=a scale=0.5", [0.5, -1.0, N, 0.0]),
            (
                "scale(a,1234567)",
                "scale(a,1.23457e+06)",
                "name=a scale=1234567.0",
                [1234567.0, -2469134.0, N, 0.0],
            ),
            ("scale(a,'2')", "scale(a,2)", "name=a scale=2.0", [2.0, -4.0, N, 0.0]),
            ("offset(a,-3.25)", "offset(a,-3.25)", "name=a offset=-3.25", [-2.25, -5.25, N, -3.25]),
            ("absolute(a)", "absolute(a)", "name=a absolute=1", [1.0, 2.0, N, 0.0]),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, tags(&got).as_str()), (name, tagged));
            assert_eq!((shown(&got), &*got.path_expression), (show(&values), name));
        }
        for (target, name, tagged, values) in [
            ("add(a,7.5)", "add(a,7)", "name=a add=7.5", [8.5, 5.5, N, 7.5]),
            ("pow(a,-1)", "pow(a,-1)", "name=a pow=-1.0", [1.0, -0.5, N, N]),
            ("pow(a,0.5)", "pow(a,0.5)", "name=a pow=0.5", [1.0, N, N, 0.0]),
            ("invert(a)", "invert(a)", "name=a invert=1", [1.0, -0.5, N, N]),
            ("squareRoot(a)", "squareRoot(a)", "name=a squareRoot=1", [1.0, N, N, 0.0]),
            ("round(a)", "round(a)", "name=a round=0", [1.0, -2.0, N, 0.0]),
            ("round(a,0)", "round(a,0)", "name=a round=0", [1.0, -2.0, N, 0.0]),
            (
                "scaleToSeconds(a,20)",
                "scaleToSeconds(a,20)",
                "name=a scaleToSeconds=20.0",
                [0.333333, -0.666667, N, 0.0],
            ),
            ("offsetToZero(a)", "offsetToZero(a)", "name=a offsetToZero=-2.0", [3.0, 0.0, N, 2.0]),
            ("minMax(a)", "minMax(a)", "name=a", [1.0, 0.0, N, 2.0 / 3.0]),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, tags(&got).as_str(), shown(&got)), (name, tagged, show(&values)));
        }
        assert!(store.error("add(a,inf)").contains("add needs a finite number, not inf"));
        assert!(store.error("scaleToSeconds(a,inf)").contains("scaleToSeconds needs a finite number"));
        assert!(store.error("scale(a,x)").contains("Invalid \"float\" value"));
        assert!(store.error("scale(a)").contains("Missing required parameter \"factor\""));
        assert!(store.error("scale(a,1,2)").contains("Too many parameters"));
        assert!(store.error("scale(a,2,k=3)").contains("Unexpected key word arguments: k"));
        assert!(store.error("scale(a,2,factor=3)").contains("Unexpected key word arguments: factor"));
    }
}
