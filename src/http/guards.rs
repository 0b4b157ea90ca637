//! Headers that guard every answer in a browser.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

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
