//! What lies between neighbours, and sums of all so far.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::number::round_to;
use crate::series::Series;
use crate::time::parse_offset_secs;

pub(super) fn derivative(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, |values, _| {
        let mut previous = f64::NAN;
        // A null on either side leaves NaN.
        values.iter().map(|&v| v - std::mem::replace(&mut previous, v)).collect()
    })
}

pub(super) fn integral(call: Invocation<'_>) -> Result<Value, RenderError> {
    each(call, |values, _| {
        let mut total = 0.0;
        let mut add = |v: f64| {
            total += v;
            total
        };
        values.iter().map(|&v| if v.is_nan() { v } else { add(v) }).collect()
    })
}

/// The sum of an interval so far. Intervals are counted from the start of the request; a null repeats the sum.
pub(super) fn integral_by_interval(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let unit = call.text(1).to_owned();
    let interval = parse_offset_secs(&unit)?.abs();
    if interval < 1 {
        return Err(RenderError::invalid(format!("integralByInterval needs an interval, not '{unit}'")));
    }
    let from = call.context.range.from;
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        let (mut age, step) = (s.start - from, s.step);
        let mut total = 0.0;
        for value in s.values_mut() {
            if age.div_euclid(interval) != (age - step).div_euclid(interval) {
                total = 0.0;
            }
            total += if value.is_nan() { 0.0 } else { *value };
            *value = total;
            age += step;
        }
        s.tags.set("integralByInterval", unit.as_str());
        s.rename(format!("integralByInterval({},'{unit}')", s.name));
    }
    Ok(series.into())
}

/// 1 where the value is another than the known one before, else 0.
pub(super) fn changed(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("changed({})", s.name));
        let mut previous = f64::NAN;
        for value in s.values_mut() {
            let now = *value;
            let changed = !previous.is_nan() && !now.is_nan() && now != previous;
            previous = if now.is_nan() { previous } else { now };
            *value = f64::from(u8::from(changed));
        }
    }
    Ok(series.into_iter().map(Series::counted).collect::<Vec<_>>().into())
}

pub(super) fn non_negative_derivative(call: Invocation<'_>) -> Result<Value, RenderError> {
    let limits = Limits::of(&call);
    each(call, |values, _| limits.deltas(values))
}

/// By the step, even across a gap; rounded to six decimals.
pub(super) fn per_second(call: Invocation<'_>) -> Result<Value, RenderError> {
    let limits = Limits::of(&call);
    each(call, |values, step| {
        let mut deltas = limits.deltas(values);
        deltas.iter_mut().for_each(|delta| *delta = round_to(*delta / step as f64, 6));
        deltas
    })
}

/// New values for each series, under the function's name.
fn each(mut call: Invocation<'_>, values: impl Fn(&[f64], i64) -> Vec<f64>) -> Result<Value, RenderError> {
    let function = call.name();
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set(function, "1");
        s.rename(format!("{function}({})", s.name));
        let is_counted = s.is_counted() && function != "perSecond";
        s.values = values(&s.values, s.step).into();
        if is_counted {
            s.mark_counted();
        }
    }
    Ok(series.into())
}

/// The range of a counter.
struct Limits {
    max: Option<f64>,
    min: Option<f64>,
}

impl Limits {
    fn of(call: &Invocation<'_>) -> Self {
        Self { max: call.float(1), min: call.float(2) }
    }

    fn deltas(&self, values: &[f64]) -> Vec<f64> {
        let mut previous = f64::NAN;
        let delta = |&value: &f64| {
            let (delta, next) = self.delta(value, previous);
            previous = next;
            delta
        };
        values.iter().map(delta).collect()
    }

    /// The growth since the previous value, and what the next one is compared with. A null answers no comparison.
    fn delta(&self, value: f64, previous: f64) -> (f64, f64) {
        let outside = self.max.is_some_and(|max| value > max) || self.min.is_some_and(|min| value < min);
        if outside {
            return (f64::NAN, f64::NAN);
        }
        if previous.is_nan() || value.is_nan() {
            return (f64::NAN, value);
        }
        if value >= previous {
            return (value - previous, value);
        }
        // The counter wrapped or was reset.
        let delta = match (self.max, self.min) {
            (Some(max), min) => max + 1.0 + value - previous - min.unwrap_or(0.0),
            (None, Some(min)) => value - min,
            (None, None) => f64::NAN,
        };
        (delta, value)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn sums_start_over_and_changes_are_seen() {
        let store = Memory::new().with("c", 60, &[1.0, 2.0, N, 2.0, 3.0, 4.0]).over(0, 360);
        let got = store.one("integralByInterval(c,'2min')");
        assert_eq!(shown(&got), show(&[1.0, 2.0, 2.0, 2.0, 5.0, 4.0]));
        assert_eq!((&*got.name, &*got.path_expression), ("integralByInterval(c,'2min')", &*got.name));
        assert_eq!(tags(&got), "name=c integralByInterval=2min");
        assert!(store.error("integralByInterval(c,'0s')").contains("integralByInterval needs an interval"));
        assert!(store.error("integralByInterval(c,'2x')").contains("invalid interval `2x`"));
        let got = store.one("changed(c)");
        assert_eq!((shown(&got), tags(&got)), (show(&[0.0, 1.0, 0.0, 0.0, 1.0, 1.0]), "name=c".to_owned()));
    }

    #[test]
    fn values_names_and_tags() {
        let store = Memory::new().with("c", 60, &[10.0, 20.0, N, 50.0, 5.0, 65.0]);
        for (target, tag, values) in [
            ("derivative(c)", "derivative", [N, 10.0, N, N, -45.0, 60.0]),
            ("nonNegativeDerivative(c)", "nonNegativeDerivative", [N, 10.0, N, N, N, 60.0]),
            ("nonNegativeDerivative(c,60)", "nonNegativeDerivative", [N, 10.0, N, N, 16.0, N]),
            ("nonNegativeDerivative(c,100,5)", "nonNegativeDerivative", [N, 10.0, N, N, 51.0, 60.0]),
            ("nonNegativeDerivative(c,minValue=1)", "nonNegativeDerivative", [N, 10.0, N, N, 4.0, 60.0]),
            ("nonNegativeDerivative(c,minValue=8)", "nonNegativeDerivative", [N, 10.0, N, N, N, N]),
            ("perSecond(c)", "perSecond", [N, 0.166667, N, N, N, 1.0]),
            ("integral(c)", "integral", [10.0, 30.0, N, 80.0, 85.0, 150.0]),
        ] {
            let got = store.over(0, 360).one(target);
            let name = format!("{tag}(c)");
            assert_eq!(shown(&got), show(&values), "{target}");
            assert_eq!((&*got.name, &*got.path_expression), (name.as_str(), name.as_str()));
            assert_eq!(tags(&got), format!("name=c {tag}=1"));
        }
    }
}
