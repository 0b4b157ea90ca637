//! `GET /api/query` with a tenant: the values of the series of a metric that have some tags.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::handler::Handler as _;
use axum::response::Response;
use jiff::{SignedDuration, Span, Timestamp};
use serde::Serialize;

use super::{Answer, Door, needed};
use crate::config;
use crate::http::Backend;
use crate::http::call::Call;
use crate::http::error::{Asked, Failure};
use crate::http::find::to_json;
use crate::http::gate::Gate;
use crate::http::params::Params;
use crate::http::{opentsdb, reply};
use crate::parse::ceres::instant;
use graphite_render::source::{FetchRequest, Fetched, TagQuery};
use plumbago_model::{Cancel, Phase, Reading, labelled};

/// Bytes of a value in an answer, with its instant.
const VALUE_BYTES: usize = 48;

/// One series, as Ceres answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    tenant: &'a str,
    metric_name: &'a str,
    tags: BTreeMap<String, String>,
    values: BTreeMap<String, f64>,
}

/// Seconds and values, in order.
type Points = Vec<(i64, f64)>;

/// What is made of the points of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Raw,
    Min,
    Max,
    Sum,
    Count,
    Avg,
}

/// What a query asks for.
struct Ask {
    tenant: String,
    metric: String,
    tags: Vec<(String, String)>,
    /// Seconds; the second one is not inside.
    range: (i64, i64),
    kind: Kind,
    /// Seconds of a slot; nothing for the points as they are kept.
    granularity: Option<i64>,
}

/// `GET /api/query`, which is OpenTSDB's with `m`, and Ceres' with a metric and without.
pub(in crate::http) async fn either_query(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let mut params = Params::default();
    params.extend(request.uri().query().unwrap_or_default().as_bytes());
    let is_ceres =
        params.get("m").is_none() && ["tenant", "metricName"].iter().any(|name| params.get(name).is_some());
    match is_ceres {
        true => handle.call(request, gate).await,
        false => opentsdb::query::get.call(request, gate).await,
    }
}

async fn handle(State(gate): State<Arc<Gate>>, door: Door, call: Result<Call, Failure>) -> Answer {
    let config = Arc::clone(gate.ceres());
    let answer = async {
        let Call { params, question, .. } = call?;
        let now = Timestamp::now().as_second();
        let (api, tenant) = door.of(params.get("tenant"))?;
        let ask = Ask::read(&params, tenant, &config, now)?;
        let backend = Arc::clone(&api.backend);
        let work = move |cancel: &Cancel| ask.answer(&*backend, &config, now, cancel);
        let done = api.workers.render(&question, work).await;
        done.inspect_err(|failure| failure.count_limit(&api.telemetry.render_limited))
    };
    let done = answer.await.map_err(|failure| door.failed(failure))?;
    let mut response = done.reply("application/json");
    reply::never_cached(&mut response);
    Ok(response)
}

impl Ask {
    fn read(params: &Params, tenant: String, config: &config::Ceres, now: i64) -> Result<Self, Failure> {
        let metric = needed(params, "metricName")?.to_owned();
        let mut tags = Vec::new();
        for tag in params.all("tag") {
            let pair = tag.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
            let (key, value) =
                pair.ok_or_else(|| Failure::Refused(format!("`tag` must be key=value, not `{tag}`")))?;
            tags.push((key.to_owned(), value.to_owned()));
        }
        if tags.is_empty() {
            return Err(Failure::Refused("Required parameter 'tag' is not present.".to_owned()));
        }
        let start = time("start", needed(params, "start")?)?;
        let end = params.get("end").filter(|text| !text.is_empty());
        let end = end.map_or(Ok(now + 1), |text| time("end", text))?;
        if start >= end {
            let text = format!("`start` must be before `end`: {start} is not before {end}");
            return Err(Failure::Refused(text));
        }
        let kind = match params.get("aggregator").unwrap_or("raw") {
            "raw" | "" => Kind::Raw,
            "min" => Kind::Min,
            "max" => Kind::Max,
            "sum" => Kind::Sum,
            "count" => Kind::Count,
            "avg" | "average" => Kind::Avg,
            other => {
                let text = format!("`{other}` is not an aggregator; use raw, min, max, sum, count or avg");
                return Err(Failure::Refused(text));
            }
        };
        let granularity = match params.get("granularity").filter(|text| !text.is_empty()) {
            _ if kind == Kind::Raw => None,
            Some(text) => Some(duration(text)?),
            None => Some(config.granularity_for(end - start)),
        };
        Ok(Self { tenant, metric, tags, range: (start, end), kind, granularity })
    }

