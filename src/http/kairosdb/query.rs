//! `/api/v1/datapoints/query`, and `…/query/tags`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::response::Response;
use jiff::Timestamp;

use super::KairosFailure;
use super::save;
use crate::http::call::{Call, Posted};
use crate::http::error::Failure;
use crate::http::gate::{MayWrite, Seen};
use crate::http::queries::Question;
use crate::http::{Api, Backend, Wanted, document, reply};
use crate::kairosdb::{Aggregator, MetricQuery, Queried, Query, Tags, Work, group, write_answer, write_tags};
use plumbago_model::{Cancel, Phase};

type Answer = Result<Response, KairosFailure>;
type Ran = Result<Vec<u8>, Failure>;

/// The end of a query without one: later than everything.
const OPEN_END: i64 = i64::MAX;

/// Bytes that the tags of a series take in an answer, usually at most.
const TAGS_BYTES: usize = 256;

/// `POST /api/v1/datapoints/query`
pub(in crate::http) async fn post(
    Seen(api): Seen,
    may_write: MayWrite,
    posted: Result<Posted, Failure>,
) -> Answer {
    let Posted { bytes, question, .. } = posted?;
    queried(&api, may_write, &bytes, &question).await
}

/// `GET /api/v1/datapoints/query?query=…`
pub(in crate::http) async fn get(
    Seen(api): Seen,
    may_write: MayWrite,
    call: Result<Call, Failure>,
) -> Answer {
    let call = call?;
    let Some(json) = call.params.get("query") else {
        return Err(Failure::Refused("`query` is missing: it is the JSON of the query".to_owned()).into());
    };
    queried(&api, may_write, json.as_bytes(), &call.question).await
}

/// `POST /api/v1/datapoints/query/tags`
pub(in crate::http) async fn tags(Seen(api): Seen, posted: Result<Posted, Failure>) -> Answer {
    let Posted { bytes, question, .. } = posted?;
    let query = read(&api, &bytes, now()).await?;
    run(&api, &bytes, &question, move |backend, cancel| tags_of(backend, &query, cancel)).await
}

/// Reads the JSON of a query.
pub(super) async fn read(api: &Api, json: &[u8], now: i64) -> Result<Query, KairosFailure> {
    let _lent = document::lend(api, json).await?;
    Ok(Query::parse(json, now)?)
}

async fn queried(
    api: &Arc<Api>,
    MayWrite(may_write): MayWrite,
    json: &[u8],
    question: &Arc<Question>,
) -> Answer {
    let now = now();
    let query = read(api, json, now).await?;
    let saves =
        |metric: &MetricQuery| metric.aggregators.iter().any(|one| matches!(one, Aggregator::SaveAs(_)));
    if !may_write && query.metrics.iter().any(saves) {
        let text = "save_as writes points, which needs the role write".to_owned();
        return Err(Failure::Forbidden(text).into());
    }
    let most = api.config.max_points;
    run(api, json, question, move |backend, cancel| answer(backend, &query, (now, most), cancel)).await
}

/// Runs the work of a query and answers with the JSON that it makes.
async fn run(
    api: &Arc<Api>,
    json: &[u8],
    question: &Question,
    work: impl FnOnce(&dyn Backend, &Cancel) -> Ran + Send + 'static,
) -> Answer {
    let question = question.worded(std::iter::once(&*String::from_utf8_lossy(json)));
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| work(&*backend, cancel);
    let done = api.workers.render(&question, work).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.render_limited))?;
    let mut response = done.reply("application/json");
    reply::never_cached(&mut response);
    Ok(response)
}

fn answer(backend: &dyn Backend, query: &Query, (now, most): (i64, usize), cancel: &Cancel) -> Ran {
    let labelled = backend.labelled().ok_or_else(Failure::no_store)?;
    let end = query.end.unwrap_or(OPEN_END);
    let work = Work::new((query.start, end.min(now)), &query.zone, cancel, most);
    let mut all = Vec::with_capacity(query.metrics.len());
    for metric in &query.metrics {
        let series = labelled.read_series(&wanted(metric), (query.start, end), cancel)?;
        let limit = metric.limit.unwrap_or(usize::MAX);
        let sample_size = series.iter().map(|read| read.samples.len().min(limit)).sum();
        cancel.begin(Phase::Functions);
        let mut groups = group(metric, series, &work)?;
        for group in &mut groups {
            save::points(backend, std::mem::take(&mut group.saved))?;
        }
        all.push(Queried { query: metric, sample_size, groups });
    }
    cancel.begin(Phase::Write);
    let room = all.iter().map(Queried::room).sum();
    cancel.take(room)?;
    let mut json = Vec::with_capacity(room);
    write_answer(&all, &mut json);
    Ok(json)
}

fn tags_of(backend: &dyn Backend, query: &Query, cancel: &Cancel) -> Ran {
    let labelled = backend.labelled().ok_or_else(Failure::no_store)?;
    let range = (query.start, query.end.unwrap_or(OPEN_END));
    let mut all = Vec::with_capacity(query.metrics.len());
    for metric in &query.metrics {
        let series = labelled.series_tags(&wanted(metric), range, cancel)?;
        cancel.take(series.len() * TAGS_BYTES)?;
        all.push((metric, values(series)));
    }
    cancel.begin(Phase::Write);
    let mut json = Vec::new();
    write_tags(&all, &mut json);
    Ok(json)
}

/// All values of each tag.
fn values(series: Vec<Tags>) -> BTreeMap<String, BTreeSet<String>> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (tag, value) in series.into_iter().flatten() {
        values.entry(tag).or_default().insert(value);
    }
    values
}

/// The series that a query of one metric is about.
pub(super) fn wanted(metric: &MetricQuery) -> Wanted {
    let all = Wanted::all(&metric.name);
    metric
        .tags
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .fold(all, |wanted, (tag, values)| wanted.one_of(tag, values.iter().map(String::as_str)))
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
