//! Series in another order.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

pub(super) fn sort_by_name(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let (natural, reverse) = (call.flag(1), call.flag(2));
    let mut keyed: Vec<(String, Series)> = call
        .series(0)
        .into_iter()
        .map(|s| (if natural { natural_key(&s.name) } else { s.name.to_string() }, s))
        .collect();
    // Python reverses the comparison, not the result: equal names keep their order.
    keyed.sort_by(|(a, _), (b, _)| if reverse { b.cmp(a) } else { a.cmp(b) });
    Ok(keyed.into_iter().map(|(_, s)| s).collect::<Vec<_>>().into())
}

/// Runs of digits are written with ten digits at least, so that plain order does the rest.
fn natural_key(name: &str) -> String {
    let mut key = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, after) = rest.split_at(at);
        let len = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let number = after[..len].trim_start_matches('0');
        key.push_str(before);
        key.extend(std::iter::repeat_n('0', 10_usize.saturating_sub(number.len())));
        key.push_str(number);
        rest = &after[len..];
    }
    key.push_str(rest);
    key
}

pub(super) fn sort_by(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let aggregation = Aggregation::named(call.text(1))?;
    let reverse = call.flag(2);
    let mut series = call.series(0);
    sort_by_aggregate(&mut series, aggregation, reverse);
    Ok(series.into())
}

/// `sortByTotal` and `sortByMaxima`: greatest first.
pub(super) fn sort_down(mut call: Invocation<'_>, by: Aggregation) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    sort_by_aggregate(&mut series, by, true);
    Ok(series.into())
}

/// Least first, without the series that never rise above zero.
pub(super) fn sort_by_minima(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    series.retain(|s| Aggregation::Max.of(&s.values) > 0.0);
    sort_by_aggregate(&mut series, Aggregation::Min, false);
    Ok(series.into())
}

/// Stable; a series without any value counts as minus infinity.
pub(super) fn sort_by_aggregate(series: &mut [Series], by: Aggregation, descending: bool) {
    series.sort_by_cached_key(|s| {
        let key = by.of(&s.values);
        let key = if key.is_nan() { f64::NEG_INFINITY } else { key };
        Order(if descending { -key } else { key })
    });
}

struct Order(f64);

impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Order {}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Order {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Adding zero makes one zero of the two, which are equal to Python.
        (self.0 + 0.0).total_cmp(&(other.0 + 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::natural_key;
    use crate::testing::*;

    #[test]
    fn natural_keys_pad_numbers() {
        assert_eq!(natural_key("a2.b"), "a0000000002.b");
        assert_eq!(natural_key("007x12345678901"), "0000000007x12345678901");
        assert_eq!(natural_key("é0"), "é0000000000");
    }

    #[test]
    fn by_name() {
        let store = Memory::new().with("h10", 60, &[1.0]).with("h2", 60, &[2.0]).with("h1", 60, &[3.0]);
        for (target, expected) in [
            ("sortByName(h*)", ["h1", "h10", "h2"]),
            ("sortByName(h*,true)", ["h1", "h2", "h10"]),
            ("sortByName(h*,natural=true,reverse=true)", ["h10", "h2", "h1"]),
            ("sortByName(h*,false,true)", ["h2", "h10", "h1"]),
            ("sortByName(group(h2,h10,h1),'true')", ["h1", "h2", "h10"]),
        ] {
            assert_eq!(names(&store.run(target)), expected, "{target}");
        }
    }

    #[test]
    fn reversing_keeps_equal_ones_in_order() {
        let store = Memory::new().with("a", 60, &[1.0; 4]).with("b", 60, &[1.0; 4]).with("c", 60, &[2.0; 4]);
        let got = store.run("sortByName(alias(group(b,a),'x'),reverse=true)");
        assert_eq!(got.iter().map(|s| &*s.path_expression).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(names(&store.run("sortBy(group(b,a,c),'max',true)")), ["c", "b", "a"]);
    }

    #[test]
    fn by_aggregates() {
        let store = Memory::new()
            .with("s.a", 60, &[1.0, 9.0, N, N])
            .with("s.b", 60, &[6.0; 4])
            .with("s.neg", 60, &[-1.0; 4])
            .with("s.none", 60, &[N; 4]);
        for (target, expected) in [
            ("sortBy(s.*)", vec!["s.none", "s.neg", "s.a", "s.b"]),
            ("sortByTotal(s.*)", vec!["s.b", "s.a", "s.neg", "s.none"]),
            ("sortByMaxima(s.*)", vec!["s.a", "s.b", "s.neg", "s.none"]),
            ("sortByMinima(s.*)", vec!["s.a", "s.b"]),
        ] {
            assert_eq!(names(&store.run(target)), expected, "{target}");
        }
    }
}
