//! `/api/query`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::aggregate::{Aggregate, merge};
use super::downsample::Points;
use super::put::TsdbFailure;
use super::sub_query::SubQuery;
use super::time::moment;
use crate::http::call::{Call, Posted};
use crate::http::error::Failure;
use crate::http::find::to_json;
use crate::http::gate::Seen;
use crate::http::params::Params;
use crate::http::queries::Question;
use crate::http::{Api, Backend, document, reply};
use crate::kairosdb::{Read, Tags};
use plumbago_model::{Cancel, Phase, QueryError};

type Answer = Result<Response, TsdbFailure>;

/// Bytes of a point in an answer, usually at most.
const POINT_BYTES: usize = 48;

/// A query: its time in milliseconds, and what it asks.
#[derive(Debug)]
struct Ask {
    start: i64,
    end: i64,
    /// Are the times of the answer milliseconds?
    millis: bool,
    /// Are points pairs of time and value, and not members of an object?
    arrays: bool,
    queries: Vec<SubQuery>,
}

/// One result.
struct Joined {
    tags: BTreeMap<String, String>,
    aggregated: BTreeSet<String>,
    points: Points,
}

/// `GET /api/query` with `m`.
pub(in crate::http) async fn get(Seen(api): Seen, call: Result<Call, Failure>) -> Answer {
    let call = call?;
    if call.params.all("m").is_empty() {
        let text = "`m` is missing: send m=sum:metric{tag=value}".to_owned();
        return Err(Failure::Refused(text).into());
    }
    let ask = Ask::of(&call.params, now()).map_err(Failure::Refused)?;
    run(&api, &call.question.worded(call.params.all("m").into_iter()), ask).await
}

