//! `/internal/write`: carbon lines, and what became of them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::call::Posted;
use super::error::{Failure, QUOTA_WAIT};
use super::gate::Seen;
use super::reply;

/// `POST /internal/write`: answers how many lines are stored, durably, and how many were refused for which reason. If none is stored
/// because there are too many, the status says so.
pub(super) async fn handle(Seen(api): Seen, posted: Result<Posted, Failure>) -> Result<Response, Failure> {
    let posted = posted?;
    let answer =
        spawn_blocking(move || api.backend.write(&posted.bytes)).await.map_err(|_| Failure::Internal)?;
    let verdict = answer.map_err(Failure::NotReady)?;
    let json = json!({ "stored": verdict.stored, "refused": verdict.refused });
    let status = if verdict.is_too_much() { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    let mut response = reply::body(status, "application/json", format!("{json}\n"));
    if verdict.is_too_much() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(QUOTA_WAIT));
    }
    reply::never_cached(&mut response);
    Ok(response)
}
