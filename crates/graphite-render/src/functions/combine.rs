//! Many series become one, row by row: `sumSeries` and its kin.

use std::sync::Arc;

use ahash::AHashSet;

use super::Invocation;
use super::line::constant;
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::series::Series;
use crate::series::Tags;
use crate::series::aggregate::Aggregation;
use crate::series::normalize::Normalized;

/// `sumSeries`, `averageSeries` and so on: all series of all arguments.
pub(super) fn rows(mut call: Invocation<'_>, function: &str) -> Result<Value, RenderError> {
    let series = call.series(0);
    Ok(aggregated(call.context, &series, function, None)?.into())
}

pub(super) fn aggregate(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let series = call.series(0);
    Ok(aggregated(call.context, &series, call.text(1), call.float(2))?.into())
}

pub(super) fn multiply_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let lists = call.count(0);
    let series = call.series(0);
    // One series on its own keeps its name.
    if lists == 1 && series.len() == 1 {
        return Ok(series.into());
    }
    Ok(aggregated(call.context, &series, "multiply", None)?.into())
}

/// The number of series at each row, nulls or not.
pub(super) fn count_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let xff = call.context.x_files_factor();
    if call.count(0) == 0 {
        let mut none = constant(call.context, 0.0, "0");
        none.path_expression = "countSeries()".into();
        return Ok(vec![none].into());
    }
    let series = call.series(0);
    let Some(all) = Normalized::of(&series.iter().collect::<Vec<_>>())? else { return Ok(Vec::new().into()) };
    let name = format!("countSeries({})", path_expressions(series.iter()));
    Ok(vec![Series::new(name, all.times(), vec![series.len() as f64; all.rows()], xff).counted()].into())
}

pub(super) fn group(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    Ok(call.series(0).into())
}

/// The first of each name.
pub(super) fn unique(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    let mut seen = AHashSet::new();
    series.retain(|s| seen.insert(Arc::clone(&s.name)));
    Ok(series.into())
}

/// The second argument if the first has no series at all; series without values are series.
pub(super) fn fallback_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let series = call.series(0);
    Ok(if series.is_empty() { call.series(1) } else { series }.into())
}

/// One series of many; none of none. `function` may carry the suffix `Series`.
pub(super) fn aggregated(
    context: &Context<'_>,
    series: &[Series],
    function: &str,
    xff: Option<f64>,
) -> Result<Vec<Series>, RenderError> {
    let (aggregation, short) = Aggregation::named_series(function)?;
    let Some(all) = Normalized::of(&series.iter().collect::<Vec<_>>())? else { return Ok(Vec::new()) };
    let xff = xff.unwrap_or(context.x_files_factor());
    let name = format!("{short}Series({})", path_expressions(series.iter()));
    let values = aggregation.rows(&all.columns, xff);
    let mut result = Series::new(name, all.times(), values, xff);
    result.tags = common_tags(series, &result.name, short);
    let of_counts = aggregation.keeps_whole() && series.iter().all(Series::is_counted);
    let is_counted = of_counts || aggregation == Aggregation::Count;
    Ok(vec![if is_counted { result.counted() } else { result }])
}

fn common_tags(series: &[Series], name: &str, function: &str) -> Tags {
    let mut pairs = Tags::common(series.iter().map(|s| &s.tags));
    if pairs.iter().all(|(tag, _)| tag != "name") {
        pairs.push(("name".to_owned(), name.to_owned()));
    }
    let mut tags = Tags::of_pairs(pairs);
    tags.set("aggregatedBy", function);
    tags
}

