//! `/api/v1/version`, `/api/v1/health` and `/api/v1/features`: how the server is and what it can do, as KairosDB's clients ask.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::super::error::Failure;
use super::super::find::to_json;
use super::super::gate::Seen;
use super::{KairosFailure, answer, nothing};
use crate::kairosdb;

/// What clients compare with: the release of KairosDB whose API this is, and who it really is.
pub(crate) const VERSION: &str = concat!("KairosDB 1.3.0-plumbago-", env!("CARGO_PKG_VERSION"));

/// `GET /api/v1/version`
pub(in super::super) async fn version() -> Response {
    answer([to_json(&json!({ "version": VERSION })), b"\n".to_vec()].concat())
}

/// `GET /api/v1/health/check`: 204 when queries and writes work.
pub(in super::super) async fn check(Seen(api): Seen) -> Result<Response, KairosFailure> {
    let ready = spawn_blocking(move || api.backend.ready()).await.map_err(|_| Failure::Internal)?;
    Ok(if ready.is_ok() { nothing() } else { StatusCode::INTERNAL_SERVER_ERROR.into_response() })
}

/// `GET /api/v1/health/status`
pub(in super::super) async fn status(Seen(api): Seen) -> Result<Response, KairosFailure> {
    let ready = spawn_blocking(move || api.backend.ready()).await.map_err(|_| Failure::Internal)?;
    let datastore = if ready.is_ok() { "Datastore-Query: OK" } else { "Datastore-Query: FAIL" };
    Ok(answer(to_json(&json!(["JVM-Thread-Deadlock: OK", datastore]))))
}

/// `GET /api/v1/features`: the aggregators and the ways to group.
pub(in super::super) async fn features() -> Response {
    answer(to_json(&kairosdb::features()))
}

/// `GET /api/v1/features/{kind}`
pub(in super::super) async fn features_of(Path(kind): Path<String>) -> Result<Response, KairosFailure> {
    let kind = kind.to_lowercase();
    match kairosdb::features_of(&kind) {
        Some(features) => Ok(answer(to_json(&features))),
        None => Err(Failure::NotFound(format!("Unknown feature '{kind}'")).into()),
    }
}