/// `POST /api/query`
pub(in crate::http) async fn post(Seen(api): Seen, posted: Result<Posted, Failure>) -> Answer {
    let Posted { bytes, question, .. } = posted?;
    let lent = document::lend(&api, &bytes).await?;
    let ask = Ask::read(&bytes, now()).map_err(Failure::Refused)?;
    drop(lent);
    let question = question.worded(std::iter::once(&*String::from_utf8_lossy(&bytes)));
    run(&api, &question, ask).await
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

impl Ask {
    fn of(params: &Params, now: i64) -> Result<Self, String> {
        let zone = zone(params.get("tz"))?;
        let start = params.get("start").ok_or("`start` is missing: send start=1h-ago")?;
        let start = moment(start, now, &zone)?;
        let end =
            params.get("end").filter(|end| !end.is_empty()).map_or(Ok(now), |end| moment(end, now, &zone))?;
        let queries = params.all("m").into_iter().map(SubQuery::parse).collect::<Result<_, String>>()?;
        let is_on = |name: &str| params.get(name).is_some_and(|said| said != "false");
        Self { start, end, millis: is_on("ms"), arrays: is_on("arrays"), queries }.checked()
    }

    fn read(json: &[u8], now: i64) -> Result<Self, String> {
        let body: Value =
            serde_json::from_slice(json).map_err(|error| format!("the body is not valid JSON: {error}"))?;
        let zone = zone(body.get("timezone").and_then(Value::as_str))?;
        let edge = |name: &str| match body.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => moment(text, now, &zone).map(Some),
            Some(other) => moment(&other.to_string(), now, &zone).map(Some),
        };
        let start = edge("start")?.ok_or("`start` is missing")?;
        let end = edge("end")?.unwrap_or(now);
        let queries = body.get("queries").and_then(Value::as_array).filter(|queries| !queries.is_empty());
        let queries = queries.ok_or("`queries` is missing or empty")?;
        let queries = queries.iter().map(SubQuery::read).collect::<Result<_, String>>()?;
        let is_on = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
        let millis = is_on("msResolution") || is_on("ms");
        Self { start, end, millis, arrays: is_on("arrays"), queries }.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let Self { start, end, .. } = self;
        if end <= start {
            return Err(format!("the end, {end}, is not after the start, {start}"));
        }
        Ok(self)
    }

    fn answer(&self, backend: &dyn Backend, most: usize, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
        let labelled = backend.labelled().ok_or_else(Failure::no_store)?;
        let mut all = Vec::new();
        for query in &self.queries {
            let wanted = query.wanted().map_err(Failure::Refused)?;
            let mut series = labelled.read_series(&wanted, (self.start, self.end), cancel)?;
            cancel.begin(Phase::Functions);
            if query.explicit_tags {
                let keys: BTreeSet<&str> = query.filters.iter().map(|filter| &*filter.key).collect();
                series.retain(|read| read.tags.keys().all(|key| keys.contains(key.as_str())));
            }
            for joined in self.join(query, series, most, cancel)? {
                cancel.take(joined.points.len() * POINT_BYTES)?;
                all.push(self.to_json(&query.metric, joined));
            }
        }
        cancel.begin(Phase::Write);
        Ok(to_json(&all))
    }

    /// Makes the results of one metric: one for each group, or for each series.
    fn join(
        &self,
        query: &SubQuery,
        series: Vec<Read>,
        most: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Joined>, QueryError> {
        let range = (self.start, self.end);
        let filled = query.downsample.map_or(0, |downsample| downsample.filled(range));
        let filled = usize::try_from(filled).unwrap_or(usize::MAX).saturating_mul(series.len());
        if filled > most {
            return Err(QueryError::Limit(format!(
                "the query fills in {filled} points, and query.max_points allows {most}: downsample by longer stretches"
            )));
        }
        cancel.take(filled.saturating_mul(size_of::<(i64, f64)>()))?;
        let mut groups: BTreeMap<Vec<String>, Vec<(Tags, Points)>> = BTreeMap::new();
        for (nth, read) in series.into_iter().enumerate() {
            cancel.check()?;
            let points = match &query.downsample {
                Some(downsample) => downsample.apply(&read.samples, range),
                None => read.samples.iter().map(|sample| (sample.at, sample.value)).collect(),
            };
            let points = query.rate.map_or_else(|| points.clone(), |rate| rate.apply(&points));
            let value = |key: &str| read.tags.get(key).cloned().unwrap_or_default();
            let mut key: Vec<String> = query.grouped_by().map(value).collect();
            if query.aggregate == Aggregate(None) {
                key.push(nth.to_string());
            }
            if !points.is_empty() {
                groups.entry(key).or_default().push((read.tags, points));
            }
        }
        groups.into_values().map(|group| joined(query, group, cancel)).collect()
    }

    fn to_json(&self, metric: &str, joined: Joined) -> Value {
        let time = |at: i64| if self.millis { at } else { at.div_euclid(1000) };
        let points = joined.points.into_iter();
        let dps: Value = if self.arrays {
            points.map(|(at, value)| json!([time(at), number(value)])).collect()
        } else {
            Value::Object(points.map(|(at, value)| (time(at).to_string(), number(value))).collect())
        };
        // Documents say `aggregatedTags`, servers `aggregateTags`.
        json!({
            "metric": metric,
            "tags": joined.tags,
            "aggregatedTags": joined.aggregated,
            "aggregateTags": joined.aggregated,
            "dps": dps,
        })
    }
}

/// A number without a fraction where it has none, as OpenTSDB writes whole numbers.
fn number(value: f64) -> Value {
    if value.is_nan() {
        return json!("NaN");
    }
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn zone(name: Option<&str>) -> Result<TimeZone, String> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(TimeZone::UTC) };
    TimeZone::get(name).map_err(|_| format!("`{name}` is no time zone: send a name such as Europe/Berlin"))
}

fn joined(query: &SubQuery, group: Vec<(Tags, Points)>, cancel: &Cancel) -> Result<Joined, QueryError> {
    let mut tags: Option<BTreeMap<String, String>> = None;
    let mut keys: BTreeSet<String> = BTreeSet::new();
    for (own, _) in &group {
        keys.extend(own.keys().cloned());
        match &mut tags {
            None => tags = Some(own.clone()),
            Some(tags) => tags.retain(|key, value| own.get(key) == Some(value)),
        }
    }
    let tags = tags.unwrap_or_default();
    let aggregated = keys.into_iter().filter(|key| !tags.contains_key(key)).collect();
    let mut series: Vec<Points> = group.into_iter().map(|(_, points)| points).collect();
    let points = match query.aggregate.0 {
        Some((function, between)) => merge(&series, function, between, cancel)?,
        None => series.pop().unwrap_or_default(),
    };
    Ok(Joined { tags, aggregated, points })
}

async fn run(api: &Arc<Api>, question: &Arc<Question>, ask: Ask) -> Answer {
    let (backend, most) = (Arc::clone(&api.backend), api.config.max_points);
    let work = move |cancel: &Cancel| ask.answer(&*backend, most, cancel);
    let done = api.workers.render(question, work).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.render_limited))?;
    let mut response = done.reply("application/json");
    reply::never_cached(&mut response);
    Ok(response)
}
