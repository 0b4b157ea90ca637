//! Straight lines that come from no store.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::{general, repr};
use crate::request::TimeRange;
use crate::series::Series;
use crate::series::aggregate::Aggregation;
use crate::time::parse_time;

pub(super) fn constant_line(call: Invocation<'_>) -> Result<Value, RenderError> {
    let value = call.float_or(0, f64::NAN);
    Ok(vec![constant(call.context, value, &repr(value))].into())
}

/// A constant line with a name and a colour.
pub(super) fn threshold(call: Invocation<'_>) -> Result<Value, RenderError> {
    let value = call.float_or(0, f64::NAN);
    let mut line = constant(call.context, value, &repr(value));
    if !call.text(1).is_empty() {
        line.name = call.text(1).into();
    }
    set_color(&mut line, call.text(2));
    Ok(vec![line].into())
}

/// A single point that is drawn from bottom to top.
pub(super) fn vertical_line(call: Invocation<'_>) -> Result<Value, RenderError> {
    let request = call.context.request();
    let stamp = parse_time(call.text(0), request.now, &request.tz)
        .map_err(|error| RenderError::invalid(format!("verticalLine: ts: {error}")))?;
    let TimeRange { from, until } = call.context.range;
    if !(from..=until).contains(&stamp) {
        let side = if stamp < from { "before start" } else { "after end" };
        return Err(RenderError::invalid(format!(
            "verticalLine(): timestamp {stamp} exists {side} of range"
        )));
    }
    let label = call.literal(1).map_or("None".to_owned(), Literal::text);
    let mut line = Series::new(label, (stamp, stamp, 1), vec![1.0, 1.0], call.context.x_files_factor());
    line.drawing_mut().draw_as_infinite = true;
    set_color(&mut line, call.text(2));
    Ok(vec![line].into())
}

fn set_color(line: &mut Series, color: &str) {
    if !color.is_empty() {
        line.drawing_mut().color = Some(color.to_owned());
    }
}

/// Three points: start, middle and end of the window, which are not aligned to any step.
pub(super) fn constant(context: &Context<'_>, value: f64, name: &str) -> Series {
    let (start, end) = (context.range.from, context.range.until);
    // Only a window of one second has no middle.
    let step = (end.saturating_sub(start) / 2).max(1);
    let mut line = Series::new(name, (start, end, step), vec![value; 3], context.x_files_factor());
    line.path_expression = format!("constantLine({name})").into();
    line
}

/// The aggregate of each series as a line: three points over the window, or one for each of its own.
pub(super) fn aggregate_line(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let aggregation = Aggregation::named(call.text(1))?;
    let keep_step = call.flag(2);
    let line = |mut s: Series| {
        let value = aggregation.of(&s.values);
        let known = !value.is_nan();
        let name =
            format!("aggregateLine({}, {})", s.name, if known { general(value) } else { "None".into() });
        if keep_step {
            s.map(|_| value);
        } else {
            s = constant(call.context, value, &s.aggregate_text(aggregation, value));
        }
        s.rename(name);
        s
    };
    let series = call.series(0);
    Ok(series.into_iter().map(line).collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn aggregates_as_lines() {
        let store = Memory::new().with("a", 60, &[1.0, N, 4.0, 4.0]).with("b", 60, &[N; 4]);
        for (target, name, tagged, values) in [
            ("aggregateLine(a)", "aggregateLine(a, 3)", "name=3.0", vec![3.0; 3]),
            ("aggregateLine(a,'count')", "aggregateLine(a, 3)", "name=3", vec![3.0; 3]),
            ("aggregateLine(a,'sum',true)", "aggregateLine(a, 9)", "name=a", vec![9.0; 4]),
            ("aggregateLine(b)", "aggregateLine(b, None)", "name=None", vec![N; 3]),
            ("aggregateLine(b,'avg_zero')", "aggregateLine(b, 0)", "name=0.0", vec![0.0; 3]),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, &*got.path_expression, tags(&got).as_str()), (name, name, tagged));
            assert_eq!(shown(&got), show(&values), "{target}");
        }
    }

    #[test]
    fn three_points_named_by_the_float() {
        let line = Memory::new().one("constantLine(100)");
        assert_eq!((&*line.name, &*line.path_expression), ("100.0", "constantLine(100.0)"));
        assert_eq!((line.start, line.end, line.step, shown(&line)), (0, 240, 120, show(&[100.0; 3])));
        assert_eq!(tags(&line), "name=100.0");
        assert_eq!(&*Memory::new().one("constantLine(1e-7)").name, "1e-07");
        assert!(Memory::new().error("constantLine()").contains("Missing required parameter \"value\""));
    }

    #[test]
    fn thresholds_have_names_and_colours() {
        for (target, name, color) in [
            ("threshold(12.5)", "12.5", None),
            ("threshold(12.5,'limit')", "limit", None),
            ("threshold(12.5,'limit','red')", "limit", Some("red")),
            ("threshold(12.5,color='red')", "12.5", Some("red")),
        ] {
            let line = Memory::new().one(target);
            let drawn = line.drawing.as_ref().and_then(|drawing| drawing.color.as_deref());
            assert_eq!((&*line.name, drawn, &*line.path_expression), (name, color, "constantLine(12.5)"));
        }
    }

    #[test]
    fn a_vertical_line_stands_at_a_time_of_the_window() {
        let line = Memory::new().one("verticalLine('120','deploy','blue')");
        assert_eq!((&*line.name, line.start, line.end, line.step), ("deploy", 120, 120, 1));
        let drawing = line.drawing.unwrap();
        assert!(drawing.draw_as_infinite && drawing.color.as_deref() == Some("blue"));
        assert_eq!(&*Memory::new().one("verticalLine(240)").name, "None");
        // By the clock of the request, which ends at 100000.
        let late = Memory::new().over(99_000, 100_000);
        assert_eq!(late.one("verticalLine('-10min','x')").start, 99_400);
        for (target, part) in [
            ("verticalLine('300')", "timestamp 300 exists after end of range"),
            ("verticalLine('-1d')", "timestamp 13600 exists after end of range"),
            ("verticalLine('bogus')", "verticalLine: ts: "),
            ("verticalLine('19690101')", "exists before start"),
        ] {
            let error = Memory::new().error(target);
            assert!(error.contains(part), "{target}: {error}");
        }
    }
}
