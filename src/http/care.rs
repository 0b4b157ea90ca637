//! Looking after the metrics of a running server: `/internal/delete`, `rename`, `clean`, `repair`, `usage`, `stats` and `info`.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::call::Call;
use super::error::{Asked, Failure};
use super::find::to_json;
use super::gate::{Audit, Seen};
use super::queries::Question;
use super::{Api, Checked, CopiedMetric, DeletedRange, Reloaded, RetentionPlan, reply};
use crate::index::{Survey, Top};
use plumbago_model::{Cancel, Phase, QueryError};

const JSON: &str = "application/json";

/// How long work may take that changes nothing. To look at everything takes a while with many metrics.
const PATIENCE: Duration = Duration::from_secs(600);

/// What was deleted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// False for a trial.
    pub deleted: bool,
    /// The names, in order.
    pub metrics: Vec<String>,
    /// Nothing but directories matched.
    pub only_directories: bool,
}

/// What was renamed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    /// False for a trial.
    pub renamed: bool,
    /// The old and the new names, in the order of the old ones.
    pub metrics: Vec<(String, String)>,
    /// How many of them became one with a metric that had the new name already.
    pub merged: u64,
}

/// Metrics that a cleaning deleted, or would.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// False for a trial.
    pub done: bool,
    /// The names, in order.
    pub metrics: Vec<String>,
}

/// Metrics that could not be found by their names, and can be now, or could.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    /// False for a trial.
    pub done: bool,
    /// How many metrics were looked at.
    pub checked: u64,
    /// The names, in order.
    pub metrics: Vec<String>,
    /// Those that stay as they are, and why.
    pub left: Vec<(String, String)>,
}

/// What some metrics take up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// How many there are.
    pub metrics: u64,
    /// Bytes of their chunks.
    pub bytes: u64,
    /// Points of the whole store that are not in blocks yet, and so not in `bytes`.
    pub points_in_log: u64,
}

/// Numbers about the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The data directory.
    pub path: String,
    /// Metrics in the index.
    pub metrics: u64,
    /// Bytes of all blocks.
    pub block_bytes: u64,
    /// Points that are not in blocks yet.
    pub points_in_log: u64,
    /// Memory of the index.
    pub index_bytes: u64,
    /// Every policy in use, in the catalogue's form.
    pub policies: Vec<String>,
}

/// What is known about one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Its number in the store.
    pub id: u32,
    /// Its policy, in the catalogue's form.
    pub policy: String,
    /// The first second with data.
    pub first: Option<u32>,
    /// The time of the last point, and its value.
    pub last: Option<(u32, f64)>,
    /// Bytes of its chunks.
    pub bytes: u64,
    /// Since when the store notes the dates below; `None` if others do.
    pub dates_since: Option<u32>,
    /// When it was created, to the minute. It is older than `dates_since` if that is not known.
    pub created: Option<u32>,
    /// The day on which it last received a point.
    pub updated: Option<u32>,
    /// The day on which a query last read it.
    pub read: Option<u32>,
}

/// Looking after metrics. Work that changes nothing, trials included, ends when it is cancelled; what changes something goes on to its
/// end.
pub trait Care {
    /// Deletes the metrics that a glob matches, with their points; `;tag=GLOB` behind it means tagged ones. A trial only lists them.
    fn delete_matching(&self, query: &str, trial: bool, cancel: &Cancel) -> Result<Deleted, QueryError>;

    /// Renames a metric and everything below it, with its points. What has the new name already gets what it lacks. A trial only
    /// lists them.
    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError>;

    /// Deletes metrics whose last point is older than so many seconds, or than `retention.forget_after`. A trial only lists them.
    fn clean(&self, unwritten_for: Option<u64>, trial: bool) -> Result<Cleaned, QueryError>;

    /// Makes metrics findable that are in the catalogue and not found by their names. A trial only lists them.
    fn repair(&self, trial: bool) -> Result<Repaired, QueryError>;

    /// Deletes the points of the metrics that a glob matches from the first time on and before the second. A trial only counts.
    fn delete_range(
        &self,
        query: &str,
        range: (u32, u32),
        trial: bool,
        cancel: &Cancel,
    ) -> Result<DeletedRange, QueryError>;

    /// The names of all metrics that a glob matches, with tags and without; `;tag=GLOB` behind it means tagged ones.
    fn names(&self, query: &str, cancel: &Cancel) -> Result<Vec<String>, QueryError>;

    /// What the metrics at and below a glob take up.
    fn usage(&self, query: &str, cancel: &Cancel) -> Result<Usage, QueryError>;

    /// Numbers about the whole store.
    fn stats(&self) -> Result<Stats, QueryError>;

    /// The busiest prefixes, the newest metrics, and those that are never read.
    fn top(&self, survey: &Survey, cancel: &Cancel) -> Result<Top, QueryError>;

    /// What is known about a metric, if it is there.
    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError>;

    /// Copies the slots of a metric that start in `window` to another name. A trial only counts. Nothing without the source.
    fn copy_metric(
        &self,
        source: &str,
        destination: &str,
        window: (u32, u32),
        trial: bool,
    ) -> Result<Option<CopiedMetric>, QueryError>;

    /// Reads every file of the store and compares checksums. Changes nothing.
    fn check_files(&self) -> Result<Checked, QueryError>;

    /// What the retention rules would do as the files have them now.
    fn plan_retention(&self) -> Result<RetentionPlan, QueryError>;

