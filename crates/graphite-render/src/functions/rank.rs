//! The first few series by some aggregate: `highest`, `lowest` and their short forms; and `limit`.

use super::Invocation;
use super::machinery::key::slice;
use super::sort::sort_by_aggregate;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

pub(super) fn highest(call: Invocation<'_>) -> Result<Value, RenderError> {
    let aggregation = Aggregation::named(call.text(2))?;
    ranked(call, aggregation, true)
}

pub(super) fn lowest(call: Invocation<'_>) -> Result<Value, RenderError> {
    let aggregation = Aggregation::named(call.text(2))?;
    ranked(call, aggregation, false)
}

/// Ties keep their order, whichever way round.
pub(super) fn ranked(mut call: Invocation<'_>, by: Aggregation, highest: bool) -> Result<Value, RenderError> {
    let n = call.int(1).unwrap_or(1);
    let mut series = call.series(0);
    sort_by_aggregate(&mut series, by, highest);
    Ok(first(series, n).into())
}

pub(super) fn limit(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let n = call.int(1).unwrap_or(0);
    Ok(first(call.series(0), n).into())
}

/// A negative number leaves out that many at the end.
pub(super) fn first(mut series: Vec<Series>, n: i64) -> Vec<Series> {
    series.truncate(slice(0, Some(n), series.len()).end);
    series
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn the_best_come_first_and_ties_keep_their_order() {
        let store = Memory::new()
            .with("s.a", 60, &[1.0, 9.0, N, N])
            .with("s.b", 60, &[6.0, 6.0, 6.0, 6.0])
            .with("s.c", 60, &[5.0, 5.0, 5.0, 5.0])
            .with("s.d", 60, &[N; 4])
            .with("s.e", 60, &[2.0, 2.0, 2.0, 7.0]);
        for (target, expected) in [
            ("highestAverage(s.*,2)", vec!["s.b", "s.a"]),
            ("highestMax(s.*,2)", vec!["s.a", "s.e"]),
            ("highestCurrent(s.*,1)", vec!["s.a"]),
            ("lowestAverage(s.*,2)", vec!["s.d", "s.e"]),
            ("lowestCurrent(s.*,3)", vec!["s.d", "s.c", "s.b"]),
            ("highest(s.*,1,'min')", vec!["s.b"]),
            ("highest(s.*)", vec!["s.b"]),
            ("highest(s.*,n=-4)", vec!["s.b"]),
            ("lowest(s.*,2,'sum')", vec!["s.d", "s.a"]),
            ("limit(s.*,2)", vec!["s.a", "s.b"]),
            ("limit(s.*,-4)", vec!["s.a"]),
            ("limit(s.*,0)", vec![]),
            ("limit(s.*,99)", vec!["s.a", "s.b", "s.c", "s.d", "s.e"]),
        ] {
            assert_eq!(names(&store.run(target)), expected, "{target}");
        }
        assert!(store.error("highest(s.*,1,'bogus')").contains("Unsupported aggregation function: bogus"));
    }
}
