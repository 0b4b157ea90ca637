//! What is recorded of every request: an id, a log span, two counters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use super::Api;

/// Tells who asks: Grafana sends these, and a slow query is traced to its panel by them.
const CALLER_HEADERS: [&str; 4] = ["x-grafana-org-id", "x-dashboard-id", "x-panel-id", "x-panel-plugin-id"];

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Wraps every request.
pub(super) async fn record(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let began = Instant::now();
    api.telemetry.requests.add(1);
    let span = tracing::info_span!("request", id, method = %request.method(), path = request.uri().path());
    if tracing::enabled!(tracing::Level::DEBUG) {
        span.in_scope(|| log_caller(request.headers()));
    }
    let answer = async {
        let mut response = next.run(request).await;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            api.telemetry.request_errors.add(1);
        }
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(status = status.as_u16(), micros, "request answered");
        let headers = response.headers_mut();
        headers.insert("x-request-id", HeaderValue::from(id));
        // Errors repeat what was asked: no browser may take that for a page.
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    };
    answer.instrument(span).await
}

fn log_caller(headers: &HeaderMap) {
    for name in CALLER_HEADERS {
        if let Some(value) = headers.get(name) {
            tracing::debug!(header = name, value = ?value, "caller");
        }
    }
}
