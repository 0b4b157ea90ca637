//! Functions that make new targets of the names they are given.

use super::Invocation;
use super::machinery::key::slice;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::percent::percent;
use crate::python::search::Search;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

/// The language reads these calls as fetches; only as a callback is it a function.
pub(super) fn series_by_tag(call: Invocation<'_>) -> Result<Value, RenderError> {
    Err(RenderError::invalid(format!("{} cannot be a callback", call.name())))
}

/// The name of each series holds the last value of another, whose path is made of the series' own name.
pub(super) fn alias_query(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    let queries = replaced_names(&call, &series, 1)?;
    let found = call.context.evaluate_texts(&queries)?;
    for ((s, query), found) in series.iter_mut().zip(&queries).zip(found) {
        let Some(other) = found.first() else {
            return Err(RenderError::invalid(format!("aliasQuery: no series found with query: {query}")));
        };
        let current = Aggregation::Last.of(&other.values);
        if current.is_nan() {
            return Err(RenderError::invalid(format!("aliasQuery: {} has no last value", other.name)));
        }
        let name = percent(call.text(3), current);
        s.name = name.map_err(|error| RenderError::invalid(format!("aliasQuery: newName: {error}")))?.into();
    }
    Ok(series.into())
}

/// Other series in the place of those that exceed a value; a series that is never known exceeds nothing.
pub(super) fn use_series_above(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let value = call.float_or(1, f64::NAN);
    let mut series = call.series(0);
    series.retain(|s| Aggregation::Max.of(&s.values) > value);
    let queries = replaced_names(&call, &series, 2)?;
    let mut found: Vec<Series> = call.context.evaluate_texts(&queries)?.into_iter().flatten().collect();
    found.retain(|s| !s.values.is_empty());
    Ok(found.into())
}

/// The names with what a regular expression finds replaced; `search` is followed by the replacement.
fn replaced_names(
    call: &Invocation<'_>,
    series: &[Series],
    search: usize,
) -> Result<Vec<String>, RenderError> {
    if series.is_empty() {
        return Ok(Vec::new());
    }
    let pattern = Search::new(call.text(search))?;
    let replacement = pattern.replacement(call.text(search + 1))?;
    Ok(series.iter().map(|s| pattern.replace(&s.name, &replacement)).collect::<Result<_, _>>()?)
}

/// A target for each different beginning of the names. What it gives stands at the times of the last series.
pub(super) fn apply_by_node(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let node = call.int(1).unwrap_or(0);
    let stop = node.saturating_add(1);
    let series = call.series(0);
    if let Some(short) = series.iter().find(|s| s.name.split('.').count() as i64 <= node) {
        let text = format!("applyByNode: the name {} has no node {node}; nodes count from 0", short.name);
        return Err(RenderError::invalid(text));
    }
    let Some(last) = series.last() else { return Ok(Vec::new().into()) };
    let mut prefixes: Vec<String> = series.iter().map(|s| first_nodes(&s.name, stop)).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    let targets: Vec<String> = prefixes.iter().map(|prefix| call.text(2).replace('%', prefix)).collect();
    let mut result = Vec::new();
    for (prefix, found) in prefixes.iter().zip(call.context.evaluate_texts(&targets)?) {
        for mut s in found {
            if !call.text(3).is_empty() {
                s.name = call.text(3).replace('%', prefix).into();
            }
            s.path_expression = prefix.as_str().into();
            (s.start, s.end) = (last.start, last.end);
            result.push(s);
        }
    }
    Ok(result.into())
}

fn first_nodes(name: &str, stop: i64) -> String {
    let nodes: Vec<&str> = name.split('.').collect();
    nodes[slice(0, Some(stop), nodes.len())].join(".")
}

