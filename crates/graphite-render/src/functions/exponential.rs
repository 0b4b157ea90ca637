//! `exponentialMovingAverage`: a mean in which old values fade.

use super::Invocation;
use super::moving::preview_secs;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::round_to;
use crate::series::aggregate::Aggregation;

/// The mean of a window before the first value is where it begins, and its first point.
pub(super) fn exponential_moving_average(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let window = call.literal(1).cloned().unwrap_or(Literal::Int(0));
    let series = call.series(0);
    let Some(step) = series.iter().map(|s| s.step).max() else { return Ok(Vec::new().into()) };
    let preview = preview_secs(&window, step)?;
    let weight = |length: i64| 2.0 / (length as f64 + 1.0);
    let context = call.context.at(call.context.range.extended(preview));
    let mut series = context.evaluate_series(call.first_expr()?)?;
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("exponentialMovingAverage", window.text());
        // Seconds weigh as if they were points.
        let (shown, points, weight) = match &window {
            Literal::Text(text) => (format!("\"{text}\""), preview / s.step.max(1), weight(preview)),
            number => (number.text(), preview / step.max(1), weight(preview / step.max(1))),
        };
        s.rename(format!("exponentialMovingAverage({},{shown})", s.name));
        s.values = faded(&s.values, usize::try_from(points).unwrap_or(0), weight).into();
        s.start += preview;
    }
    Ok(series.into())
}

/// One value more than lie behind the first window. Nulls change nothing and stay null.
fn faded(values: &[f64], points: usize, weight: f64) -> Vec<f64> {
    let (before, after) = values.split_at(points.min(values.len()));
    let mean = Aggregation::Average.of(before);
    let mut average = if mean.is_nan() { 0.0 } else { mean };
    let mut result = Vec::with_capacity(after.len() + 1);
    result.push(round_to(average, 6));
    for &value in after {
        if !value.is_nan() {
            average = weight * value + (1.0 - weight) * average;
        }
        result.push(if value.is_nan() { value } else { round_to(average, 6) });
    }
    result
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn old_values_fade() {
        let minutes: Vec<f64> = (1..=20).map(|m| if m == 13 { N } else { f64::from(m) }).collect();
        let store = Memory::new().with("a", 60, &minutes).over(600, 900);
        let got = store.one("exponentialMovingAverage(a,3)");
        assert_eq!((&*got.name, got.start, got.end), ("exponentialMovingAverage(a,3)", 660, 960));
        assert_eq!(shown(&got), show(&[9.0, 10.0, 11.0, N, 12.5, 13.75]));
        assert_eq!(tags(&got), "name=a exponentialMovingAverage=3");
        let got = store.one("exponentialMovingAverage(a,'2min')");
        assert_eq!(&*got.name, "exponentialMovingAverage(a,\"2min\")");
        assert_eq!(got.values[1], 9.524793); // 2/121 of 11 and the rest of 9.5
        assert!(store.error("exponentialMovingAverage(a,-1)").contains("a window of -1 points"));
        assert!(store.run("exponentialMovingAverage(nothing,3)").is_empty());
        let asked = store.over(600, 900);
        asked.run("exponentialMovingAverage(a,'2min')");
        assert_eq!(asked.batches(), 1);
    }
}
