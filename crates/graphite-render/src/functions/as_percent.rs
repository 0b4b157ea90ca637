//! Series as a part of a total.

use ahash::AHashMap;

use super::Invocation;
use super::combine::path_expressions;
use super::divide::{paired, quotient, zip_longest};
use super::group::by_key;
use super::machinery::key::{Node, key};
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::aggregate::Aggregation;
use crate::series::normalize::Normalized;

/// What the series are compared with.
enum Total {
    /// Their own sum.
    Own,
    /// A number.
    Number(f64, String),
    /// Other series.
    Series(Vec<Series>),
}

pub(super) fn as_percent(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let nodes: Vec<Node> = call.literals(2).into_iter().map(Node::of).collect();
    let total = total(&mut call)?;
    let xff = call.context.x_files_factor();
    let series = call.series(0);
    if series.is_empty() {
        return Ok(series.into());
    }
    let result =
        if nodes.is_empty() { plain(series, total, xff)? } else { by_nodes(series, total, &nodes, xff)? };
    Ok(result.into())
}

fn total(call: &mut Invocation<'_>) -> Result<Total, RenderError> {
    match (call.value(1), call.float(1)) {
        (None, _) => Ok(Total::Own),
        (Some(Value::Series(_)), _) => Ok(Total::Series(call.series(1))),
        (Some(Value::Plain(literal)), Some(number)) => Ok(Total::Number(number, literal.text())),
        (Some(other), _) => {
            let shown = other.describe();
            Err(RenderError::invalid(format!(
                "asPercent cannot take {shown} as its total: use series or a number"
            )))
        }
    }
}

fn percent(part: f64, total: f64) -> f64 {
    quotient(part, total) * 100.0
}

fn plain(series: Vec<Series>, total: Total, xff: f64) -> Result<Vec<Series>, RenderError> {
    let mut all: Vec<&Series> = series.iter().collect();
    let (totals, text) = match &total {
        Total::Own => {
            let rows = normalized(&all)?;
            (
                Aggregation::Sum.rows(&rows.columns, 0.0),
                format!("sumSeries({})", path_expressions(series.iter())),
            )
        }
        Total::Number(number, text) => (vec![*number; series[0].values.len()], text.clone()),
        Total::Series(totals) if totals.len() == series.len() => return pairs(series, totals, xff),
        Total::Series(totals) => {
            let [one] = totals.as_slice() else {
                return Err(RenderError::invalid(
                    "asPercent second argument must be missing, a single digit, reference exactly 1 series or \
                     reference the same number of series as the first argument",
                ));
            };
            all.push(one);
            let rows = normalized(&all)?;
            (rows.columns.last().map(|c| c.to_vec()).unwrap_or_default(), one.name.to_string())
        }
    };
    let rows = normalized(&all)?;
    // Graphite keeps each series' own start and step here, even where its values were made coarser for the total.
    let part = |(s, column): (&Series, &std::sync::Arc<[f64]>)| {
        let name = format!("asPercent({},{text})", s.name);
        Series::new(name, (s.start, s.end, s.step), zip_longest(column, &totals, percent), xff)
    };
    Ok(series.iter().zip(&rows.columns).map(part).collect())
}

/// As many totals as series: both sorted by name and taken side by side.
fn pairs(mut series: Vec<Series>, totals: &[Series], xff: f64) -> Result<Vec<Series>, RenderError> {
    let mut totals: Vec<&Series> = totals.iter().collect();
    series.sort_by(|a, b| a.name.cmp(&b.name));
    totals.sort_by(|a, b| a.name.cmp(&b.name));
    let pair = |(part, total): (&Series, &&Series)| share(part, total, xff);
    series.iter().zip(&totals).map(pair).collect()
}

fn share(part: &Series, total: &Series, xff: f64) -> Result<Series, RenderError> {
    paired(part, total, format!("asPercent({},{})", part.name, total.name), xff, percent)
}

/// Series and totals are matched by key; a partner that is not there is called MISSING and all is null.
fn by_nodes(series: Vec<Series>, total: Total, nodes: &[Node], xff: f64) -> Result<Vec<Series>, RenderError> {
    let groups = by_key(series, |s| key(s, nodes));
    let mut last_times = None;
    let summed = |groups: Vec<(String, Vec<Series>)>| -> Result<Vec<(String, Series)>, RenderError> {
        groups.into_iter().map(|(key, group)| Ok((key, sum(group, xff)?))).collect()
    };
    let totals = match total {
        Total::Own => summed(groups.clone())?,
        Total::Series(totals) => summed(by_key(totals, |s| key(s, nodes)))?,
        Total::Number(..) => return Err(RenderError::invalid("total must be None or a seriesList")),
    };
    let by_name: AHashMap<&str, &Series> = totals.iter().map(|(key, total)| (key.as_str(), total)).collect();
    let mut result = Vec::new();
    for (key, group) in &groups {
        for part in group {
            let one = match by_name.get(key.as_str()) {
                Some(total) => share(part, total, xff)?,
                None => nulls(format!("asPercent({},MISSING)", part.name), part, last_times, xff),
            };
            last_times = Some((one.start, one.end, one.step));
            result.push(one);
        }
    }
    for (key, total) in &totals {
        if groups.iter().all(|(known, _)| known != key) {
            result.push(nulls(format!("asPercent(MISSING,{})", total.name), total, last_times, xff));
        }
    }
    Ok(result)
}