#[cfg(test)]
mod tests {
    use crate::request::Request;
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("s.db.free", 60, &[1.0, 2.0, N, N])
            .with("s.db.size", 60, &[4.0; 4])
            .with("s.web.free", 60, &[1.0; 4])
            .with("s.web.size", 60, &[2.0; 4])
            .with("s.none.free", 60, &[N; 4])
    }

    #[test]
    fn names_hold_values_of_other_series() {
        let got = store().run("aliasQuery(s.{db,web}.size,'size','free','%.1f free')");
        assert_eq!(names(&got), ["2.0 free", "1.0 free"]);
        assert_eq!((&*got[0].path_expression, shown(&got[0])), ("s.{db,web}.size", show(&[4.0; 4])));
        let got = store().run(r#"aliasQuery(s.web.size,"^(.*)$","scale(\1,10)","%d")"#);
        assert_eq!(names(&got), ["20"]);
        for (target, part) in [
            ("aliasQuery(s.db.size,'size','bogus','%d')", "no series found with query: s.db.bogus"),
            ("aliasQuery(s.db.size,'db.size','none.free','%d')", "s.none.free has no last value"),
            ("aliasQuery(s.db.size,'size','free','plain')", "newName: the format `plain`"),
            ("aliasQuery(s.db.size,'size','(','%d')", "cannot read the target"),
            ("aliasQuery(s.db.size,'(','x','%d')", "regular expression `(`"),
        ] {
            let error = store().error(target);
            assert!(error.contains(part), "{target}: {error}");
        }
        assert!(store().run("aliasQuery(nothing,'a','b','%d')").is_empty());
    }

    #[test]
    fn series_above_a_value_are_replaced() {
        assert_eq!(names(&store().run("useSeriesAbove(s.*.free,1,'free','size')")), ["s.db.size"]);
        assert_eq!(
            names(&store().run("useSeriesAbove(s.*.free,0,'free','size')")),
            ["s.db.size", "s.web.size"]
        );
        assert!(store().run("useSeriesAbove(s.*.free,10,'free','size')").is_empty());
        assert!(store().run("useSeriesAbove(s.*.free,0,'free','bogus')").is_empty());
        let asked = store();
        asked.run("useSeriesAbove(s.*.free,0,'free','size')");
        assert_eq!(asked.batches(), 2, "all replacements at once");
    }

    #[test]
    fn targets_are_made_of_the_first_nodes() {
        for (target, expected) in [
            (
                "applyByNode(s.{db,web}.*,1,'divideSeries(%.free,%.size)')",
                vec![
                    ("divideSeries(s.db.free,s.db.size)", [0.25, 0.5, N, N]),
                    ("divideSeries(s.web.free,s.web.size)", [0.5; 4]),
                ],
            ),
            (
                "applyByNode(s.{web,db}.*,1,'sumSeries(%.*)','% all')",
                vec![("s.db all", [5.0, 6.0, 4.0, 4.0]), ("s.web all", [3.0; 4])],
            ),
            ("applyByNode(s.*.size,-3,'%.web.size')", vec![("s.web.size", [2.0; 4])]),
            ("applyByNode(s.*.size,1,'%.bogus')", vec![]),
            ("applyByNode(nothing,1,'%.size')", vec![]),
        ] {
            let got: Vec<_> = store().run(target).iter().map(|s| (s.name.to_string(), shown(s))).collect();
            let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), show(v))).collect();
            assert_eq!(got, expected, "{target}");
        }
        assert_eq!(&*store().one("applyByNode(s.db.size,1,'%.size')").path_expression, "s.db");
        assert!(store().error("applyByNode(s.db.size,1,'sumSeries(%')").contains("cannot read the target"));
        assert!(store().error("applyByNode(s.db.size,1,'bogus(%)')").contains("unknown function: bogus"));
        assert!(store().error("applyByNode(s.*.size,3,'%')").contains("the name s.db.size has no node 3"));
        assert_eq!(names(&store().run("applyByNode(s.db.size,2,'%')")), ["s.db.size"]);
    }

    /// Values of the request can hold both kinds of quotes, and so the very target they are used in.
    #[test]
    fn targets_that_make_themselves_are_stopped() {
        let target = "template(applyByNode(alias(a,$x),0,$y))";
        let mut request = Request::new(0, 240, 240);
        request.template = [("x", target), ("y", "%")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let store = Memory::new().with("a", 60, &[1.0; 4]).recording(request);
        assert!(store.error(target).contains("targets made by targets"));
    }
}
