//! A source that holds its series in memory.

use std::collections::BTreeMap;

use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Event, EventFilter, QueryError, untagged};

use super::{FetchRequest, Fetched, Source};

/// Series and events in memory: for tests, for small programs, and as a pattern for a source of your own.
///
/// Paths match by Graphite's rules for globs, `seriesByTag` by the tags in the names (`cpu;host=a`). A name without tags is found by
/// `name=…` where no tagged series is.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    series: BTreeMap<String, Stored>,
    events: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Stored {
    /// Time of the first value, a multiple of the step.
    first: i64,
    step: i64,
    values: Vec<f64>,
}

impl MemorySource {
    /// A source without any series.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a series, or replaces the one of that name. `values[i]` belongs to the second `first + i * step`; NaN is null.
    ///
    /// Graphite knows no other times than multiples of the step, so `first` is rounded down to one. A step below one
    /// second counts as one second.
    pub fn insert(&mut self, name: impl Into<String>, first: i64, step: i64, values: impl Into<Vec<f64>>) {
        let step = step.max(1);
        let stored = Stored { first: first - first.rem_euclid(step), step, values: values.into() };
        self.series.insert(name.into(), stored);
    }

    /// Adds an event for the function `events()`.
    pub fn insert_event(&mut self, event: Event) {
        let place = self.events.partition_point(|known| known.when <= event.when);
        self.events.insert(place, event);
    }

    fn find(&self, request: &FetchRequest) -> Result<Vec<Fetched>, QueryError> {
        let glob = match request.tags {
            None => Some(Glob::parse(&request.pattern)?),
            Some(_) => None,
        };
        let matches = |name: &str| match (&request.tags, &glob) {
            (Some(query), _) => query.matches(name),
            (None, Some(glob)) => glob.matches(name),
            (None, None) => false,
        };
        let found = self.series.iter().filter(|(name, _)| matches(name));
        let found: Vec<Fetched> = found.map(|(name, stored)| stored.window(name, request)).collect();
        if found.is_empty()
            && let Some(query) = &request.tags
            && let Some((name, stored)) =
                untagged(&query.conditions()).and_then(|name| self.series.get_key_value(name))
        {
            return Ok(vec![stored.window(name, request)]);
        }
        Ok(found)
    }
}

impl Stored {
    /// The values of `(from, until]`, null wherever nothing is stored.
    fn window(&self, name: &str, request: &FetchRequest) -> Fetched {
        let step = self.step;
        let start = request.from - request.from.rem_euclid(step) + step;
        let end = (request.until - request.until.rem_euclid(step) + step).max(start);
        let skipped = (start - self.first) / step;
        let value = |i: i64| {
            let at = usize::try_from(skipped + i).ok();
            at.and_then(|at| self.values.get(at)).copied().unwrap_or(f64::NAN)
        };
        let values = (0..(end - start) / step).map(value).collect();
        Fetched { name: name.to_owned(), start, end, step, values }
    }
}

impl Source for MemorySource {
    fn fetch(&self, requests: &[FetchRequest], _: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        requests.iter().map(|request| self.find(request)).collect()
    }

    fn event_times(&self, filter: &EventFilter, _: &Cancel) -> Result<Vec<u32>, QueryError> {
        Ok(self.events.iter().filter(|event| filter.takes(event)).map(|event| event.when).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::TimeRange;

    fn fetch(source: &MemorySource, pattern: &str, from: i64, until: i64) -> Vec<Fetched> {
        let request = FetchRequest::path(pattern, TimeRange { from, until }, until);
        source.fetch(&[request], &Cancel::never()).unwrap().remove(0)
    }

    #[test]
    fn windows_begin_after_from_and_lie_on_the_step() {
        let mut source = MemorySource::new();
        source.insert("a.b", 65, 10, [1.0, 2.0, 3.0]);
        let got = fetch(&source, "a.*", 45, 85).remove(0);
        assert_eq!((got.start, got.end, got.step), (50, 90, 10));
        assert_eq!(format!("{:?}", got.values), "[NaN, 1.0, 2.0, 3.0]");
        assert_eq!(fetch(&source, "a.b", 85, 45)[0].values.len(), 0);
    }

    #[test]
    fn stars_stay_within_a_node_and_names_come_sorted() {
        let mut source = MemorySource::new();
        for name in ["b.x", "a.x", "a.x.y"] {
            source.insert(name, 0, 60, [1.0]);
        }
        let names: Vec<String> = fetch(&source, "*.x", 0, 60).into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["a.x", "b.x"]);
    }

    #[test]
    fn a_name_that_is_written_out_finds_the_series_without_tags() {
        let store = crate::testing::Memory::new().with("disk", 60, &[1.0; 4]).with("cpu", 60, &[1.0; 4]);
        let store = store.with("cpu;host=a", 60, &[1.0; 4]);
        for (target, names) in [
            ("seriesByTag('name=disk')", &["disk"][..]),
            ("seriesByTag('name=~disk')", &[]),
            ("seriesByTag('name=cpu')", &["cpu;host=a"]),
        ] {
            assert_eq!(crate::testing::names(&store.run(target)), names, "{target}");
        }
    }

    #[test]
    fn an_escape_makes_a_wildcard_plain() {
        let store = |name: &str| crate::testing::Memory::new().with(name, 60, &[1.0; 4]);
        for (name, target) in [
            ("disk.{cu}.x", r"disk.\{cu\}.x"),
            (r"back\slash", r"back\\slash"),
            ("a.x[1]", r"sumSeries(a.x\[1\])"),
            ("a.b*", r"a.b\*|scale(2)"),
            ("a,b", r"a{\,,c}b"),
        ] {
            assert_eq!(store(name).run(target).len(), 1, "{target}");
        }
        assert!(store("disk.cu.x").run(r"disk.\{cu\}.x").is_empty());
    }

    #[test]
    fn a_later_insert_replaces_the_series_and_a_step_of_zero_is_a_second() {
        let mut source = MemorySource::new();
        source.insert("a", 0, 60, [1.0]);
        source.insert("a", 1, 0, [5.0]);
        let got = fetch(&source, "a", 0, 1).remove(0);
        assert_eq!((got.step, &*got.values), (1, &[5.0][..]));
    }
}