/// As long as `like`, at the times of the result before it: what Graphite does.
fn nulls(name: String, like: &Series, times: Option<(i64, i64, i64)>, xff: f64) -> Series {
    let times = times.unwrap_or((like.start, like.end, like.step));
    Series::new(name, times, vec![f64::NAN; like.values.len()], xff)
}

/// The sum of a group; a group of one is its own sum, name and all.
fn sum(mut group: Vec<Series>, xff: f64) -> Result<Series, RenderError> {
    if group.len() == 1 {
        return Ok(group.remove(0));
    }
    let rows = normalized(&group.iter().collect::<Vec<_>>())?;
    let name = format!("sumSeries({})", path_expressions(group.iter()));
    Ok(Series::new(name, rows.times(), Aggregation::Sum.rows(&rows.columns, 0.0), xff))
}

fn normalized(series: &[&Series]) -> Result<Normalized, RenderError> {
    Normalized::of(series)?.ok_or_else(|| RenderError::invalid("asPercent has no series"))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("s.a.used", 60, &[1.0, 2.0, N, 0.0])
            .with("s.b.used", 60, &[3.0, 2.0, 5.0, 0.0])
            .with("s.a.size", 60, &[4.0, 0.0, 4.0, 4.0])
            .with("s.b.size", 60, &[6.0, 8.0, N, 8.0])
            .with("s.c.size", 60, &[1.0, 1.0, 1.0, 1.0])
            .with("all", 60, &[10.0, 10.0, 10.0, N])
    }

    fn check(target: &str, expected: &[(&str, [f64; 4])]) {
        let got: Vec<_> = store().run(target).iter().map(|s| (s.name.to_string(), shown(s))).collect();
        let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), show(v))).collect();
        assert_eq!(got, expected, "{target}");
    }

    #[test]
    fn of_their_sum_a_number_or_one_series() {
        check(
            "asPercent(s.*.used)",
            &[
                ("asPercent(s.a.used,sumSeries(s.*.used))", [25.0, 50.0, N, N]),
                ("asPercent(s.b.used,sumSeries(s.*.used))", [75.0, 50.0, 100.0, N]),
            ],
        );
        check("pct(s.a.used,50)", &[("asPercent(s.a.used,50)", [2.0, 4.0, N, 0.0])]);
        check("asPercent(s.a.used,0)", &[("asPercent(s.a.used,0)", [N; 4])]);
        check("asPercent(s.a.used,total=0.5)", &[("asPercent(s.a.used,0.5)", [200.0, 400.0, N, 0.0])]);
        check(
            "asPercent(s.*.used,all)",
            &[
                ("asPercent(s.a.used,all)", [10.0, 20.0, N, N]),
                ("asPercent(s.b.used,all)", [30.0, 20.0, 50.0, N]),
            ],
        );
    }

    #[test]
    fn of_as_many_totals_matched_by_name() {
        check(
            "asPercent(s.*.used,s.{b,a}.size)",
            &[
                ("asPercent(s.a.used,s.a.size)", [25.0, N, N, 0.0]),
                ("asPercent(s.b.used,s.b.size)", [50.0, 25.0, N, 0.0]),
            ],
        );
        assert!(store().error("asPercent(s.*.used,s.*.size)").contains("the same number of series"));
        assert!(store().error("asPercent(s.*.used,nothing)").contains("the same number of series"));
        assert!(store().error("asPercent(s.*.used,'x')").contains("'x'"));
        assert!(store().run("asPercent(nothing)").is_empty());
    }

    #[test]
    fn by_nodes() {
        check(
            "asPercent(s.*.used,s.*.size,1)",
            &[
                ("asPercent(s.a.used,s.a.size)", [25.0, N, N, 0.0]),
                ("asPercent(s.b.used,s.b.size)", [50.0, 25.0, N, 0.0]),
                ("asPercent(MISSING,s.c.size)", [N; 4]),
            ],
        );
        check(
            "asPercent(s.*.used,None,1)",
            &[
                ("asPercent(s.a.used,s.a.used)", [100.0, 100.0, N, N]),
                ("asPercent(s.b.used,s.b.used)", [100.0, 100.0, 100.0, N]),
            ],
        );
        check(
            "asPercent(s.*.used,None,0)",
            &[
                ("asPercent(s.a.used,sumSeries(s.*.used))", [25.0, 50.0, N, N]),
                ("asPercent(s.b.used,sumSeries(s.*.used))", [75.0, 50.0, 100.0, N]),
            ],
        );
        check(
            "asPercent(s.{a,c}.*,s.a.size,1)",
            &[
                ("asPercent(s.a.size,s.a.size)", [100.0, N, 100.0, 100.0]),
                ("asPercent(s.a.used,s.a.size)", [25.0, N, N, 0.0]),
                ("asPercent(s.c.size,MISSING)", [N; 4]),
            ],
        );
        assert!(store().error("asPercent(s.*.used,100,1)").contains("total must be None or a seriesList"));
    }
}
