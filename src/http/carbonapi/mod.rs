//! carbonapi's own protocol, `carbonapi_v3_pb`, so that a carbonapi can stay in front: it sends protobuf messages to the paths of
//! the Graphite API, in the body of a GET, and marks them by the `Accept` header and by `format`.

mod message;

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use prost::Message;

use super::call::Call;
use super::error::Failure;
use super::gate::Seen;
use super::params::Params;
use super::queries::Question;
use super::tab::Tab;
use super::{Api, Backend, Node, find, reply};
use graphite_render::TimeRange;
use graphite_render::grammar::Expr;
use graphite_render::source::{self, Fetched};
use graphite_render::{RenderError, grammar};
use message::{
    CapabilityResponse, FetchRequest, FetchResponse, GlobMatch, GlobResponse, MetricsInfoResponse,
    MultiFetchRequest, MultiFetchResponse, MultiGlobRequest, MultiGlobResponse, MultiMetricsInfoRequest,
    MultiMetricsInfoResponse, Retention,
};
use plumbago_model::{Cancel, Phase, Policy};

/// The protocol's name, in `format` and among the capabilities.
const PROTOCOL: &str = "carbonapi_v3_pb";

const CONTENT_TYPE: &str = "application/x-carbonapi-v3-pb";

/// Is a request in this protocol?
pub(super) fn is_spoken(accept: Option<&HeaderValue>, params: &Params) -> bool {
    accept.is_some_and(|accept| accept == CONTENT_TYPE) || params.get("format") == Some(PROTOCOL)
}

/// `GET|POST /_internal/capabilities`: what carbonapi asks when its protocol is set to `auto`.
pub(super) async fn capabilities() -> Response {
    let capabilities = CapabilityResponse {
        supported_protocols: vec![PROTOCOL.to_owned(), "msgpack".to_owned()],
        name: format!("plumbago {}", env!("CARGO_PKG_VERSION")),
        like_splitted_requests: true,
        ..Default::default()
    };
    answer(&capabilities)
}

/// `/metrics/find` in this protocol.
pub(super) async fn find(api: &Api, question: &Question, message: &[u8]) -> Result<Response, Failure> {
    let request: MultiGlobRequest = decode(message)?;
    let question = question.worded(request.metrics.iter().map(String::as_str));
    let work = move |backend: &dyn Backend, cancel: &Cancel| {
        let metrics = request.metrics.into_iter().map(|pattern| glob(backend, pattern, cancel));
        let metrics = metrics.collect::<Result<_, _>>()?;
        Ok(MultiGlobResponse { metrics }.encode_to_vec())
    };
    find::found(&question, api.config.find_timeout, api, CONTENT_TYPE, work).await
}

/// `/render` in this protocol: names and patterns without functions, which carbonapi evaluates itself.
pub(super) async fn render(api: &Api, question: &Question, message: &[u8]) -> Result<Response, Failure> {
    let request: MultiFetchRequest = decode(message)?;
    let question = question.worded(request.metrics.iter().map(|one| one.name.as_str()));
    let now = Timestamp::now().as_second();
    let wanted = request.metrics.iter().map(|one| wanted(one, now)).collect::<Result<Vec<_>, _>>()?;
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| {
        let found = backend.source().fetch(&wanted, cancel).map_err(RenderError::from)?;
        let lists = request.metrics.iter().zip(found);
        cancel.begin(Phase::Write);
        let metrics = lists.map(|(one, found)| series(&*backend, one, found, cancel));
        let metrics = metrics.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let answer = MultiFetchResponse { metrics };
        cancel.take(answer.encoded_len())?;
        Ok(answer.encode_to_vec())
    };
    let done = api.workers.render(&question, work).await;
    let done = done.inspect_err(|failure| failure.count_limit(&api.telemetry.render_limited))?;
    Ok(done.reply(CONTENT_TYPE))
}