    fn answer(
        &self,
        backend: &dyn Backend,
        config: &config::Ceres,
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, Failure> {
        let series = match self.granularity {
            None => self.fetch(backend, "", Reading::Value, now, cancel)?.into_iter().map(points).collect(),
            Some(granularity) => self.slots(backend, granularity, now, cancel)?,
        };
        cancel.begin(Phase::Write);
        let until = self.settled(config, now);
        let mut answered = Vec::with_capacity(series.len());
        for (name, values) in &series {
            cancel.take(values.len() * VALUE_BYTES)?;
            let inside = |time: &i64| self.first() <= *time && *time < until;
            let values = values.iter().filter(|(time, value)| inside(time) && value.is_finite());
            let values: BTreeMap<String, f64> = values.map(|(time, value)| (iso(*time), *value)).collect();
            if values.is_empty() {
                continue;
            }
            let (_, tags) = labelled::parts(name);
            let tags = tags.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
            answered.push(Answered { tenant: &self.tenant, metric_name: &self.metric, tags, values });
        }
        let json = to_json(&answered);
        cancel.take(json.len())?;
        Ok(json)
    }

    /// The first second that is answered: that of the slot in which the range begins.
    fn first(&self) -> i64 {
        self.granularity.map_or(self.range.0, |width| self.range.0 - self.range.0.rem_euclid(width))
    }

    /// Where the answer ends: slots that are not settled are not in it.
    fn settled(&self, config: &config::Ceres, now: i64) -> i64 {
        match self.granularity {
            Some(_) if config.settle_secs > 0 => {
                let settled = now - config.settle_secs;
                self.range.1.min(settled - settled.rem_euclid(config.slot_secs))
            }
            _ => self.range.1,
        }
    }

    /// The series of the metric, or of one beside it, with what their slots are read as.
    fn fetch(
        &self,
        backend: &dyn Backend,
        suffix: &str,
        reading: Reading,
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, Failure> {
        let metric = format!("{}{suffix}", self.metric);
        let mut conditions = vec![format!("name={}", labelled::metric(&metric))];
        let pairs = self.tags.iter();
        conditions
            .extend(pairs.map(|(key, value)| format!("{}={}", labelled::key(key), labelled::value(value))));
        let tags = TagQuery::new(&conditions).map_err(|error| Failure::Refused(error.to_string()))?;
        let (from, until) = (self.first() - 1, self.range.1 - 1);
        let request = FetchRequest { pattern: metric, tags: Some(tags), from, until, now };
        let found = backend.read(&request, reading, cancel);
        found.map_err(|error| Failure::of(error, Asked::Series))
    }

    /// The aggregates of each series by slots of this width. The slots of a stage that is coarser are answered as they are.
    fn slots(
        &self,
        backend: &dyn Backend,
        width: i64,
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<(String, Points)>, Failure> {
        let fetch = |suffix, reading| self.fetch(backend, suffix, reading, now, cancel);
        let sum = |a: f64, b: f64| a + b;
        let by_slot =
            |found: Vec<Fetched>, merge: fn(f64, f64) -> f64| -> Vec<(String, BTreeMap<i64, f64>)> {
                found.into_iter().map(|series| gathered(series, width, merge)).collect()
            };
        let list = |all: Vec<(String, BTreeMap<i64, f64>)>| {
            all.into_iter().map(|(name, slots)| (name, slots.into_iter().collect())).collect()
        };
        Ok(match self.kind {
            Kind::Sum => list(by_slot(fetch("", Reading::Sum)?, sum)),
            Kind::Count => list(by_slot(fetch("", Reading::Count)?, sum)),
            Kind::Min => list(by_slot(self.extremes(backend, "_min", now, cancel)?, f64::min)),
            Kind::Max => list(by_slot(self.extremes(backend, "_max", now, cancel)?, f64::max)),
            Kind::Avg | Kind::Raw => {
                let mut counts: BTreeMap<String, BTreeMap<i64, f64>> =
                    by_slot(fetch("", Reading::Count)?, sum).into_iter().collect();
                let mut all = by_slot(fetch("", Reading::Sum)?, sum);
                for (name, slots) in &mut all {
                    let counts = counts.remove(name).unwrap_or_default();
                    slots.retain(|slot, _| counts.contains_key(slot));
                    slots.iter_mut().for_each(|(slot, sum)| *sum /= counts.get(slot).copied().unwrap_or(1.0));
                }
                list(all)
            }
        })
    }

    /// The smallest or largest values: of the points where they are kept, and of the series beside them where only aggregates are.
    fn extremes(
        &self,
        backend: &dyn Backend,
        suffix: &'static str,
        now: i64,
        cancel: &Cancel,
    ) -> Result<Vec<Fetched>, Failure> {
        let own = self.fetch(backend, "", Reading::Value, now, cancel)?;
        let names: Vec<&str> = own.iter().map(|series| series.name.as_str()).collect();
        let policies = backend.policies(&names);
        let is_exact = |series: &Fetched, policy: &plumbago_model::Policy| {
            let first = policy.retention.stages().first().map(|stage| i64::from(stage.step_secs));
            first == Some(series.step) || self.metric.ends_with(suffix)
        };
        let mut beside = None;
        let mut found = Vec::with_capacity(own.len());
        for (series, policy) in own.into_iter().zip(policies) {
            if policy.is_some_and(|policy| is_exact(&series, &policy)) {
                found.push(series);
                continue;
            }
            if beside.is_none() {
                beside = Some(self.fetch(backend, suffix, Reading::Value, now, cancel)?);
            }
            let tags = series.name.split_once(';').map(|(_, tags)| tags);
            let others = beside.iter().flatten();
            let mut others = others.filter(|other| other.name.split_once(';').map(|(_, tags)| tags) == tags);
            found.extend(others.next().map(|other| Fetched { name: series.name, ..other.clone() }));
        }
        Ok(found)
    }
}

/// The points of a series that are there.
fn points(series: Fetched) -> (String, Points) {
    let times = (0..).map(|at| series.start + at * series.step);
    let points = times.zip(series.values.iter().copied()).filter(|(_, value)| !value.is_nan()).collect();
    (series.name, points)
}

/// The slots of a series, gathered to wider ones.
fn gathered(series: Fetched, width: i64, merge: fn(f64, f64) -> f64) -> (String, BTreeMap<i64, f64>) {
    let width = width.max(series.step);
    let (name, points) = points(series);
    let mut slots = BTreeMap::new();
    for (time, value) in points {
        let slot = time - time.rem_euclid(width);
        slots.entry(slot).and_modify(|merged| *merged = merge(*merged, value)).or_insert(value);
    }
    (name, slots)
}

/// An instant as Ceres writes it.
fn iso(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}

fn time(name: &str, text: &str) -> Result<i64, Failure> {
    let seconds = instant(text).or_else(|| text.trim().parse().ok());
    let seconds = seconds.filter(|seconds| (0..=i64::from(u32::MAX)).contains(seconds));
    seconds.ok_or_else(|| {
        let text = format!("`{name}` must be an instant such as 2020-08-23T17:53:00Z, not `{text}`");
        Failure::Refused(text)
    })
}

/// An ISO 8601 duration such as `PT5M`, or one of ours such as `5m`.
fn duration(text: &str) -> Result<i64, Failure> {
    let iso = text.parse::<Span>().ok().and_then(|span| {
        let days = jiff::SpanRelativeTo::days_are_24_hours();
        span.to_duration(days).ok().as_ref().map(SignedDuration::as_secs)
    });
    let own = || plumbago_model::parse_duration_secs(text).ok().and_then(|secs| i64::try_from(secs).ok());
    let seconds = own().or(iso).filter(|seconds| (1..=i64::from(u32::MAX)).contains(seconds));
    seconds.ok_or_else(|| {
        Failure::Refused(format!("`granularity` must be a duration such as PT5M, not `{text}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_come_as_ceres_clients_write_them() {
        assert_eq!(time("start", "2020-08-23T17:53:00Z").unwrap(), 1_598_205_180);
        assert_eq!(time("start", "1598205180").unwrap(), 1_598_205_180);
        assert_eq!(iso(1_598_205_180), "2020-08-23T17:53:00Z");
        for text in ["", "yesterday", "-5", "99999999999"] {
            assert!(time("end", text).unwrap_err().to_string().contains("`end`"), "{text}");
        }
        for (text, seconds) in [("PT5M", 300), ("PT1H", 3600), ("P1D", 86_400), ("5m", 300), ("1h", 3600)] {
            assert_eq!(duration(text).unwrap(), seconds, "{text}");
        }
        for text in ["PT0S", "-PT5M", "soon", ""] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn slots_are_gathered_from_finer_ones_alone() {
        let series = |step| Fetched {
            name: "m;a=b".to_owned(),
            start: 600,
            end: 600 + 4 * step,
            step,
            values: [1.0, 2.0, f64::NAN, 4.0].into(),
        };
        let sum: fn(f64, f64) -> f64 = |a, b| a + b;
        assert_eq!(gathered(series(30), 60, sum).1, BTreeMap::from([(600, 3.0), (660, 4.0)]));
        assert_eq!(gathered(series(60), 30, sum).1, BTreeMap::from([(600, 1.0), (660, 2.0), (780, 4.0)]));
    }
}
