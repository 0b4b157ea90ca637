//! Straight lines that come from no store.

use super::Invocation;
use crate::render::aggregate::Aggregation;
use crate::render::context::Context;
use crate::render::error::RenderError;
use crate::render::number::{general, repr, whole};
use crate::render::series::Series;
use crate::render::value::Value;

pub(super) fn constant_line(call: Invocation<'_>) -> Result<Value, RenderError> {
    let value = call.float_or(0, f64::NAN);
    Ok(vec![constant(call.context, value, &repr(value))].into())
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
            let tag = match aggregation {
                _ if !known => "None".into(),
                Aggregation::Count => whole(value),
                _ => repr(value),
            };
            s = constant(call.context, value, &tag);
        }
        s.rename(name);
        s
    };
    let series = call.series(0);
    Ok(series.into_iter().map(line).collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

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
}
