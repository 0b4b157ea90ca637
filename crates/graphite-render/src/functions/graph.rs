//! How series are to be drawn. Values change only where they are stacked.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::general;
use crate::series::Drawing;
use crate::series::Series;

pub(super) fn alpha(call: Invocation<'_>) -> Result<Value, RenderError> {
    let alpha = call.float(1);
    drawn(call, |drawing| drawing.alpha = alpha)
}

pub(super) fn color(call: Invocation<'_>) -> Result<Value, RenderError> {
    let color = call.text(1).to_owned();
    drawn(call, |drawing| drawing.color = Some(color.clone()))
}

pub(super) fn line_width(call: Invocation<'_>) -> Result<Value, RenderError> {
    let width = call.float(1);
    drawn(call, |drawing| drawing.line_width = width)
}

/// Names stay as they are.
fn drawn(mut call: Invocation<'_>, set: impl Fn(&mut Drawing)) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    series.iter_mut().for_each(|s| set(s.drawing_mut()));
    Ok(series.into())
}

pub(super) fn dashed(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let length = call.float_or(1, 5.0);
    let tag = call.literal(1).map(Literal::text).unwrap_or_default();
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("dashed", tag.as_str());
        s.name = format!("dashed({}, {})", s.name, general(length)).into();
        s.drawing_mut().dash = Some(length);
    }
    Ok(series.into())
}

pub(super) fn draw_as_infinite(call: Invocation<'_>) -> Result<Value, RenderError> {
    marked(call, |drawing| drawing.draw_as_infinite = true)
}

pub(super) fn second_y_axis(call: Invocation<'_>) -> Result<Value, RenderError> {
    marked(call, |drawing| drawing.second_y_axis = true)
}

/// Named and tagged by the function.
fn marked(mut call: Invocation<'_>, set: fn(&mut Drawing)) -> Result<Value, RenderError> {
    let function = call.name();
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set(function, "1");
        s.name = format!("{function}({})", s.name).into();
        set(s.drawing_mut());
    }
    Ok(series.into())
}

/// The area between two series: the lower one is stacked unseen, and both go by the upper one's name.
pub(super) fn area_between(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    let count = series.len();
    let [lower, upper] = series.as_mut_slice() else {
        let text = format!("areaBetween: seriesList must reference exactly 2 series, not {count}");
        return Err(RenderError::invalid(text));
    };
    upper.tags.set("areaBetween", "1");
    upper.name = format!("areaBetween({})", upper.path_expression).into();
    lower.tags = upper.tags.clone();
    lower.name = upper.name.clone();
    let below = lower.drawing_mut();
    (below.stacked, below.invisible) = (true, true);
    upper.drawing_mut().stacked = true;
    Ok(series.into())
}

/// The stack of `stacked` without a name.
const DEFAULT_STACK: &str = "__DEFAULT__";

/// Each series on top of all that were stacked before it in this request, under the same name.
pub(super) fn stacked(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let stack = call.literal(1).map_or(DEFAULT_STACK.to_owned(), |literal| literal.text());
    let mut series = call.series(0);
    let stacks = call.context.stacks();
    let mut stacks = stacks.borrow_mut();
    let totals = stacks.entry(stack.clone()).or_default();
    for s in &mut series {
        call.is_wanted()?;
        add_to(totals, s);
        // With a name the legend is left to others.
        if stack == DEFAULT_STACK {
            s.tags.set("stacked", DEFAULT_STACK);
            s.name = format!("stacked({})", s.name).into();
        }
        s.path_expression = s.name.clone();
        let named = (stack != DEFAULT_STACK).then(|| stack.clone());
        // What was set before is lost, as with all functions that make new series.
        s.drawing = Some(Box::new(Drawing { stacked: true, stack: named, ..Drawing::default() }));
    }
    Ok(series.into())
}

