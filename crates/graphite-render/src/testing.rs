//! For tests: a source that remembers what it was asked for, and ways to look at series.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::RenderError;
use crate::eval::render;
use crate::request::Request;
use crate::series::Series;
use crate::source::{FetchRequest, Fetched, MemorySource, Source};
use plumbago_model::{Cancel, Event, EventFilter, QueryError};

/// Null.
pub(crate) const N: f64 = f64::NAN;

/// Series by name. The first value of each is at its first step after the epoch.
#[derive(Clone)]
pub(crate) struct Memory {
    series: MemorySource,
    request: Request,
    asked: Arc<Mutex<Vec<Vec<FetchRequest>>>>,
}

impl Memory {
    /// Empty, with a window of four minutes after the epoch.
    pub(crate) fn new() -> Self {
        let request = Request::new(0, 240, 100_000);
        Self { series: MemorySource::new(), request, asked: Arc::default() }
    }

    pub(crate) fn with(mut self, name: &str, step: i64, values: &[f64]) -> Self {
        self.series.insert(name, step, step, values);
        self
    }

    pub(crate) fn with_event(mut self, when: u32, tags: &str) -> Self {
        let tags = Event::tags_of(tags);
        self.series.insert_event(Event { when, what: String::new(), tags, data: String::new() });
        self
    }

    pub(crate) fn over(&self, from: i64, until: i64) -> Self {
        self.recording(Request { from, until, ..self.request.clone() })
    }

    pub(crate) fn limited(&self, max_points: usize) -> Self {
        self.recording(Request { max_points, ..self.request.clone() })
    }

    pub(crate) fn recording(&self, request: Request) -> Self {
        Self { request, asked: Arc::default(), ..self.clone() }
    }

    pub(crate) fn run(&self, target: &str) -> Vec<Series> {
        self.run_all(&[target])
    }

    pub(crate) fn run_all(&self, targets: &[&str]) -> Vec<Series> {
        let targets: Vec<String> = targets.iter().map(|t| (*t).to_owned()).collect();
        render(&targets, &self.request, self, &Cancel::never()).unwrap()
    }

    pub(crate) fn one(&self, target: &str) -> Series {
        let mut found = self.run(target);
        assert_eq!(found.len(), 1, "{target}");
        found.remove(0)
    }

    pub(crate) fn error(&self, target: &str) -> String {
        self.attempt(target).unwrap_err().to_string()
    }

    pub(crate) fn attempt(&self, target: &str) -> Result<Vec<Series>, RenderError> {
        render(&[target.to_owned()], &self.request, self, &Cancel::never())
    }

    /// Windows asked for.
    pub(crate) fn windows(&self) -> Vec<(i64, i64)> {
        self.asked.lock().iter().flatten().map(|r| (r.from, r.until)).collect()
    }

    /// Calls of `fetch`.
    pub(crate) fn batches(&self) -> usize {
        self.asked.lock().len()
    }
}

impl Source for Memory {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        self.asked.lock().push(requests.to_vec());
        self.series.fetch(requests, cancel)
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        self.series.event_times(filter, cancel)
    }
}

/// Values as text, so that nulls compare.
pub(crate) fn shown(series: &Series) -> String {
    show(&series.values)
}

pub(crate) fn show(values: &[f64]) -> String {
    format!("{values:?}")
}

pub(crate) fn names(series: &[Series]) -> Vec<&str> {
    series.iter().map(|s| &*s.name).collect()
}

pub(crate) fn tags(series: &Series) -> String {
    let pairs: Vec<String> = series.tags.pairs().iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(" ")
}
