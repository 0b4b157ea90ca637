//! Compression of answers, and which other pages may read them (CORS).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::gate::Gate;
use super::info;
use super::queries;
use super::render::BROKEN_TARGET;
use crate::config::{self, PageOrigins};

/// Shorter answers fit in a packet anyway.
const WORTH_COMPRESSING: u16 = 1024;

/// How long a browser may cache that access is allowed.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Headers that scripts of those pages may read.
const EXPOSED: [HeaderName; 6] = [
    HeaderName::from_static("x-request-id"),
    BROKEN_TARGET,
    queries::SERIES,
    queries::POINTS,
    queries::MEMORY,
    queries::MILLIS,
];

/// Wraps all routes.
pub(super) fn layers(routes: Router<Arc<Gate>>, config: &config::Http) -> Router<Arc<Gate>> {
    let routes = if config.compress { routes.layer(compression()) } else { routes };
    let routes = routes.layer(from_fn(answer_options));
    match page_origins(&config.allow_origins) {
        Some(origins) => routes.layer(origins),
        None => routes,
    }
}

/// Numbers as text shrink to a fifth even when little time is spent on it.
fn compression() -> CompressionLayer<impl Predicate> {
    let worth_it = SizeAbove::new(WORTH_COMPRESSING)
        .and(NotForContentType::const_new("image/png"))
        .and(NotForContentType::const_new("font/"));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it)
}

/// `OPTIONS` on any path, unless a browser asks whether a page may read answers.
async fn answer_options(request: Request, next: Next) -> Response {
    if request.method() == Method::OPTIONS { info::options() } else { next.run(request).await }
}

/// By default no other page is allowed: it could read the metrics through the browser of any of its visitors.
fn page_origins(origins: &PageOrigins) -> Option<CorsLayer> {
    let cors = CorsLayer::new()
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
        .max_age(REMEMBERED);
    match origins {
        PageOrigins::Any => Some(cors.allow_origin(AllowOrigin::any())),
        PageOrigins::These(texts) if texts.is_empty() => None,
        PageOrigins::These(texts) => {
            let origins = texts.iter().filter_map(|text| HeaderValue::from_str(text).ok());
            // A proxy in front may require a login, which browsers send only if that is allowed.
            Some(cors.allow_origin(AllowOrigin::list(origins)).allow_credentials(true))
        }
    }
}
