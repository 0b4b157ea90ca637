//! The small endpoints: what this is, whether it is well, what it counts.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

use super::call::Call;
use super::error::Failure;
use super::gate::Seen;
use super::{reference, reply};

/// The release of graphite-web whose API this is: Grafana decides by it what to offer.
const GRAPHITE_VERSION: &str = "1.1.10";

/// Any path that is not an endpoint.
pub(super) async fn unknown(uri: Uri) -> Response {
    reply::text(
        StatusCode::NOT_FOUND,
        format!("there is nothing at {}; the endpoints are\n\n{}", uri.path(), reference::listing()),
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
pub(super) async fn ready(Seen(api): Seen) -> Result<Response, Failure> {
    let answer = spawn_blocking(move || api.backend.ready()).await.map_err(|_| Failure::Internal)?;
    answer.map_err(Failure::NotReady)?;
    Ok(reply::text(StatusCode::OK, "ok\n"))
}

/// `GET /internal/metrics`
pub(super) async fn prometheus(Seen(api): Seen) -> Result<Response, Failure> {
    let text = spawn_blocking(move || api.backend.prometheus()).await.map_err(|_| Failure::Internal)?;
    Ok(reply::body(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
}

/// `POST /internal/flush`; with `settle=1` points are in merged blocks, too, when it answers.
pub(super) async fn flush(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let settle = call.params.switch("settle")?;
    let answer = spawn_blocking(move || api.backend.flush(settle)).await.map_err(|_| Failure::Internal)?;
    answer.map_err(Failure::Flush)?;
    Ok(reply::text(StatusCode::OK, "ok\n"))
}
