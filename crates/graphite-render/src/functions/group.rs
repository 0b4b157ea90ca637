//! Series grouped by a key, each group combined into one.

use std::sync::Arc;

use ahash::AHashMap;

use super::Invocation;
use super::combine::aggregated;
use super::machinery::key::{Node, key};
use super::registry;
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::eval::call_with_lists;
use crate::grammar::Literal;
use crate::series::Series;
use crate::series::Tags;

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

/// Groups by the values of tags. A group is named, and tagged, by its metric and these tags alone.
pub(super) fn group_by_tags(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut tags: Vec<String> = call.literals(2).iter().map(Literal::text).collect();
    if tags.is_empty() {
        return Err(RenderError::invalid("groupByTags(): no tags specified"));
    }
    let by_name = tags.iter().any(|tag| tag == "name");
    tags.retain(|tag| tag != "name");
    let series = call.series(0);
    let callback = call.text(1);
    let shared =
        if by_name { None } else { Some(shared_name(&series).unwrap_or_else(|| callback.to_owned())) };
    let mut keyed = Vec::with_capacity(series.len());
    for s in series {
        let name = shared.clone().or_else(|| s.tags.get("name")).unwrap_or_default();
        keyed.push((tagged_name(&s, name, &tags)?, s));
    }
    let mut result = Vec::new();
    for (key, group) in by_known_key(keyed) {
        let mut one = combined(call.context, group, callback)?;
        one.rename(key);
        one.tags = Tags::of_name(Arc::clone(&one.name));
        result.push(one);
    }
    Ok(result.into())
}

/// The tag `name` of all series, if they have it in common.
fn shared_name(series: &[Series]) -> Option<String> {
    let first = series.first()?.tags.get("name")?;
    series.iter().all(|s| s.tags.has("name", &first)).then_some(first)
}

/// `metric;k=v;...`, with the tags in the order of their texts.
fn tagged_name(series: &Series, metric: String, tags: &[String]) -> Result<String, RenderError> {
    let mut pairs = Vec::with_capacity(tags.len());
    for tag in tags {
        match series.tags.get(tag).filter(|value| !value.is_empty()) {
            Some(value) => pairs.push(format!(";{tag}={value}")),
            None => {
                let text = format!("groupByTags(): `{}` has no tag `{tag}`", series.name);
                return Err(RenderError::invalid(text));
            }
        }
    }
    pairs.sort_unstable();
    Ok(metric + &pairs.concat())
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
    by_known_key(series.into_iter().map(|s| (key(&s), s)))
}

fn by_known_key(keyed: impl IntoIterator<Item = (String, Series)>) -> Vec<(String, Vec<Series>)> {
    let mut at: AHashMap<String, usize> = AHashMap::new();
    let mut groups: Vec<(String, Vec<Series>)> = Vec::new();
    for (key, s) in keyed {
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
        call_with_lists(callback, vec![group], context)?
    } else {
        aggregated(context, &group, callback, None)?
    };
    let none = || RenderError::invalid(format!("the callback {callback} gives no series for a group"));
    result.into_iter().next().ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

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
    fn groups_by_tags_have_only_these() {
        for (target, name, tagged) in [
            ("groupByTags(t;dc=e;host=*,'sum','dc')", "t;dc=e", "dc=e name=t"),
            ("groupByTags(t;dc=e;host=*,'sumSeries','host','dc')", "t;dc=e;host=a", "dc=e host=a name=t"),
            ("groupByTags(t;dc=e;host=*,'sum','name')", "t", "name=t"),
            (
                "groupByTags(group(t;dc=e;host=a,alias(t;dc=e;host=b,'x')),'max','dc','name')",
                "t;dc=e",
                "dc=e name=t",
            ),
        ] {
            let got = &store().run(target)[0];
            assert_eq!(
                (&*got.name, &*got.path_expression, tags(got).as_str()),
                (name, name, tagged),
                "{target}"
            );
        }
        let mixed = store().with("u;dc=e", 60, &[4.0; 4]);
        let got = mixed.one("groupByTags(group(t;dc=e;host=a,u;dc=e),'sum','dc')");
        assert_eq!((&*got.name, shown(&got)), ("sum;dc=e", show(&[5.0; 4])));
        assert!(mixed.error("groupByTags(u;dc=e,'sum','host')").contains("`u;dc=e` has no tag `host`"));
        assert!(mixed.error("groupByTags(u;dc=e,'sum')").contains("no tags specified"));
        assert!(mixed.run("groupByTags(nothing,'sum','dc')").is_empty());
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
