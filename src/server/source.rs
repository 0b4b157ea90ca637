//! Series for the render engine: index, limits, points.

use std::sync::Arc;

use super::backend::UNKNOWN_DIRECTORIES;
use super::engine::Engine;
use crate::http::EventLog;
use crate::index::{Asked, FindLimits};
use crate::rollup::Series;
use graphite_render::{FetchRequest, Fetched, Source};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, EventFilter, MetricId, Phase, QueryError, Reading, Scope};

impl Source for Engine {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        self.fetch_within(&Arc::default(), requests, cancel)
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, QueryError> {
        let events = self.events(filter, cancel)?;
        Ok(events.into_iter().map(|(_, event)| event.when).collect())
    }
}

/// The tables of a cluster find names by component, not by tag.
pub(super) const UNKNOWN_TAGS: &str = "tags are known when all names are in memory: set store.cassandra.index = \"memory\", or wait until \
                            the names of the cluster are loaded";

/// What a series takes beside its values and its name.
const SERIES_BYTES: usize = 200;

/// How much of its limits one render has used.
struct Budget {
    series: usize,
    points: usize,
}

impl Engine {
    /// The series that are inside of a scope.
    pub(super) fn fetch_within(
        &self,
        scope: &Arc<Scope>,
        requests: &[FetchRequest],
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Fetched>>, QueryError> {
        let mut budget = Budget { series: 0, points: 0 };
        let fetch = |request| self.fetch_one(scope, request, Reading::Value, &mut budget, cancel);
        requests.iter().map(fetch).collect()
    }

    /// The series of one request, with a reading of their slots.
    pub(super) fn read_within(
        &self,
        scope: &Arc<Scope>,
        request: &FetchRequest,
        reading: Reading,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, QueryError> {
        self.fetch_one(scope, request, reading, &mut Budget { series: 0, points: 0 }, cancel)
    }

    fn fetch_one(
        &self,
        scope: &Arc<Scope>,
        request: &FetchRequest,
        reading: Reading,
        budget: &mut Budget,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, QueryError> {
        cancel.begin(Phase::Find);
        let leaves = self.leaves(scope, request, cancel)?;
        let ids: Vec<MetricId> = leaves.iter().map(|(id, _)| *id).collect();
        let names: usize = leaves.iter().map(|(_, name)| name.len()).sum();
        let points = self.charge(request, &ids, budget)?;
        cancel.take(points * size_of::<f64>() + ids.len() * SERIES_BYTES + names)?;
        cancel.begin(Phase::Fetch);
        self.store.upstream.note_read(&ids);
        cancel.note_read(ids.len(), points);
        let range = (request.from, request.until);
        let series = self.points.fetch_as(reading, &ids, range, request.now, cancel)?;
        let named = leaves.into_iter().zip(series);
        Ok(named.filter_map(|((_, name), series)| series.map(|s| fetched(name, s))).collect())
    }

    fn leaves(
        &self,
        scope: &Arc<Scope>,
        request: &FetchRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let max_series = self.config.query.max_series;
        let limits = FindLimits::series(max_series);
        if let Some(query) = &request.tags {
            let asked = Asked { text: &request.pattern, conditions: &query.conditions() };
            return self.sight(scope)?.find_tagged(asked, limits, cancel);
        }
        let glob = Glob::parse(&request.pattern)?;
        match self.whole_index() {
            Some(index) => index.within(scope).find_leaves(&glob, limits, cancel),
            None if scope.tenant().is_some() => Err(QueryError::invalid(UNKNOWN_DIRECTORIES)),
            None => {
                let mut found = self.store.upstream.find_leaves(self, &glob, max_series, cancel)?;
                found.retain(|(_, name)| scope.covers(name));
                Ok(found)
            }
        }
    }

    /// Rejects a query by its estimated size, before reading anything. Gives the points of this request.
    fn charge(
        &self,
        request: &FetchRequest,
        ids: &[MetricId],
        budget: &mut Budget,
    ) -> Result<usize, QueryError> {
        let limits = &self.config.query;
        let points = self.points.estimate(ids, request.from, request.until, request.now);
        budget.series += ids.len();
        budget.points += points;
        let over = |what: &str, used: usize, limit: usize, key: &str| {
            let pattern = &request.pattern;
            QueryError::Limit(format!(
                "the query needs {used} {what} by `{pattern}`; {key} allows {limit}: narrow the pattern or the time range, or raise {key}"
            ))
        };
        if budget.series > limits.max_series {
            return Err(over("series", budget.series, limits.max_series, "query.max_series"));
        }
        if budget.points > limits.max_points {
            return Err(over("points", budget.points, limits.max_points, "query.max_points"));
        }
        Ok(points)
    }
}

fn fetched(name: String, series: Series) -> Fetched {
    let (start, step) = (i64::from(series.range.start), i64::from(series.range.step));
    let end = start + step * series.values.len() as i64;
    Fetched { name, start, end, step, values: Arc::from(series.values) }
}
