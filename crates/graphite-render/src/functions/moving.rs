//! Aggregates over a window that moves along: `movingAverage` and its kin.

use super::Invocation;
use super::machinery::sliding::slide;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::{Call, Literal};
use crate::request::{Request, TimeRange};
use crate::series::aggregate::Aggregation;
use crate::time::parse_offset_secs;

/// Where the plan finds the first argument, if the window is a length of time. The step decides the others.
pub(super) fn reach(call: &Call, range: TimeRange, _: &Request) -> Vec<TimeRange> {
    let preview = call.text(1, "windowSize").and_then(|text| parse_offset_secs(text).ok());
    preview.map(|secs| range.extended(secs.abs())).into_iter().collect()
}

/// `movingWindow(series, window, function, xff)`.
pub(super) fn moving_window(call: Invocation<'_>) -> Result<Value, RenderError> {
    let function = call.text(2).to_owned();
    moving(call, &function, 3)
}

/// The data before the window is fetched as well, so that the first value has a full window behind it.
pub(super) fn moving(mut call: Invocation<'_>, function: &str, xff: usize) -> Result<Value, RenderError> {
    let xff = call.float(xff);
    let window = call.literal(1).cloned().unwrap_or(Literal::Int(0));
    let aggregation = Aggregation::named(function)?;
    let series = call.series(0);
    let Some(step) = series.iter().map(|s| s.step).max() else { return Ok(Vec::new().into()) };
    let preview = preview_secs(&window, step)?;
    let context = call.context.at(call.context.range.extended(preview));
    let mut series = context.evaluate_series(call.first_expr()?)?;
    let cancel = call.context.session.cancel;
    let tag = format!("moving{}", capitalized(function));
    for s in &mut series {
        call.is_wanted()?;
        let points = match window {
            Literal::Text(_) => preview / s.step.max(1),
            _ => preview / step.max(1),
        };
        let points = usize::try_from(points).unwrap_or(0);
        s.tags.set(&tag, window.text());
        s.rename(match &window {
            Literal::Text(text) => format!("{tag}({},\"{text}\")", s.name),
            number => format!("{tag}({},{})", s.name, number.text()),
        });
        s.values = slide(&s.values, points, aggregation, xff.unwrap_or(s.x_files_factor), cancel)?.into();
        s.start += preview;
    }
    Ok(series.into())
}

/// How much earlier to begin: the length of the window, or so many of the longest steps.
pub(super) fn preview_secs(window: &Literal, step: i64) -> Result<i64, RenderError> {
    let points = match window {
        Literal::Text(text) => return Ok(parse_offset_secs(text)?.abs()),
        Literal::Int(points) => *points,
        Literal::Float(points) if points.is_finite() => *points as i64,
        _ => -1,
    };
    let preview = points.checked_mul(step).filter(|preview| (0..=i64::from(u32::MAX)).contains(preview));
    preview
        .ok_or_else(|| RenderError::invalid(format!("a window of {} points is not possible", window.text())))
}

/// Python's `str.capitalize`: the first letter up, all others down.
fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars.map(|c| c.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::capitalized;
    use crate::testing::*;

    fn store() -> Memory {
        let minutes: Vec<f64> = (1..=20).map(|m| if m == 13 { N } else { f64::from(m) }).collect();
        Memory::new().with("a", 60, &minutes).over(600, 900)
    }

    #[test]
    fn windows_of_points_and_of_time() {
        for (target, name, values) in [
            ("movingAverage(a,2)", "movingAverage(a,2)", [10.5, 11.5, 12.0, 14.0, 14.5]),
            ("movingAverage(a,'2min')", "movingAverage(a,\"2min\")", [10.5, 11.5, 12.0, 14.0, 14.5]),
            ("movingSum(a,2)", "movingSum(a,2)", [21.0, 23.0, 12.0, 14.0, 29.0]),
            ("movingMin(a,3)", "movingMin(a,3)", [9.0, 10.0, 11.0, 12.0, 14.0]),
            ("movingMax(a,2)", "movingMax(a,2)", [11.0, 12.0, 12.0, 14.0, 15.0]),
            ("movingMedian(a,3)", "movingMedian(a,3)", [10.0, 11.0, 11.5, 13.0, 14.5]),
            ("movingWindow(a,2,'count')", "movingCount(a,2)", [2.0, 2.0, 1.0, 1.0, 2.0]),
            ("movingWindow(a,2,'avg_zero')", "movingAvg_zero(a,2)", [10.5, 11.5, 12.0, 14.0, 14.5]),
            ("movingWindow(a,'2min','rangeOf',1)", "movingRangeof(a,\"2min\")", [1.0, 1.0, N, N, 1.0]),
            ("movingSum(a,2,xFilesFactor=0.6)", "movingSum(a,2)", [21.0, 23.0, N, N, 29.0]),
            ("movingAverage(a,2.0)", "movingAverage(a,2.0)", [10.5, 11.5, 12.0, 14.0, 14.5]),
            ("movingAverage(a,0)", "movingAverage(a,0)", [N; 5]),
        ] {
            let got = store().one(target);
            assert_eq!((&*got.name, shown(&got)), (name, show(&values)), "{target}");
            assert_eq!(&*got.path_expression, name);
            assert_eq!((got.start, got.end, got.step), (660, 960, 60), "{target}");
        }
        // Shorter than a step: no window has a point, and the stamps leave the grid.
        let got = store().one("movingAverage(a,'10s')");
        assert_eq!((shown(&got), got.start), (show(&[N; 6]), 610));
        assert_eq!(tags(&store().one("movingAverage(a,'2min')")), "name=a movingAverage=2min");
        assert_eq!(tags(&store().one("movingWindow(a,2,'last')")), "name=a movingLast=2");
    }

    #[test]
    fn nested_windows_add_up() {
        let got = store().one("movingSum(movingSum(a,'1min'),'2min')");
        assert_eq!((shown(&got), got.start), (show(&[21.0, 23.0, 12.0, 14.0, 29.0]), 660));
        let asked = store();
        asked.run("movingSum(movingSum(a,'1min'),'2min')");
        assert!(asked.windows().contains(&(420, 900)));
        assert_eq!(asked.batches(), 1);
    }

    #[test]
    fn a_piped_input_is_evaluated_whole() {
        let got = store().one("a|scale(2)|movingSum(2)");
        assert_eq!(
            (&*got.name, shown(&got)),
            ("movingSum(scale(a,2),2)", show(&[42.0, 46.0, 24.0, 28.0, 58.0]))
        );
    }

    #[test]
    fn what_cannot_be() {
        assert!(store().error("movingAverage(a,-1)").contains("a window of -1 points"));
        assert!(store().error("movingAverage(a,'5x')").contains("Invalid \"intOrInterval\" value"));
        assert!(
            store().error("movingWindow(a,5,'bogus')").contains("Unsupported aggregation function: bogus")
        );
        assert!(store().error("groupByNode(a,0,'movingAverage')").contains("Missing required parameter"));
        assert!(store().run("movingAverage(nothing,5)").is_empty());
        assert_eq!(capitalized("rangeOf"), "Rangeof");
    }

    #[test]
    fn a_tower_of_windows_is_stopped() {
        let tower = (0..40).fold("a".to_owned(), |inner, _| format!("movingSum({inner},1)"));
        assert!(store().error(&tower).contains("function calls"));
    }
}
