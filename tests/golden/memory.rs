//! The series of `data.test` behind the HTTP API: the real index, and values with the windows that our store gives.

use std::sync::Arc;

use graphite_render::{FetchRequest, Fetched, Source};
use plumbago::auth::Sender;
use plumbago::http::browser::Browse;
use plumbago::http::{Backend, EventLog, NameStream, Node, TaggedSeries, Visitor};
use plumbago::index::{Asked, FindLimits, Index, SharedIndex, Sight};
use plumbago::parse::Limits;
use plumbago_model::glob::Glob;
use plumbago_model::{
    Batch, Cancel, Event, EventFilter, EventId, Judged, MetricId, Overload, QueryError, Verdict,
};

use super::data::Stored;

const LIMITS: FindLimits = FindLimits::names(1000);

/// The data set; a metric's id is its place in it.
pub(crate) struct Memory {
    series: Vec<Stored>,
    events: Vec<Event>,
    index: SharedIndex,
}

impl Memory {
    pub(crate) fn new(series: Vec<Stored>, events: Vec<Event>) -> Self {
        let mut index = Index::new();
        for (id, stored) in series.iter().enumerate() {
            index.insert(MetricId(id as u32), &stored.name).expect("a new name");
        }
        Self { series, events, index: SharedIndex::new(index) }
    }

    /// As graphite-web numbers them: from 1 in the order they were posted.
    fn events_by_time(&self, filter: &EventFilter) -> Vec<(EventId, Event)> {
        let numbered = (1..).map(EventId).zip(self.events.iter().cloned());
        let mut found: Vec<_> = numbered.filter(|(_, event)| filter.takes(event)).collect();
        found.sort_by_key(|(_, event)| event.when);
        found
    }

    fn fetch_one(&self, request: &FetchRequest, cancel: &Cancel) -> Result<Vec<Fetched>, QueryError> {
        let leaves = match &request.tags {
            Some(query) => {
                let asked = Asked { text: &request.pattern, conditions: &query.conditions() };
                self.index.find_tagged(asked, LIMITS, cancel)
            }
            None => {
                let glob = Glob::parse(&request.pattern)?;
                self.index.find_leaves(&glob, LIMITS, cancel)
            }
        };
        let leaves = leaves?;
        let series = |(id, _): (MetricId, String)| &self.series[id.0 as usize];
        Ok(leaves.into_iter().map(|leaf| window(series(leaf), request.from, request.until)).collect())
    }
}

impl Source for Memory {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        requests.iter().map(|request| self.fetch_one(request, cancel)).collect()
    }

    fn event_times(&self, filter: &EventFilter, _: &Cancel) -> Result<Vec<u32>, QueryError> {
        Ok(self.events_by_time(filter).iter().map(|(_, event)| event.when).collect())
    }
}

/// `(from, until]`, on multiples of the step; null wherever nothing is stored.
fn window(series: &Stored, from: i64, until: i64) -> Fetched {
    let step = series.step;
    let start = from - from.rem_euclid(step) + step;
    let end = (until - until.rem_euclid(step) + step).max(start);
    let value = |i: i64| {
        let at = usize::try_from((start - series.first) / step + i).ok();
        at.and_then(|at| series.values.get(at)).copied().unwrap_or(f64::NAN)
    };
    let values: Arc<[f64]> = (0..(end - start) / step).map(value).collect();
    Fetched { name: series.name.clone(), start, end, step, values }
}

impl Backend for Memory {
    fn of(self: Arc<Self>, _: &Sender) -> Arc<dyn Backend> {
        self
    }

    fn source(&self) -> &dyn Source {
        self
    }

    fn browse(&self) -> &dyn Browse {
        unreachable!("the goldens ask for what graphite-web answers")
    }

    fn find(
        &self,
        query: &str,
        _: Option<(i64, i64)>,
        cancel: &Cancel,
        visitor: &mut dyn Visitor,
    ) -> Result<(), QueryError> {
        let glob = Glob::parse(query)?;
        let found = self.index.find(&glob, LIMITS, cancel)?;
        let span = |id: MetricId| {
            let s = &self.series[id.0 as usize];
            Some((s.first as u32, (s.first + s.step * s.values.len() as i64) as u32))
        };
        for f in found.iter() {
            let (leaf, directory) = (f.leaf.is_some(), f.directory);
            visitor.visit(Node { path: f.path, leaf, directory, span: f.leaf.and_then(span) });
        }
        Ok(())
    }

    /// Without the tagged ones, which graphite-web keeps in a tree of their own.
    fn names(&self, begin: &str) -> NameStream {
        let mut names: Vec<String> = self.series.iter().map(|s| s.name.clone()).collect();
        names.retain(|name| !name.contains(';') && name.starts_with(begin));
        names.sort_unstable();
        let mut names = names.into_iter();
        Box::new(move |limit| names.by_ref().take(limit).collect())
    }

    fn flush(&self, _settle: bool) -> Result<(), String> {
        Ok(())
    }

    fn write(&self, _: &[u8]) -> Result<Verdict, String> {
        Err("the goldens are only read".to_owned())
    }

    fn take(&self, _: &Batch<'_>) -> Result<Judged, Overload> {
        Err(Overload::Unwell("the goldens are only read".to_owned()))
    }

    fn limits(&self) -> Limits {
        Limits { now: 0, max_future_secs: 0, keep_infinite: true, max_line_bytes: 0, max_name_bytes: 0 }
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn prometheus(&self) -> String {
        String::new()
    }
}

impl TaggedSeries for Memory {
    fn index(&self) -> Result<Sight<'_>, QueryError> {
        Ok(self.index.all())
    }

    fn tag_series(&self, _: &[&str]) -> Result<Vec<String>, QueryError> {
        Err(QueryError::Store("the data set stays as it is".into()))
    }

    fn delete_series(&self, _: &[&str]) -> Result<(), QueryError> {
        Err(QueryError::Store("the data set stays as it is".into()))
    }
}

impl EventLog for Memory {
    fn max_event_bytes(&self) -> usize {
        usize::MAX
    }

    fn add_event(&self, _: &Event) -> Result<EventId, QueryError> {
        Err(QueryError::Store("the data set stays as it is".into()))
    }

    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError> {
        let place = usize::try_from(id.0).ok().and_then(|id| id.checked_sub(1));
        Ok(place.and_then(|place| self.events.get(place)).cloned())
    }

    fn events(&self, filter: &EventFilter, _: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError> {
        Ok(self.events_by_time(filter))
    }
}
