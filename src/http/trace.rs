//! What is recorded of every request: an id, a log span, counters, and how long it took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use super::queries::Origin;
use super::{Api, guards};

/// The endpoint of all paths that have no route. Clients choose those paths, so they must not become labels.
const NO_ENDPOINT: &str = "other";

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Wraps every request.
pub(super) async fn record(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    api.telemetry.requests.add(1);
    let mut stopwatch = Stopwatch::start(&api, &request);
    let origin = Origin::of(id, &request);
    let span = tracing::info_span!(
        "request",
        id,
        method = %request.method(),
        path = request.uri().path(),
        trace = origin.trace.as_deref(),
    );
    #[cfg(feature = "otlp")]
    go_on(&span, request.headers());
    request.extensions_mut().insert(origin);
    let answer = async {
        let mut response = next.run(request).await;
        let status = response.status();
        stopwatch.status = Some(status);
        if status.is_client_error() || status.is_server_error() {
            api.telemetry.request_errors.add(1);
        }
        let micros = u64::try_from(stopwatch.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(status = status.as_u16(), micros, "request answered");
        let headers = response.headers_mut();
        headers.insert("x-request-id", HeaderValue::from(id));
        guards::add(headers);
        response
    };
    answer.instrument(span).await
}

/// The span of a request belongs to the trace that its caller has begun.
#[cfg(feature = "otlp")]
fn go_on(span: &tracing::Span, headers: &axum::http::HeaderMap) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    crate::telemetry::otlp::go_on(span, text("traceparent"), text("tracestate"));
}

/// Measures a request by its endpoint.
///
/// It counts when it is dropped, because the server drops a request whose client has left. People leave the slowest queries
/// first, and without these the latencies would look better than they are.
struct Stopwatch {
    api: Arc<Api>,
    /// The template of the route; none for a path that is not an endpoint.
    route: Option<MatchedPath>,
    began: Instant,
    status: Option<StatusCode>,
}

impl Stopwatch {
    fn start(api: &Arc<Api>, request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>().cloned();
        Self { api: Arc::clone(api), route, began: Instant::now(), status: None }
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        let template = self.route.as_ref().map_or(NO_ENDPOINT, MatchedPath::as_str);
        // Every path works with a slash at its end, and is the same endpoint.
        let template = template.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(template);
        let status = self.status.map(|status| status.as_u16());
        self.api.telemetry.endpoints.record(template, status, self.began.elapsed());
    }
}
