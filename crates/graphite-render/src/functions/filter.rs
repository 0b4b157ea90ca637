//! Some of the series: by name, or by an aggregate against a threshold.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::search::Search;
use crate::series::aggregate::Aggregation;

/// `grep` keeps what matches, `exclude` the rest.
pub(super) fn by_name(mut call: Invocation<'_>, keep_matches: bool) -> Result<Value, RenderError> {
    let pattern = Search::new(call.text(1))?;
    let mut kept = Vec::new();
    for s in call.series(0) {
        if pattern.is_found(&s.name)? == keep_matches {
            kept.push(s);
        }
    }
    Ok(kept.into())
}

pub(super) fn filter_series(call: Invocation<'_>) -> Result<Value, RenderError> {
    let aggregation = Aggregation::named(call.text(1))?;
    let test: fn(f64, f64) -> bool = match call.text(2) {
        "=" => |a, b| a == b,
        "!=" => |a, b| a != b,
        ">" => |a, b| a > b,
        ">=" => |a, b| a >= b,
        "<" => |a, b| a < b,
        "<=" => |a, b| a <= b,
        other => return Err(RenderError::invalid(format!("Unsupported operator: {other}"))),
    };
    filtered(call, 3, aggregation, test)
}

/// `averageAbove` and its kin.
pub(super) fn above(call: Invocation<'_>, by: Aggregation) -> Result<Value, RenderError> {
    filtered(call, 1, by, |value, threshold| value > threshold)
}

/// `averageBelow` and its kin: the threshold itself is still below.
pub(super) fn below(call: Invocation<'_>, by: Aggregation) -> Result<Value, RenderError> {
    filtered(call, 1, by, |value, threshold| value <= threshold)
}

/// A series without any value counts as minus infinity.
fn filtered(
    mut call: Invocation<'_>,
    threshold: usize,
    by: Aggregation,
    test: fn(f64, f64) -> bool,
) -> Result<Value, RenderError> {
    let threshold = call.float_or(threshold, f64::NAN);
    let mut series = call.series(0);
    series.retain(|s| {
        let value = by.of(&s.values);
        test(if value.is_nan() { f64::NEG_INFINITY } else { value }, threshold)
    });
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn by_name_and_by_aggregate() {
        let store = Memory::new()
            .with("s.db1", 60, &[1.0, 2.0, 3.0, N])
            .with("s.none", 60, &[N; 4])
            .with("s.web1", 60, &[5.0; 4])
            .with("s.web2", 60, &[2.0; 4]);
        for (target, expected) in [
            ("grep(s.*,'web[12]')", vec!["s.web1", "s.web2"]),
            ("exclude(s.*,'web[12]')", vec!["s.db1", "s.none"]),
            ("grep(alias(s.db1,'x y'),'^x')", vec!["x y"]),
            ("averageAbove(s.*,2)", vec!["s.web1"]),
            ("averageBelow(s.*,2)", vec!["s.db1", "s.none", "s.web2"]),
            ("maximumAbove(s.*,2)", vec!["s.db1", "s.web1"]),
            ("minimumBelow(s.*,1)", vec!["s.db1", "s.none"]),
            ("currentAbove(s.*,2.5)", vec!["s.db1", "s.web1"]),
            ("filterSeries(s.*,'sum','>=',8)", vec!["s.web1", "s.web2"]),
            ("filterSeries(s.*,'max','!=',5)", vec!["s.db1", "s.none", "s.web2"]),
        ] {
            assert_eq!(names(&store.run(target)), expected, "{target}");
        }
        assert!(store.error("filterSeries(s.*,'max','~',5)").contains("Unsupported operator: ~"));
        assert!(store.error("grep(s.*,'[')").contains("regular expression `[`"));
    }
}