/// The path expressions of some series, each once, joined by commas.
pub(super) fn path_expressions<'s>(series: impl Iterator<Item = &'s Series>) -> String {
    let mut seen = AHashSet::new();
    let distinct: Vec<&str> = series.map(|s| &*s.path_expression).filter(|path| seen.insert(*path)).collect();
    distinct.join(",")
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("a.x", 60, &[1.0, 2.0, N, N])
            .with("a.y", 60, &[3.0, N, 5.0, N])
            .with("fine", 30, &[1.0, 3.0, 5.0, 7.0, N, 9.0, 11.0, 13.0])
            .with("cpu;dc=east;host=a", 60, &[1.0, 1.0, 1.0, 1.0])
            .with("cpu;dc=east;host=b", 60, &[2.0, 2.0, 2.0, 2.0])
    }

    #[test]
    fn rows_are_combined_and_named_after_the_patterns() {
        for (target, name, values) in [
            ("sumSeries(a.*)", "sumSeries(a.*)", [4.0, 2.0, 5.0, N]),
            ("sum(a.x,a.y)", "sumSeries(a.x,a.y)", [4.0, 2.0, 5.0, N]),
            ("avg(a.*)", "averageSeries(a.*)", [2.0, 2.0, 5.0, N]),
            ("maxSeries(a.*)", "maxSeries(a.*)", [3.0, 2.0, 5.0, N]),
            ("minSeries(a.*)", "minSeries(a.*)", [1.0, 2.0, 5.0, N]),
            ("diffSeries(a.*)", "diffSeries(a.*)", [-2.0, 2.0, 5.0, N]),
            ("stddevSeries(a.*)", "stddevSeries(a.*)", [1.0, 0.0, 0.0, N]),
            ("rangeOfSeries(a.*)", "rangeOfSeries(a.*)", [2.0, 0.0, 0.0, N]),
            ("multiplySeries(a.*)", "multiplySeries(a.*)", [3.0, N, N, N]),
            ("countSeries(a.*)", "countSeries(a.*)", [2.0, 2.0, 2.0, 2.0]),
            ("aggregate(a.*,'count')", "countSeries(a.*)", [2.0, 1.0, 1.0, N]),
            ("aggregate(a.*,'avg')", "avgSeries(a.*)", [2.0, 2.0, 5.0, N]),
            ("aggregate(a.*,'sumSeries')", "sumSeries(a.*)", [4.0, 2.0, 5.0, N]),
            ("aggregate(a.*,'sum',1)", "sumSeries(a.*)", [4.0, N, N, N]),
            ("aggregate(a.*,'sum',xFilesFactor=0.5)", "sumSeries(a.*)", [4.0, 2.0, 5.0, N]),
            ("sumSeries(scale(a.x,2),a.y)", "sumSeries(scale(a.x,2),a.y)", [5.0, 4.0, 5.0, N]),
        ] {
            let got = store().one(target);
            assert_eq!((&*got.name, shown(&got)), (name, show(&values)), "{target}");
            assert_eq!((got.start, got.end, got.step, &*got.path_expression), (60, 300, 60, name));
        }
    }

    #[test]
    fn finer_series_are_consolidated_first() {
        let got = store().one("sumSeries(a.x,fine)");
        assert_eq!((got.step, shown(&got)), (60, show(&[3.0, 8.0, 9.0, 12.0])));
        let got = store().one("sumSeries(a.x,consolidateBy(fine,'max'))");
        assert_eq!(shown(&got), show(&[4.0, 9.0, 9.0, 13.0]));
        assert_eq!(&*got.name, "sumSeries(a.x,consolidateBy(fine,\"max\"))");
        assert!(store().error("sumSeries(a.x,consolidateBy(fine,'bogus'))").contains("'bogus'"));
    }

    #[test]
    fn tags_that_all_have_are_kept() {
        let got = store().one("sumSeries(cpu;dc=east;host=*)");
        assert_eq!(tags(&got), "dc=east name=cpu aggregatedBy=sum");
        assert_eq!(tags(&store().one("sumSeries(a.*)")), "name=sumSeries(a.*) aggregatedBy=sum");
        assert_eq!(tags(&store().one("rangeOfSeries(a.x)")), "name=a.x aggregatedBy=rangeOf");
        assert_eq!(tags(&store().one("sumSeries(scale(a.*,2))")).split(' ').next(), Some("scale=2.0"));
    }

    #[test]
    fn nothing_and_single_series() {
        for target in ["sumSeries(nothing)", "sumSeries()", "countSeries(nothing)", "group()"] {
            assert!(store().run(target).is_empty(), "{target}");
        }
        assert_eq!(&*store().one("multiplySeries(a.x)").name, "a.x");
        assert_eq!(&*store().one("multiplySeries(a.x,nothing)").name, "multiplySeries(a.x)");
        let zero = store().one("countSeries()");
        assert_eq!(
            (&*zero.name, &*zero.path_expression, shown(&zero)),
            ("0", "countSeries()", show(&[0.0; 3]))
        );
        assert_eq!(names(&store().run("group(a.y,a.x)")), ["a.y", "a.x"]);
    }

    #[test]
    fn names_once_and_fallbacks() {
        assert_eq!(names(&store().run("unique(a.*,a.x,alias(fine,'a.y'),fine)")), ["a.x", "a.y", "fine"]);
        assert_eq!(names(&store().run("fallbackSeries(a.x,fine)")), ["a.x"]);
        assert_eq!(names(&store().run("fallbackSeries(nothing,a.*)")), ["a.x", "a.y"]);
        assert!(store().error("fallbackSeries(nothing,5)").contains("parameter \"fallback\": 5"));
    }

    #[test]
    fn set_x_files_factor_holds_for_what_is_around_it() {
        let got = store().one("sumSeries(setXFilesFactor(a.*,1))");
        assert_eq!((shown(&got), got.x_files_factor), (show(&[4.0, N, N, N]), 1.0));
    }
}
