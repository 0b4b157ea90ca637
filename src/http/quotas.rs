//! `/internal/quotas`: what each quota allows, and how much of it is used.

use axum::http::StatusCode;
use axum::response::Response;
use tokio::task::spawn_blocking;

use super::error::Failure;
use super::find::to_json;
use super::gate::Seen;
use super::reply;

/// `GET /internal/quotas`
pub(super) async fn list(Seen(api): Seen) -> Result<Response, Failure> {
    let quotas = spawn_blocking(move || api.backend.quotas()).await.map_err(|_| Failure::Internal)?;
    let mut response = reply::body(StatusCode::OK, "application/json", to_json(&quotas));
    reply::never_cached(&mut response);
    Ok(response)
}
