//! `events`: how many events happened in each second.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::series::Series;
use crate::series::consolidate::Consolidation;
use plumbago_model::{EventFilter, TagFilter};

/// The only tag that is none: all events.
const ALL: &str = "*";

/// One value for each second from the start of the window to before its end; null where nothing happened.
pub(super) fn events(call: Invocation<'_>) -> Result<Value, RenderError> {
    let tags: Vec<String> = call.literals(0).iter().map(|literal| literal.text()).collect();
    let name = format!("events(\"{}\")", tags.join("\", \""));
    let tags = if tags == [ALL] { TagFilter::Whatever } else { TagFilter::All(tags) };
    let range = call.context.range;
    let seconds = usize::try_from(range.until.saturating_sub(range.from)).unwrap_or(0);
    call.context.charge(seconds)?;
    let mut values = vec![f64::NAN; seconds];
    let filter = EventFilter::between(range.from, range.until.saturating_sub(1), tags);
    for when in call.context.event_times(&filter)? {
        let at = usize::try_from(i64::from(when) - range.from).ok();
        if let Some(value) = at.and_then(|at| values.get_mut(at)) {
            *value = if value.is_nan() { 1.0 } else { *value + 1.0 };
        }
    }
    let times = (range.from, range.until, 1);
    let mut series = Series::new(name, times, values, call.context.x_files_factor());
    series.consolidation = Consolidation::named("sum");
    Ok(vec![series].into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        let store = Memory::new().over(100, 106);
        [(99, "a"), (100, "a b"), (102, "a"), (102, "b"), (105, ""), (106, "a b")]
            .into_iter()
            .fold(store, |store, (when, tags)| store.with_event(when, tags))
    }

    #[test]
    fn events_are_counted_by_the_second() {
        for (target, values) in [
            ("events('*')", [1.0, N, 2.0, N, N, 1.0]),
            ("events('a')", [1.0, N, 1.0, N, N, N]),
            ("events('b', 'a')", [1.0, N, N, N, N, N]),
            ("events('c')", [N; 6]),
            ("events('*', 'a')", [N; 6]),
        ] {
            let got = store().one(target);
            assert_eq!(shown(&got), show(&values), "{target}");
            assert_eq!((got.start, got.end, got.step), (100, 106, 1));
            assert_eq!(got.consolidation.name(), "sum");
        }
        assert_eq!(&*store().one("events('b','a')").name, r#"events("b", "a")"#);
        assert_eq!(shown(&store().one("timeShift(events('*'),'-1s')")), show(&[1.0, 1.0, N, 2.0, N, N]));
    }

    #[test]
    fn its_points_are_counted_before_they_are_made() {
        assert!(store().over(0, 1 << 40).error("events('*')").contains("query.max_points"));
        assert!(store().over(-10, -5).one("events('*')").values.iter().all(|value| value.is_nan()));
    }
}
