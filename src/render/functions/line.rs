//! Straight lines that come from no store.

use super::Invocation;
use crate::render::context::Context;
use crate::render::error::RenderError;
use crate::render::number::repr;
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

#[cfg(test)]
mod tests {
    use super::super::testing::*;

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
