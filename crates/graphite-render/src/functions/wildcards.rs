//! Series that differ in some nodes only become one: `sumSeriesWithWildcards` and its kin.

use super::Invocation;
use super::combine::aggregated;
use super::group::by_key;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;

pub(super) fn aggregate_with_wildcards(call: Invocation<'_>) -> Result<Value, RenderError> {
    let function = call.text(1).to_owned();
    with_wildcards(call, &function, 2)
}

/// Nodes at these positions of the names are left out; series of the same remaining name are combined. A position that
/// no name has, or a negative one, leaves nothing out.
pub(super) fn with_wildcards(
    mut call: Invocation<'_>,
    function: &str,
    positions: usize,
) -> Result<Value, RenderError> {
    let left_out: Vec<usize> = call.literals(positions).iter().filter_map(position).collect();
    let groups = by_key(call.series(0), |s| {
        let nodes = s.name.split('.').enumerate().filter(|(at, _)| !left_out.contains(at));
        nodes.map(|(_, node)| node).collect::<Vec<_>>().join(".")
    });
    let mut result = Vec::with_capacity(groups.len());
    for (key, group) in groups {
        for mut one in aggregated(call.context, &group, function, None)? {
            one.name = key.as_str().into();
            result.push(one);
        }
    }
    Ok(result.into())
}

fn position(literal: &Literal) -> Option<usize> {
    match literal {
        Literal::Int(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn nodes_that_are_left_out_decide_what_is_combined() {
        let store = Memory::new()
            .with("s.db.cpu", 60, &[1.0, N, 1.0, 1.0])
            .with("s.db.mem", 60, &[3.0, N, 3.0, 3.0])
            .with("s.web.cpu", 60, &[5.0, 5.0, 5.0, 5.0]);
        for (target, expected) in [
            (
                "sumSeriesWithWildcards(s.*.*,1)",
                vec![("s.cpu", [6.0, 5.0, 6.0, 6.0]), ("s.mem", [3.0, N, 3.0, 3.0])],
            ),
            (
                "averageSeriesWithWildcards(s.*.*,0,2)",
                vec![("db", [2.0, N, 2.0, 2.0]), ("web", [5.0, 5.0, 5.0, 5.0])],
            ),
            ("multiplySeriesWithWildcards(s.*.cpu,1)", vec![("s.cpu", [5.0, N, 5.0, 5.0])]),
            ("aggregateWithWildcards(s.*.*,'max',1,2)", vec![("s", [5.0, 5.0, 5.0, 5.0])]),
            ("aggregateWithWildcards(s.*.*,'count',0,1,2)", vec![("", [3.0, 1.0, 3.0, 3.0])]),
            ("sumSeriesWithWildcards(s.db.cpu,-1,9)", vec![("s.db.cpu", [1.0, N, 1.0, 1.0])]),
            ("sumSeriesWithWildcards(nothing,1)", vec![]),
        ] {
            let got: Vec<_> = store.run(target).iter().map(|s| (s.name.to_string(), shown(s))).collect();
            let expected: Vec<_> = expected.iter().map(|(n, v)| ((*n).to_owned(), show(v))).collect();
            assert_eq!(got, expected, "{target}");
        }
        let got = &store.run("sumSeriesWithWildcards(s.*.*,1)")[0];
        assert_eq!(&*got.path_expression, "sumSeries(s.*.*)");
        assert!(store.error("aggregateWithWildcards(s.*.*,'bogus',1)").contains("bogus"));
        assert!(store.error("sumSeriesWithWildcards(s.*.*,'x')").contains("\"position\""));
    }
}
