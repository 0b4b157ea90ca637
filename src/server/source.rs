//! Series for the render engine: index, limits, points.

use std::sync::Arc;

use super::engine::Engine;
use crate::http::EventFailure;
use crate::index::{Asked, FindError, FindLimits};
use crate::rollup::{PointsError, Series};
use crate::store::StoreError;
use crate::store::cassandra::names::LookupError;
use graphite_render::{FetchRequest, Fetched, Source, SourceError};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Cancelled, EventFilter, MetricId};

impl Source for Engine {
    fn fetch(&self, requests: &[FetchRequest], cancel: &Cancel) -> Result<Vec<Vec<Fetched>>, SourceError> {
        let mut budget = Budget { series: 0, points: 0 };
        requests.iter().map(|request| self.fetch_one(request, &mut budget, cancel)).collect()
    }

    fn event_times(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<u32>, SourceError> {
        let events = self.find_events(filter, cancel).map_err(events_failed)?;
        Ok(events.into_iter().map(|(_, event)| event.when).collect())
    }
}

/// Tables of a cluster find names by their components, not by tags.
pub(super) const UNKNOWN_TAGS: &str = "tags are known when all names are in memory: set store.cassandra.index = \"memory\", or wait until \
                            the names of the cluster are loaded";

/// What the requests of one render have used up.
struct Budget {
    series: usize,
    points: usize,
}

impl Engine {
    fn fetch_one(
        &self,
        request: &FetchRequest,
        budget: &mut Budget,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, SourceError> {
        let leaves = self.leaves(request, cancel)?;
        let ids: Vec<MetricId> = leaves.iter().map(|(id, _)| *id).collect();
        self.charge(request, &ids, budget)?;
        if let Some(roster) = self.store.roster() {
            roster.note_read(&ids);
        }
        let series = self.points.fetch(&ids, request.from, request.until, request.now, cancel);
        let series = series.map_err(points_failed)?;
        let named = leaves.into_iter().zip(series);
        Ok(named.filter_map(|((_, name), series)| series.map(|s| fetched(name, s))).collect())
    }

    fn leaves(
        &self,
        request: &FetchRequest,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, SourceError> {
        let limits = FindLimits { max_hits: self.config.query.max_series };
        let roster = self.store.roster().filter(|roster| roster.must_ask());
        if let Some(query) = &request.tags {
            if roster.is_some() {
                return Err(SourceError::Invalid(UNKNOWN_TAGS.to_owned()));
            }
            let asked = Asked { text: &request.pattern, conditions: &query.conditions() };
            return self.index.find_tagged(asked, limits, cancel).map_err(find_failed);
        }
        let glob = Glob::parse(&request.pattern).map_err(|e| SourceError::Invalid(e.to_string()))?;
        match roster {
            Some(roster) => {
                roster.find_leaves(self, &glob, limits.max_hits, cancel).map_err(|e| lookup_failed(&e))
            }
            None => self.index.find_leaves(&glob, limits, cancel).map_err(find_failed),
        }
    }

    /// Refuses by estimate, before anything is read.
    fn charge(
        &self,
        request: &FetchRequest,
        ids: &[MetricId],
        budget: &mut Budget,
    ) -> Result<(), SourceError> {
        let limits = &self.config.query;
        budget.series += ids.len();
        budget.points += self.points.estimate(ids, request.from, request.until, request.now);
        let over = |what: &str, used: usize, limit: usize, key: &str| {
            let pattern = &request.pattern;
            SourceError::Limit(format!(
                "the query needs {used} {what} by `{pattern}`; {key} allows {limit}: narrow the pattern or the time range, or raise {key}"
            ))
        };
        if budget.series > limits.max_series {
            return Err(over("series", budget.series, limits.max_series, "query.max_series"));
        }
        if budget.points > limits.max_points {
            return Err(over("points", budget.points, limits.max_points, "query.max_points"));
        }
        Ok(())
    }
}

fn fetched(name: String, series: Series) -> Fetched {
    let (start, step) = (i64::from(series.range.start), i64::from(series.range.step));
    let end = start + step * series.values.len() as i64;
    Fetched { name, start, end, step, values: Arc::from(series.values) }
}

fn find_failed(error: FindError) -> SourceError {
    match error {
        FindError::TooManyHits { pattern, limit, .. } => SourceError::Limit(format!(
            "`{pattern}` matches more than {limit} series; narrow it, or raise query.max_series"
        )),
        FindError::Deadline { .. } => SourceError::Deadline,
        FindError::Abandoned => SourceError::Abandoned,
        other => SourceError::Invalid(other.to_string()),
    }
}

fn events_failed(failure: EventFailure) -> SourceError {
    let text = failure.to_string();
    match failure {
        EventFailure::Limit(_) | EventFailure::TooLong(_) => SourceError::Limit(text),
        EventFailure::Deadline => SourceError::Deadline,
        EventFailure::Abandoned => SourceError::Abandoned,
        EventFailure::Store(_) => SourceError::Store(text),
        EventFailure::Away(_) => SourceError::Away(text),
    }
}

fn lookup_failed(error: &LookupError) -> SourceError {
    match error {
        LookupError::Cancelled { cancelled: Cancelled { deadline: true }, .. } => SourceError::Deadline,
        LookupError::Cancelled { .. } => SourceError::Abandoned,
        LookupError::Cluster(error) if error.is_retryable() => SourceError::Away(error.to_string()),
        LookupError::Cluster(_) => SourceError::Store(error.to_string()),
        _ => SourceError::Limit(error.to_string()),
    }
}

fn points_failed(error: PointsError) -> SourceError {
    match error {
        PointsError::Cancelled(Cancelled { deadline: true }) => SourceError::Deadline,
        PointsError::Cancelled(Cancelled { deadline: false }) => SourceError::Abandoned,
        PointsError::Store(StoreError::Cluster(error)) if error.is_retryable() => {
            SourceError::Away(error.to_string())
        }
        other => SourceError::Store(other.to_string()),
    }
}
