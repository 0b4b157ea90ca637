//! Two lists of series combined pair by pair: `sumSeriesLists` and its kin.

use super::Invocation;
use super::combine::aggregated;
use super::divide::{paired, quotient};
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

/// `sumSeriesLists`, `diffSeriesLists` and `multiplySeriesLists`.
pub(super) fn pairs(mut call: Invocation<'_>, function: &str) -> Result<Value, RenderError> {
    aggregated_pairs(&mut call, function, None)
}

pub(super) fn aggregate_series_lists(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (function, xff) = (call.text(2).to_owned(), call.float(3));
    aggregated_pairs(&mut call, &function, xff)
}

pub(super) fn divide_series_lists(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let xff = call.context.x_files_factor();
    let (dividends, divisors) = same_length(&mut call, ["dividendSeriesList", "divisorSeriesList"])?;
    let quotients = dividends.iter().zip(&divisors).map(|(dividend, divisor)| {
        let name = format!("divideSeries({},{})", dividend.name, divisor.name);
        paired(dividend, divisor, name, xff, quotient)
    });
    Ok(quotients.collect::<Result<Vec<_>, _>>()?.into())
}

/// Named after the two series, while the path expression is the one an aggregate of the two patterns has.
fn aggregated_pairs(
    call: &mut Invocation<'_>,
    function: &str,
    xff: Option<f64>,
) -> Result<Value, RenderError> {
    let (firsts, seconds) = same_length(call, ["seriesListFirstPos", "seriesListSecondPos"])?;
    let mut result = Vec::with_capacity(firsts.len());
    for (first, second) in firsts.into_iter().zip(seconds) {
        let (_, short) = Aggregation::named_series(function)?;
        let name = format!("{short}Series({},{})", first.name, second.name);
        for mut one in aggregated(call.context, &[first, second], function, xff)? {
            one.name = name.as_str().into();
            result.push(one);
        }
    }
    Ok(result.into())
}

/// The first two arguments, which must be as long as each other.
fn same_length(
    call: &mut Invocation<'_>,
    params: [&str; 2],
) -> Result<(Vec<Series>, Vec<Series>), RenderError> {
    let (first, second) = (call.series(0), call.series(1));
    if first.len() == second.len() {
        return Ok((first, second));
    }
    Err(RenderError::invalid(format!(
        "{}: {} and {} argument must have equal length, not {} and {} series",
        call.name(),
        params[0],
        params[1],
        first.len(),
        second.len()
    )))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("a.x", 60, &[1.0, 2.0, N, N])
            .with("a.y", 60, &[3.0, N, 5.0, 0.0])
            .with("b.x", 60, &[2.0, 2.0, 2.0, N])
            .with("b.y", 60, &[4.0, 4.0, 0.0, 0.0])
    }

    #[test]
    fn series_are_paired_by_position() {
        for (target, name, values) in [
            ("sumSeriesLists(a.*,b.*)", "sumSeries(a.x,b.x)", [3.0, 4.0, 2.0, N]),
            ("diffSeriesLists(a.*,b.*)", "diffSeries(a.x,b.x)", [-1.0, 0.0, 2.0, N]),
            ("multiplySeriesLists(a.*,b.*)", "multiplySeries(a.x,b.x)", [2.0, 4.0, N, N]),
            ("divideSeriesLists(a.*,b.*)", "divideSeries(a.x,b.x)", [0.5, 1.0, N, N]),
            ("aggregateSeriesLists(a.*,b.*,'max')", "maxSeries(a.x,b.x)", [2.0, 2.0, 2.0, N]),
            ("aggregateSeriesLists(a.*,b.*,'sumSeries',1)", "sumSeries(a.x,b.x)", [3.0, 4.0, N, N]),
        ] {
            let got = store().run(target);
            assert_eq!((got.len(), &*got[0].name, shown(&got[0])), (2, name, show(&values)), "{target}");
        }
        let got = store().run("sumSeriesLists(a.*,b.*)");
        assert_eq!((&*got[1].name, &*got[1].path_expression), ("sumSeries(a.y,b.y)", "sumSeries(a.*,b.*)"));
    }

    #[test]
    fn lists_of_different_length_are_refused() {
        let error = store().error("sumSeriesLists(a.*,b.x)");
        assert!(error.contains("sumSeriesLists: seriesListFirstPos and seriesListSecondPos"), "{error}");
        assert!(error.contains("not 2 and 1 series"), "{error}");
        assert!(store().error("divideSeriesLists(nothing,b.x)").contains("divisorSeriesList"));
        assert!(store().error("aggregateSeriesLists(a.*,b.*,'bogus')").contains("bogus"));
        assert!(store().run("sumSeriesLists(nothing,nothing)").is_empty());
    }
}
