//! Series sorted into lists by a key, and the lists' members combined by their roles: `mapSeries` and `reduceSeries`.

use ahash::AHashMap;

use super::Invocation;
use super::group::by_key;
use super::machinery::key::{Node, key, slice};
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::eval::call_with_lists;
use crate::grammar::Literal;
use crate::series::Series;
use plumbago_model::count;

pub(super) fn map_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let nodes: Vec<Node> = call.literals(1).into_iter().map(Node::of).collect();
    let groups = by_key(call.series(0), |s| key(s, &nodes));
    Ok(Value::Lists(groups.into_iter().map(|(_, group)| group).collect()))
}

/// Series whose names agree before a node go together; that node says which argument of the function they are. The
/// lists of `mapSeries` make no difference to this, so series that are not in lists will do.
pub(super) fn reduce_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let function = call.text(1).to_owned();
    let node = call.int(2).unwrap_or(0);
    let matchers: Vec<String> = call.literals(3).iter().map(Literal::text).collect();
    let mut at: AHashMap<String, usize> = AHashMap::new();
    let mut groups: Vec<(String, Vec<Option<Series>>)> = Vec::new();
    for s in call.series(0) {
        let (prefix, role) = split_at_node(&s, node)?;
        let Some(argument) = matchers.iter().position(|matcher| *matcher == role) else { continue };
        let name = format!("{prefix}.reduce.{function}");
        let place = *at.entry(name.clone()).or_insert_with(|| {
            groups.push((name, vec![None; matchers.len()]));
            groups.len() - 1
        });
        // Of several with the same role the last one counts.
        groups[place].1[argument] = Some(s);
    }
    let reduced =
        groups.into_iter().map(|(name, roles)| reduce(call.context, &function, name, roles, &matchers));
    Ok(reduced.collect::<Result<Vec<_>, _>>()?.into())
}

/// What stands before the node, and the node itself.
fn split_at_node(series: &Series, node: i64) -> Result<(String, String), RenderError> {
    let nodes: Vec<&str> = series.name.split('.').collect();
    let before = slice(0, Some(node), nodes.len());
    let out_of_range = node < 0 && node.unsigned_abs() > nodes.len() as u64;
    match nodes.get(before.end).filter(|_| !out_of_range) {
        Some(role) => Ok((nodes[before].join("."), (*role).to_owned())),
        None => Err(RenderError::invalid(format!(
            "reduceSeries: reduceNode is {node}, but `{}` has only {}",
            series.name,
            count(nodes.len(), "node")
        ))),
    }
}

fn reduce(
    context: &Context<'_>,
    function: &str,
    name: String,
    roles: Vec<Option<Series>>,
    matchers: &[String],
) -> Result<Series, RenderError> {
    let mut lists = Vec::with_capacity(roles.len());
    for (role, matcher) in roles.into_iter().zip(matchers) {
        let missing =
            || format!("reduceSeries: reduceMatchers has `{matcher}`, but `{name}` has no such series");
        lists.push(vec![role.ok_or_else(|| RenderError::invalid(missing()))?]);
    }
    let none = || RenderError::invalid(format!("reduceSeries: {function} gives no series for `{name}`"));
    let mut one = call_with_lists(function, lists, context)?.into_iter().next().ok_or_else(none)?;
    one.name = name.into();
    Ok(one)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("s.db.free", 60, &[1.0, 2.0, N, 4.0])
            .with("s.db.size", 60, &[4.0; 4])
            .with("s.web.free", 60, &[1.0; 4])
            .with("s.web.size", 60, &[2.0; 4])
    }

    #[test]
    fn members_are_arguments_by_their_node() {
        let expected =
            [("s.db.reduce.asPercent", [25.0, 50.0, N, 100.0]), ("s.web.reduce.asPercent", [50.0; 4])];
        let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), show(v))).collect();
        for target in [
            "reduceSeries(mapSeries(s.*.*,1),'asPercent',2,'free','size')",
            "reduce(map(s.*.*,1),'asPercent',-1,'free','size')",
            "reduceSeries(s.*.*,'asPercent',2,'free','size')",
        ] {
            let got: Vec<_> = store().run(target).iter().map(|s| (s.name.to_string(), shown(s))).collect();
            assert_eq!(got, expected, "{target}");
        }
        let got = store().run("reduceSeries(mapSeries(s.*.*,1),'divideSeries',2,'size','free')");
        assert_eq!((&*got[1].name, shown(&got[1])), ("s.web.reduce.divideSeries", show(&[2.0; 4])));
        assert!(store().run("reduceSeries(s.*.*,'asPercent',2,'x','y')").is_empty());
    }

    #[test]
    fn lists_are_lists_only_in_between() {
        assert_eq!(
            names(&store().run("mapSeries(s.*.*,2)")),
            ["s.db.free", "s.web.free", "s.db.size", "s.web.size"]
        );
        assert!(
            store()
                .error("sumSeries(mapSeries(s.*.*,2))")
                .contains("\"sumSeries\" parameter \"seriesLists\"")
        );
    }

    #[test]
    fn what_cannot_be_reduced_says_why() {
        for (target, part) in [
            ("reduceSeries(map(s.*.*,1),'asPercent',7,'free','size')", "reduceNode is 7"),
            ("reduceSeries(map(s.*.*,1),'asPercent',-7,'free','size')", "reduceNode is -7"),
            ("reduceSeries(map(s.*.*,1),'asPercent',2,'free','bogus')", "no such series"),
            ("reduceSeries(map(s.*.*,1),'bogus',2,'free','size')", "unknown function: bogus"),
            ("reduceSeries(map(s.*.*,1),'scale',2,'free','size')", "parameter \"factor\""),
            ("reduceSeries(map(s.*.*,1),'unique',2)", ""),
        ] {
            if part.is_empty() {
                assert!(store().run(target).is_empty());
            } else {
                let error = store().error(target);
                assert!(error.contains(part), "{target}: {error}");
            }
        }
    }
}
