//! New names for series.

use super::Invocation;
use super::machinery::key::{Node, key};
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::search::Search;

pub(super) fn alias(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    series.iter_mut().for_each(|s| s.name = call.text(1).into());
    Ok(series.into())
}

/// `aliasByNode` and `aliasByTags`.
pub(super) fn alias_by_node(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let nodes: Vec<Node> = call.literals(1).into_iter().map(Node::of).collect();
    let mut series = call.series(0);
    series.iter_mut().for_each(|s| s.name = key(s, &nodes).into());
    Ok(series.into())
}

pub(super) fn alias_sub(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    // An expression with nothing to search is not looked at, as in graphite-web.
    if series.is_empty() {
        return Ok(series.into());
    }
    let search = Search::new(call.text(1))?;
    let replacement = search.replacement(call.text(2))?;
    for s in &mut series {
        call.is_wanted()?;
        s.name = search.replace(&s.name, &replacement)?.into();
    }
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new().with("srv.db01.cpu", 60, &[1.0; 4]).with("srv.web01.cpu", 60, &[2.0; 4]).with(
            "cpu;dc=east;host=a",
            60,
            &[3.0; 4],
        )
    }

    #[test]
    fn names_change_and_nothing_else_does() {
        let got = store().one("alias(srv.db01.cpu,\"My Name\")");
        assert_eq!((&*got.name, &*got.path_expression), ("My Name", "srv.db01.cpu"));
        assert_eq!(tags(&got), "name=srv.db01.cpu");
        assert_eq!(&*store().one("alias(srv.db01.cpu,5)").name, "5");
    }

    #[test]
    fn nodes_and_tags_make_names() {
        for (target, expected) in [
            ("aliasByNode(srv.*.cpu,1)", vec!["db01", "web01"]),
            ("aliasByNode(srv.*.cpu,2,-2)", vec!["cpu.db01", "cpu.web01"]),
            ("aliasByNode(scale(srv.*.cpu,2),1)", vec!["db01", "web01"]),
            ("aliasByNode(sumSeries(srv.*.cpu),1)", vec!["*"]),
            ("aliasByNode(cpu;dc=east;host=a,'dc',0)", vec!["east.cpu"]),
            ("aliasByTags(cpu;dc=east;host=a,'dc','host')", vec!["east.a"]),
            ("aliasByNode(srv.db01.cpu,'1')", vec![""]),
        ] {
            assert_eq!(names(&store().run(target)), expected, "{target}");
        }
        assert!(store().error("aliasByNode(srv.db01.cpu,1.5)").contains("\"nodeOrTag\""));
    }

    #[test]
    fn substitution_is_pythons() {
        for (target, expected) in [
            (r#"aliasSub(srv.db01.cpu,"^.*\.(web|db)(\d+).*$","\1-\2")"#, "db-01"),
            (r#"aliasSub(srv.db01.cpu,"(^.*$)","\1 A")"#, "srv.db01.cpu A"),
            (r#"aliasSub(alias(srv.db01.cpu,"a b"),"(^.*$)","\1 A")"#, "a b A"),
            (r#"aliasSub(srv.db01.cpu,"\.","/")"#, "srv/db01/cpu"),
        ] {
            assert_eq!(&*store().one(target).name, expected, "{target}");
        }
        assert!(store().error(r#"aliasSub(srv.db01.cpu,"(","x")"#).contains("`(`"));
    }
}
