//! The small endpoints: what this is, whether it is well, what it counts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

use super::call::Call;
use super::error::Failure;
use super::{Api, reply};

/// The release of graphite-web whose API this is: Grafana decides by it what to offer.
const GRAPHITE_VERSION: &str = "1.1.10";

const ENDPOINTS: &str = "\
/                      the metric browser
/render                target, from, until, format=json|csv|raw|dygraph|rickshaw|pickle|msgpack|png|svg, maxDataPoints
/metrics/find          query, from, until, format=treejson|completer|json|nodelist|pickle|msgpack
/metrics/expand        query
/metrics/index.json    all metric names
/info                  retentions, for carbonapi
/functions             the render functions
/tags                  filter, limit; /tags/<tag> lists the values of one
/tags/findSeries       expr; /tags/autoComplete/tags and /values for editors
/events/               POST: an event as JSON with what, tags, when, data
/events/get_data       from, until, tags, set=union|intersection
/version               the Graphite version whose API this is
/health/live           200 while the process runs
/health/ready          200 when queries and writes work; /health is the same
/internal/metrics      counters for Prometheus
/internal/cardinality  how many metrics by tag and by prefix: below, depth, limit
/internal/write        POST: carbon lines; answers how many were stored, and refused for which reason
/internal/import       POST, from this machine: bundles of metrics; keep_policy, from, until
/internal/export       POST, from this machine: names, one a line; answers bundles
/internal/delete       POST, from this machine: query, dry_run; deletes metrics with their points
/internal/rename       POST, from this machine: from, to, dry_run; renames metrics with their points
/internal/clean        POST, from this machine: unwritten_for, dry_run; deletes metrics without new points
/internal/delete-range POST, from this machine: query, from, until, dry_run; deletes the points of that time, metrics stay
/internal/copy         POST, from this machine: source, destination, from, until, dry_run; copies a metric to another name
/internal/fsck         POST, from this machine: reads every file of the store and compares checksums
/internal/names        from this machine: query; the names of all metrics that match, with tags and without
/internal/usage        from this machine: query; how many metrics there are at and below it, and their bytes
/internal/stats        from this machine: numbers about the whole store
/internal/info         from this machine: name; all that is known about a metric
/internal/backup       from this machine: POST with dir makes a backup of the store there; GET says how far it is
/internal/queries      from this machine: the queries that run, the slowest, the most frequent, and the memory they use
/internal/queries/cancel POST, from this machine: id; cancels a query
/internal/flush        POST: returns when all points received are durable and readable
";

/// Any path that is not an endpoint.
pub(super) async fn unknown(uri: Uri) -> Response {
    reply::text(
        StatusCode::NOT_FOUND,
        format!("there is nothing at {}; the endpoints are\n\n{ENDPOINTS}", uri.path()),
    )
}

/// `OPTIONS` on any path.
pub(super) fn options() -> Response {
    (StatusCode::NO_CONTENT, [(header::ALLOW, "GET, HEAD, POST, OPTIONS")]).into_response()
}

/// `GET /version`
pub(super) async fn version() -> Response {
    reply::text(StatusCode::OK, GRAPHITE_VERSION)
}

/// `GET /health/live`
pub(super) async fn live() -> Response {
    reply::text(StatusCode::OK, "ok\n")
}

/// `GET /health/ready`
pub(super) async fn ready(State(api): State<Arc<Api>>) -> Result<Response, Failure> {
    let answer = spawn_blocking(move || api.backend.ready()).await.map_err(|_| Failure::Internal)?;
    answer.map_err(Failure::NotReady)?;
    Ok(reply::text(StatusCode::OK, "ok\n"))
}

/// `GET /internal/metrics`
pub(super) async fn prometheus(State(api): State<Arc<Api>>) -> Result<Response, Failure> {
    let text = spawn_blocking(move || api.backend.prometheus()).await.map_err(|_| Failure::Internal)?;
    Ok(reply::body(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
}

/// `POST /internal/flush`; with `settle=1` points are in merged blocks, too, when it answers.
pub(super) async fn flush(State(api): State<Arc<Api>>, call: Call) -> Result<Response, Failure> {
    let settle = call.params.switch("settle")?;
    let answer = spawn_blocking(move || api.backend.flush(settle)).await.map_err(|_| Failure::Internal)?;
    answer.map_err(Failure::Flush)?;
    Ok(reply::text(StatusCode::OK, "ok\n"))
}