/// `GET|POST /info`: retention and aggregation of metrics; those that are not known are left out.
pub(super) async fn info(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let Some(message) = &call.message else {
        let text = format!("only the format {PROTOCOL} is available here");
        return Err(Failure::Refused(text));
    };
    let request: MultiMetricsInfoRequest = decode(message)?;
    let question = call.question.worded(request.names.iter().map(String::as_str));
    let work = move |backend: &dyn Backend, _: &Cancel| {
        let names: Vec<&str> = request.names.iter().map(String::as_str).collect();
        let policies = names.iter().zip(backend.policies(&names));
        let metrics = policies.filter_map(|(name, policy)| Some(metric_info(name, &*policy?))).collect();
        Ok(MultiMetricsInfoResponse { metrics }.encode_to_vec())
    };
    find::found(&question, api.config.find_timeout, &api, CONTENT_TYPE, work).await
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Failure> {
    M::decode(bytes)
        .map_err(|error| Failure::Invalid(format!("the body is not a {PROTOCOL} message: {error}")))
}

/// The names in a message, as each of the requests that it can be.
pub(super) fn names(message: &[u8]) -> [Result<Vec<String>, Failure>; 3] {
    let rendered = |request: MultiFetchRequest| {
        let wanted = |one: FetchRequest| wanted(&one, 1_700_000_000).map(|_| one.name);
        request.metrics.into_iter().map(wanted).collect()
    };
    [
        decode::<MultiGlobRequest>(message).map(|request| request.metrics),
        decode::<MultiFetchRequest>(message).and_then(rendered),
        decode::<MultiMetricsInfoRequest>(message).map(|request| request.names),
    ]
}

fn answer(message: &impl Message) -> Response {
    reply::body(StatusCode::OK, CONTENT_TYPE, message.encode_to_vec())
}

fn glob(backend: &dyn Backend, pattern: String, cancel: &Cancel) -> Result<GlobResponse, Failure> {
    let (mut matches, mut tab) = (Vec::new(), Tab::new(cancel));
    backend.find(&pattern, None, cancel, &mut |node: Node<'_>| {
        if !tab.admits(node.path) {
            return;
        }
        let mut add = |is_leaf| matches.push(GlobMatch { path: node.path.to_owned(), is_leaf });
        if node.directory {
            add(false);
        }
        if node.leaf {
            add(true);
        }
    })?;
    tab.settle()?;
    Ok(GlobResponse { name: pattern, matches })
}

/// What to fetch. Only calls of `seriesByTag` are read as expressions: a name that was found may have characters in it that an
/// expression may not.
fn wanted(request: &FetchRequest, now: i64) -> Result<source::FetchRequest, Failure> {
    let FetchRequest { ref name, start_time, stop_time, .. } = *request;
    if start_time == stop_time {
        let text = format!("empty time range: `{name}` is asked for from {start_time} until {stop_time}");
        return Err(Failure::Invalid(text));
    }
    let range = TimeRange { from: start_time.min(stop_time), until: start_time.max(stop_time) };
    if !name.starts_with("seriesByTag(") {
        return Ok(source::FetchRequest::path(name, range, now));
    }
    match grammar::parse(name).map_err(RenderError::from)? {
        Expr::Tagged(tagged) => Ok(source::FetchRequest::tagged(&tagged, range, now)?),
        _ => Err(Failure::Invalid(format!("`{name}` is not a call of seriesByTag alone"))),
    }
}

fn series(
    backend: &dyn Backend,
    request: &FetchRequest,
    found: Vec<Fetched>,
    cancel: &Cancel,
) -> Result<Vec<FetchResponse>, Failure> {
    let bytes = found.iter().map(|series| size_of::<FetchResponse>() + size_of_val(&*series.values)).sum();
    cancel.take(bytes).map_err(RenderError::from)?;
    let names: Vec<&str> = found.iter().map(|series| series.name.as_str()).collect();
    let policies = backend.policies(&names);
    let path_expression =
        if request.path_expression.is_empty() { &request.name } else { &request.path_expression };
    let response = |(series, policy): (Fetched, Option<Arc<Policy>>)| FetchResponse {
        path_expression: path_expression.clone(),
        consolidation_func: policy.as_ref().map_or("average", |policy| policy.aggregator.name()).to_owned(),
        x_files_factor: policy.map_or(0.0, |policy| policy.x_files_factor as f32),
        start_time: series.start,
        stop_time: series.end,
        step_time: series.step,
        values: series.values.to_vec(),
        request_start_time: request.start_time,
        request_stop_time: request.stop_time,
        name: series.name,
    };
    Ok(found.into_iter().zip(policies).map(response).collect())
}

fn metric_info(name: &str, policy: &Policy) -> MetricsInfoResponse {
    let retentions = policy.retention.stages().iter().map(|stage| Retention {
        seconds_per_point: i64::from(stage.step_secs),
        number_of_points: i64::from(stage.points),
    });
    MetricsInfoResponse {
        name: name.to_owned(),
        consolidation_func: policy.aggregator.name().to_owned(),
        max_retention: i64::try_from(policy.retention.span_secs()).unwrap_or(i64::MAX),
        x_files_factor: policy.x_files_factor as f32,
        retentions: retentions.collect(),
    }
}
