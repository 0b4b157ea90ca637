//! Series grouped by a key, each group combined into one.

use ahash::AHashMap;

use super::Invocation;
use super::combine::aggregated;
use super::key::{Node, key};
use super::registry;
use crate::render::context::Context;
use crate::render::error::RenderError;
use crate::render::exec::call_with_series;
use crate::render::series::Series;
use crate::render::value::Value;

pub(super) fn group_by_node(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let nodes: Vec<Node> = call.literals(1).into_iter().map(Node::of).collect();
    let series = call.series(0);
    grouped(&call, series, &nodes, call.text(2))
}

pub(super) fn group_by_nodes(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let nodes: Vec<Node> = call.literals(2).into_iter().map(Node::of).collect();
    let series = call.series(0);
    grouped(&call, series, &nodes, call.text(1))
}

fn grouped(
    call: &Invocation<'_>,
    series: Vec<Series>,
    nodes: &[Node],
    callback: &str,
) -> Result<Value, RenderError> {
    let groups = by_key(series, |s| key(s, nodes));
    let combine = |(key, group)| {
        let mut one = combined(call.context, group, callback)?;
        one.name = String::into(key);
        Ok(one)
    };
    Ok(groups.into_iter().map(combine).collect::<Result<Vec<_>, RenderError>>()?.into())
}

/// Groups in the order in which their keys first appear.
pub(super) fn by_key(series: Vec<Series>, key: impl Fn(&Series) -> String) -> Vec<(String, Vec<Series>)> {
    let mut at: AHashMap<String, usize> = AHashMap::new();
    let mut groups: Vec<(String, Vec<Series>)> = Vec::new();
    for s in series {
        let key = key(&s);
        let place = *at.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(s),
            None => groups.push((key, vec![s])),
        }
    }
    groups
}

/// The callback is a function of series if there is one of that name, else an aggregation.
fn combined(context: &Context<'_>, group: Vec<Series>, callback: &str) -> Result<Series, RenderError> {
    let result = if registry::row(callback).is_ok() {
        call_with_series(callback, group, context)?
    } else {
        aggregated(context, &group, callback, None)?
    };
    let none = || RenderError::invalid(format!("the callback {callback} gives no series for a group"));
    result.into_iter().next().ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("s.db.cpu", 60, &[1.0, N, 1.0, 1.0])
            .with("s.db.mem", 60, &[3.0, N, 3.0, 3.0])
            .with("s.web.cpu", 60, &[5.0, 5.0, 5.0, 5.0])
            .with("t;dc=e;host=a", 60, &[1.0; 4])
            .with("t;dc=e;host=b", 60, &[2.0; 4])
    }

    #[test]
    fn groups_are_named_by_their_keys_in_order_of_appearance() {
        for (target, expected) in [
            ("groupByNode(s.*.*,1)", vec![("db", [2.0, N, 2.0, 2.0]), ("web", [5.0; 4])]),
            ("groupByNode(s.*.*,1,'sum')", vec![("db", [4.0, N, 4.0, 4.0]), ("web", [5.0; 4])]),
            ("groupByNode(s.*.*,2,'maxSeries')", vec![("cpu", [5.0; 4]), ("mem", [3.0, N, 3.0, 3.0])]),
            (
                "groupByNode(group(s.web.*,s.db.*),1,'max')",
                vec![("web", [5.0; 4]), ("db", [3.0, N, 3.0, 3.0])],
            ),
            ("groupByNodes(s.*.cpu,'sum',0,-1)", vec![("s.cpu", [6.0, 5.0, 6.0, 6.0])]),
            ("groupByNode(scale(s.web.cpu,2),1,'sum')", vec![("web", [10.0; 4])]),
            ("groupByNode(sumSeries(s.*.cpu),1,'sum')", vec![("*", [6.0, 5.0, 6.0, 6.0])]),
            ("groupByNode(s.*.cpu,7,'countSeries')", vec![("", [2.0; 4])]),
            ("groupByNode(t;dc=e;host=*,'dc','sum')", vec![("e", [3.0; 4])]),
            ("groupByNode(s.*.cpu,1,'median')", vec![("db", [1.0, N, 1.0, 1.0]), ("web", [5.0; 4])]),
            ("groupByNode(nothing,1)", vec![]),
        ] {
            let got: Vec<_> = store().run(target).iter().map(|s| (s.name.to_string(), shown(s))).collect();
            let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), show(v))).collect();
            assert_eq!(got, expected, "{target}");
        }
    }

    #[test]
    fn path_and_tags_are_those_of_the_aggregate() {
        let got = &store().run("groupByNode(s.*.*,1,'sum')")[0];
        assert_eq!(&*got.path_expression, "sumSeries(s.*.*)");
        assert_eq!(tags(got), "name=sumSeries(s.*.*) aggregatedBy=sum");
    }

    #[test]
    fn callbacks_that_cannot_be() {
        assert!(
            store().error("groupByNode(s.*.*,1,'bogus')").contains("Unsupported aggregation function: bogus")
        );
        assert!(
            store().error("groupByNode(s.*.*,1,'scale')").contains("Missing required parameter \"factor\"")
        );
        assert!(store().error("groupByNode(s.*.*,1,'removeEmptySeries(')").contains("Unsupported"));
    }
}
