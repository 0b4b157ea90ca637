//! `/internal/queries`: the queries that run, the slowest, the most frequent; and how to cancel one.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::find::to_json;
use crate::http::gate::Seen;
use crate::http::reply;

/// `GET /internal/queries`
pub(in crate::http) async fn list(Seen(api): Seen) -> Response {
    let queries = api.workers.queries();
    let active: Vec<_> = queries.active().iter().map(super::Report::json).collect();
    let ranking = queries.ranking.lock();
    let memory = queries.memory();
    let all = json!({
        "memory": { "used": memory.lent(), "limit": memory.total(), "each": memory.each() },
        "active": active,
        "slowest": ranking.slowest(),
        "most_frequent": ranking.most_frequent(),
    });
    answered(&all)
}

/// `POST /internal/queries/cancel`: `id`, the number of a query that runs.
pub(in crate::http) async fn cancel(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let id = call.params.get("id").unwrap_or_default();
    let number = id.trim().parse().map_err(|_| {
        Failure::Invalid(format!("`id` must be the number of a query from /internal/queries, not `{id}`"))
    })?;
    if !api.workers.queries().cancel(number) {
        return Err(Failure::NotFound(format!("no query {number} is running")));
    }
    tracing::info!(query = number, "a query was cancelled by a call");
    Ok(answered(&json!({ "cancelled": number })))
}

fn answered(json: &serde_json::Value) -> Response {
    let mut response = reply::body(StatusCode::OK, "application/json", to_json(json));
    reply::never_cached(&mut response);
    response
}
