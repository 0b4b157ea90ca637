//! Many series become one by a rule of its own: powers, percentiles, weighted means.

use std::sync::Arc;

use ahash::AHashMap;

use super::Invocation;
use super::combine::aggregated;
use super::divide::{quotient, zip_longest};
use super::machinery::key::{Node, key};
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::general;
use crate::series::Series;
use crate::series::normalize::Normalized;

/// The first series to the power of the second, that to the power of the third, and so on.
pub(super) fn pow_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let series = call.series(0);
    let Some(all) = Normalized::of(&series.iter().collect::<Vec<_>>())? else { return Ok(Vec::new().into()) };
    let names: Vec<&str> = series.iter().map(|s| &*s.name).collect();
    let name = format!("powSeries({})", names.join(","));
    let mut columns = all.columns.iter();
    let first: Vec<f64> = columns.next().map(|column| column.to_vec()).unwrap_or_default();
    let mut values = columns.fold(first, |powers, column| zip_longest(&powers, column, power));
    // A first series that is shorter than another is null beyond its end, and so is the result.
    values.resize(all.rows(), f64::NAN);
    Ok(vec![Series::new(name, all.times(), values, call.context.x_files_factor())].into())
}

/// Null where either is, or where the power is no number or beyond all numbers.
fn power(base: f64, exponent: f64) -> f64 {
    if base.is_nan() || exponent.is_nan() {
        return f64::NAN;
    }
    let power = base.powf(exponent);
    let overflown = power.is_infinite() && base.is_finite() && exponent.is_finite();
    if overflown { f64::NAN } else { power }
}

pub(super) fn percentile_of_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let n = call.float_or(1, f64::NAN);
    // Written so that NaN is refused as well.
    if !(n > 0.0 && n <= 100.0) {
        return Err(RenderError::invalid(format!(
            "percentileOfSeries: n is required to be greater than 0 and at most 100, not {}",
            general(n)
        )));
    }
    let interpolate = call.flag(2);
    let series = call.series(0);
    let Some(all) = Normalized::of(&series.iter().collect::<Vec<_>>())? else { return Ok(Vec::new().into()) };
    let pattern = series.first().map(|s| Arc::clone(&s.path_expression)).unwrap_or_default();
    let name = format!("percentileOfSeries({pattern},{})", general(n));
    let mut row = Vec::with_capacity(all.columns.len());
    let percentile_at = |at: usize| {
        if at.is_multiple_of(64) {
            call.is_wanted()?;
        }
        row.clear();
        row.extend(all.columns.iter().filter_map(|c| c.get(at).copied()).filter(|v| !v.is_nan()));
        row.sort_unstable_by(f64::total_cmp);
        Ok(percentile(&row, n, interpolate))
    };
    let values = (0..all.rows()).map(percentile_at).collect::<Result<Vec<f64>, RenderError>>()?;
    Ok(vec![Series::new(name, all.times(), values, call.context.x_files_factor())].into())
}

/// The value at rank `n / 100 * (count + 1)`, rounded up, or the place between two values that it falls on.
fn percentile(sorted: &[f64], n: f64, interpolate: bool) -> f64 {
    let exact = n / 100.0 * (sorted.len() + 1) as f64;
    let rank = if interpolate { exact.trunc() } else { exact.ceil() };
    let rank = (rank as usize).min(sorted.len());
    let Some(&value) = sorted.get(rank.saturating_sub(1)) else { return f64::NAN };
    match sorted.get(rank) {
        Some(next) if interpolate => value + exact.fract() * (next - value),
        _ => value,
    }
}

/// The sum of value times weight over the sum of all weights. A value and its weight have the same key.
pub(super) fn weighted_average(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let literals = call.literals(2);
    let (values, weights) = (call.series(0), call.series(1));
    if values.len() != weights.len() {
        return Err(RenderError::invalid(format!(
            "weightedAverage must receive the same number of series for seriesListAvg and seriesListWeight but \
             received respectively {} and {}",
            values.len(),
            weights.len()
        )));
    }
    let name = format!(
        "weightedAverage({}, {}, {})",
        sorted_paths(&values),
        sorted_paths(&weights),
        literals.iter().map(Literal::text).collect::<Vec<_>>().join(",")
    );
    let nodes: Vec<Node> = literals.into_iter().map(Node::of).collect();
    let xff = call.context.x_files_factor();
    let products = products(&values, &weights, &nodes, xff);
    let sum = |list: &[Series]| -> Result<Option<Series>, RenderError> {
        Ok(aggregated(call.context, list, "sum", None)?.into_iter().next())
    };
    let (Some(products), Some(weights)) = (sum(&products)?, sum(&weights)?) else {
        return Ok(Vec::new().into());
    };
    let quotients = zip_longest(&products.values, &weights.values, quotient);
    let times = (products.start, products.end, products.step);
    Ok(vec![Series::new(name, times, quotients, xff)].into())
}