    /// Puts the rules in force as the files have them now. If a file is bad, nothing changes.
    fn reload(&self) -> Result<Reloaded, QueryError>;
}

/// `POST /internal/delete`: `query`, and `dry_run` to only list.
pub(super) async fn delete(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let (query, trial) = (required(&call, "query")?, call.params.switch("dry_run")?);
    tried(api, &call.question, trial, move |care, cancel| {
        let deleted = care.delete_matching(&query, trial, cancel)?;
        if !trial {
            audit.note("delete", &query, deleted.metrics.len() as u64);
        }
        Ok(Some(deleted))
    })
    .await
}

/// `POST /internal/rename`: `from`, `to`, and `dry_run` to only list.
pub(super) async fn rename(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let (from, to) = (required(&call, "from")?, required(&call, "to")?);
    let trial = call.params.switch("dry_run")?;
    answered(api, move |care| {
        let renamed = care.rename(&from, &to, trial)?;
        if !trial {
            audit.note("rename", &format!("{from} to {to}"), renamed.metrics.len() as u64);
        }
        Ok(Some(renamed))
    })
    .await
}

/// `POST /internal/clean`: `unwritten_for` in seconds, and `dry_run` to only list.
pub(super) async fn clean(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let trial = call.params.switch("dry_run")?;
    let unwritten_for = match call.params.get("unwritten_for").filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| {
            Failure::Invalid(format!("unwritten_for: `{text}` is not a whole number of seconds"))
        })?),
    };
    answered(api, move |care| {
        let cleaned = care.clean(unwritten_for, trial)?;
        if !trial {
            let what =
                unwritten_for.map_or_else(|| "retention.forget_after".to_owned(), |secs| format!("{secs} s"));
            audit.note("clean", &what, cleaned.metrics.len() as u64);
        }
        Ok(Some(cleaned))
    })
    .await
}

/// `POST /internal/repair`: `dry_run` to only list.
pub(super) async fn repair(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let trial = call.params.switch("dry_run")?;
    answered(api, move |care| {
        let repaired = care.repair(trial)?;
        if !trial {
            audit.note("repair", "names", repaired.metrics.len() as u64);
        }
        Ok(Some(repaired))
    })
    .await
}

/// `GET /internal/names`: `query`.
pub(super) async fn names(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let query = required(&call, "query")?;
    looked_up(api, &call.question, move |care, cancel| care.names(&query, cancel).map(Some)).await
}

/// `GET /internal/usage`: `query`.
pub(super) async fn usage(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let query = required(&call, "query")?;
    looked_up(api, &call.question, move |care, cancel| care.usage(&query, cancel).map(Some)).await
}

/// `GET /internal/stats`
pub(super) async fn stats(Seen(api): Seen) -> Result<Response, Failure> {
    answered(api, |care| care.stats().map(Some)).await
}

/// `GET /internal/info`: `name`. 404 without such a metric.
pub(super) async fn info(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let name = required(&call, "name")?;
    answered(api, move |care| care.describe_metric(&name)).await
}

pub(super) fn required(call: &Call, name: &str) -> Result<String, Failure> {
    let value = call.params.get(name).filter(|value| !value.is_empty());
    value.map(str::to_owned).ok_or_else(|| Failure::Invalid(format!("`{name}` is missing")))
}

/// Runs work that is never given up half way: a deletion goes on when its caller is gone.
pub(super) async fn answered<T: Serialize + Send + 'static>(
    api: Arc<Api>,
    work: impl FnOnce(&dyn Care) -> Result<Option<T>, QueryError> + Send + 'static,
) -> Result<Response, Failure> {
    let work = spawn_blocking(move || {
        let care = api.backend.care().ok_or_else(Failure::no_store)?;
        json_of(work(care).map_err(|error| Failure::of(error, Asked::Names))?)
    });
    let json = work.await.map_err(|_| Failure::Internal)??;
    let mut response = reply::body(StatusCode::OK, JSON, json);
    reply::never_cached(&mut response);
    Ok(response)
}

/// Runs work that changes nothing, as a query: it is given up when its caller is gone, and operators see it among those that run.
pub(super) async fn looked_up<T: Serialize + Send + 'static>(
    api: Arc<Api>,
    question: &Arc<Question>,
    work: impl FnOnce(&dyn Care, &Cancel) -> Result<Option<T>, QueryError> + Send + 'static,
) -> Result<Response, Failure> {
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| {
        cancel.begin(Phase::Find);
        let care = backend.care().ok_or_else(Failure::no_store)?;
        json_of(work(care, cancel).map_err(|error| Failure::of(error, Asked::Names))?)
    };
    let mut response = api.workers.run(question, PATIENCE, work).await?.reply(JSON);
    reply::never_cached(&mut response);
    Ok(response)
}

/// Runs a trial, which changes nothing, or the real thing.
pub(super) async fn tried<T: Serialize + Send + 'static>(
    api: Arc<Api>,
    question: &Arc<Question>,
    trial: bool,
    work: impl FnOnce(&dyn Care, &Cancel) -> Result<Option<T>, QueryError> + Send + 'static,
) -> Result<Response, Failure> {
    match trial {
        true => looked_up(api, question, work).await,
        false => answered(api, move |care| work(care, &Cancel::never())).await,
    }
}

fn json_of<T: Serialize>(found: Option<T>) -> Result<Vec<u8>, Failure> {
    let found = found.ok_or_else(|| Failure::NotFound("there is no such metric".to_owned()))?;
    Ok(to_json(&found))
}