/// Adds the values to the totals and takes these in their place; nulls stay null and add nothing.
fn add_to(totals: &mut Vec<f64>, series: &mut Series) {
    if totals.len() < series.values.len() {
        totals.resize(series.values.len(), 0.0);
    }
    for (total, value) in totals.iter_mut().zip(series.values_mut()) {
        if !value.is_nan() {
            *total += *value;
            *value = *total;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::series::Drawing;
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new().with("a", 60, &[1.0, 2.0, N, 4.0]).with("b", 60, &[10.0; 4]).over(0, 240)
    }

    fn drawing(target: &str) -> Drawing {
        *store().run(target)[0].drawing.clone().unwrap()
    }

    #[test]
    fn options_are_carried_along() {
        let text = |s: &str| Some(s.to_owned());
        for (target, name, expected) in [
            ("alpha(a,0.5)", "a", Drawing { alpha: Some(0.5), ..Drawing::default() }),
            ("color(a,'red')", "a", Drawing { color: text("red"), ..Drawing::default() }),
            ("lineWidth(a,3)", "a", Drawing { line_width: Some(3.0), ..Drawing::default() }),
            ("dashed(a)", "dashed(a, 5)", Drawing { dash: Some(5.0), ..Drawing::default() }),
            ("dashed(a,2.5)", "dashed(a, 2.5)", Drawing { dash: Some(2.5), ..Drawing::default() }),
            ("dashed(a,2)", "dashed(a, 2)", Drawing { dash: Some(2.0), ..Drawing::default() }),
            (
                "scale(secondYAxis(color(a,'#ff0')),2)",
                "scale(secondYAxis(a),2)",
                Drawing { color: text("#ff0"), second_y_axis: true, ..Drawing::default() },
            ),
            (
                "drawAsInfinite(a)",
                "drawAsInfinite(a)",
                Drawing { draw_as_infinite: true, ..Drawing::default() },
            ),
            ("stacked(color(a,'red'))", "stacked(a)", Drawing { stacked: true, ..Drawing::default() }),
            ("stacked(a,'s')", "a", Drawing { stacked: true, stack: text("s"), ..Drawing::default() }),
        ] {
            assert_eq!((&*store().one(target).name, drawing(target)), (name, expected), "{target}");
        }
        assert!(store().one("sumSeries(color(a,'red'))").drawing.is_none());
        assert_eq!(tags(&store().one("secondYAxis(dashed(a,3))")), "name=a dashed=3 secondYAxis=1");
    }

    #[test]
    fn an_area_has_two_series_of_one_name() {
        let got = store().run("areaBetween(group(a,b))");
        assert_eq!(names(&got), ["areaBetween(b)", "areaBetween(b)"]);
        assert_eq!((tags(&got[0]), &*got[0].path_expression), (tags(&got[1]), "a"));
        let drawing = |at: usize| got[at].drawing.clone().unwrap();
        assert!(drawing(0).stacked && drawing(0).invisible && drawing(1).stacked && !drawing(1).invisible);
        assert!(store().error("areaBetween(a)").contains("areaBetween: seriesList must reference exactly 2"));
    }

    #[test]
    fn stacks_grow_through_the_request() {
        let got = store().run_all(&["stacked(group(a,b))", "stacked(a)", "stacked(a,'other')"]);
        let values: Vec<String> = got.iter().map(shown).collect();
        let expected =
            [[1.0, 2.0, N, 4.0], [11.0, 12.0, 10.0, 14.0], [12.0, 14.0, N, 18.0], [1.0, 2.0, N, 4.0]];
        assert_eq!(values, expected.map(|v| show(&v)));
        assert_eq!(
            (&*got[0].path_expression, tags(&got[0]).as_str()),
            ("stacked(a)", "name=a stacked=__DEFAULT__")
        );
        // A window within the request goes on with the stack that is there, and keeps its own otherwise.
        let got = store().run_all(&["stacked(a)", "timeShift(stacked(b),'0s')"]);
        assert_eq!(shown(&got[1]), show(&[21.0, 22.0, 20.0, 24.0]));
    }
}