/// Value times weight for each key that has both, in the order in which the keys first appear. The last series of a key
/// stands for it, and rows are matched before any steps are: that is how Graphite does it.
fn products(values: &[Series], weights: &[Series], nodes: &[Node], xff: f64) -> Vec<Series> {
    type Partners<'s> = (Option<&'s Series>, Option<&'s Series>);
    let mut order: Vec<Partners<'_>> = Vec::new();
    let mut at: AHashMap<String, usize> = AHashMap::new();
    for (value, weight) in values.iter().zip(weights) {
        for (one, is_value) in [(value, true), (weight, false)] {
            let place = *at.entry(key(one, nodes)).or_insert_with(|| {
                order.push((None, None));
                order.len() - 1
            });
            let partners = &mut order[place];
            *(if is_value { &mut partners.0 } else { &mut partners.1 }) = Some(one);
        }
    }
    let product = |(value, weight): (&Series, &Series)| {
        let rows = zip_longest(&value.values, &weight.values, |value, weight| value * weight);
        Series::new("product", (value.start, value.end, value.step), rows, xff)
    };
    order.into_iter().filter_map(|(value, weight)| value.zip(weight)).map(product).collect()
}

fn sorted_paths(series: &[Series]) -> String {
    let mut paths: Vec<&str> = series.iter().map(|s| &*s.path_expression).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.join(",")
}

#[cfg(test)]
mod tests {
    use super::{percentile, power};
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("a.x", 60, &[2.0, 3.0, N, 10.0])
            .with("a.y", 60, &[3.0, N, 2.0, 400.0])
            .with("w.x", 60, &[1.0, 1.0, 1.0, 0.0])
            .with("w.y", 60, &[3.0, 3.0, 3.0, 0.0])
    }

    #[test]
    fn powers_are_null_where_they_are_not_numbers() {
        let got = store().one("powSeries(a.*)");
        assert_eq!((&*got.name, shown(&got)), ("powSeries(a.x,a.y)", show(&[8.0, N, N, N])));
        assert_eq!(shown(&store().one("powSeries(a.x)")), show(&[2.0, 3.0, N, 10.0]));
        assert!(store().run("powSeries(nothing)").is_empty());
        for (base, exponent, expected) in [
            (-8.0, 3.0, -512.0),
            (-8.0, 0.5, N),
            (0.0, -1.0, N),
            (N, 0.0, N),
            (1.0, N, N),
            (1e200, 2.0, N),
            (f64::INFINITY, 2.0, f64::INFINITY),
        ] {
            assert_eq!(show(&[power(base, exponent)]), show(&[expected]), "{base} {exponent}");
        }
    }

    #[test]
    fn percentiles_of_rows() {
        let got = store().one("percentileOfSeries(a.*,50)");
        assert_eq!((&*got.name, shown(&got)), ("percentileOfSeries(a.*,50)", show(&[3.0, 3.0, 2.0, 400.0])));
        assert_eq!(shown(&store().one("percentileOfSeries(a.*,50,true)")), show(&[2.5, 3.0, 2.0, 205.0]));
        let values = [1.0, 2.0, 3.0, 4.0];
        for (n, plain, between) in
            [(1.0, 1.0, 1.0), (20.0, 1.0, 1.0), (30.0, 2.0, 1.5), (81.0, 4.0, 4.0), (100.0, 4.0, 4.0)]
        {
            assert_eq!(
                (percentile(&values, n, false), percentile(&values, n, true)),
                (plain, between),
                "{n}"
            );
        }
        for bad in ["0", "-1", "100.5", "inf", "'nan'"] {
            let error = store().error(&format!("percentileOfSeries(a.*,{bad})"));
            assert!(error.contains("percentileOfSeries: n is required"), "{error}");
        }
        assert!(store().run("percentileOfSeries(nothing,5)").is_empty());
    }

    #[test]
    fn weights_count_even_where_their_value_is_null() {
        let got = store().one("weightedAverage(a.*,w.*,1)");
        assert_eq!((&*got.name, shown(&got)), ("weightedAverage(a.*, w.*, 1)", show(&[2.75, 0.75, 1.5, N])));
        assert!(store().run("weightedAverage(a.*,w.*,0)").is_empty(), "no key has both");
        let error = store().error("weightedAverage(a.*,w.x,1)");
        assert!(error.contains("received respectively 2 and 1"), "{error}");
        assert!(store().run("weightedAverage(nothing,nothing,1)").is_empty());
    }
}
