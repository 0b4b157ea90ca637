//! `/internal/write`: carbon lines, and what became of them.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::call::Posted;
use super::error::Failure;
use super::gate::Seen;
use super::reply;

/// `POST /internal/write`: answers how many lines are stored, durably, and how many were refused for which reason.
pub(super) async fn handle(Seen(api): Seen, posted: Result<Posted, Failure>) -> Result<Response, Failure> {
    let posted = posted?;
    let answer =
        spawn_blocking(move || api.backend.write(&posted.bytes)).await.map_err(|_| Failure::Internal)?;
    let verdict = answer.map_err(Failure::NotReady)?;
    let json = json!({ "stored": verdict.stored, "refused": verdict.refused });
    let mut response = reply::body(StatusCode::OK, "application/json", format!("{json}\n"));
    reply::never_cached(&mut response);
    Ok(response)
}
