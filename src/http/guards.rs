//! Headers that guard every answer in a browser.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use super::gate;

/// An answer is data: it loads nothing and runs nothing. A picture in SVG has its own styles. The page brings its own policy.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'";

const GUARDS: [(HeaderName, &str); 4] = [
    // Errors repeat what was asked: no browser may take that for a page.
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
];

/// Adds those that are not there.
pub(super) fn add(headers: &mut HeaderMap) {
    for (name, value) in GUARDS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// What tells browsers to use TLS alone for so long.
pub(super) fn only_tls(lasts: Duration) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("max-age={}", lasts.as_secs())).ok().filter(|_| !lasts.is_zero())
}

/// Adds it to answers over TLS. Over bare HTTP browsers ignore it, because anybody on the way could have written it.
pub(super) async fn remember_tls(State(rule): State<HeaderValue>, request: Request, next: Next) -> Response {
    let is_encrypted = gate::is_over_tls(&request);
    let mut response = next.run(request).await;
    if is_encrypted {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, rule);
    }
    response
}
