//! One request as handlers see it: its parameters, and how the answer is to be written.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use hyper::body::Body as _;
use tokio::time::timeout;

use super::error::Failure;
use super::params::Params;

/// Longest body that is read. Grafana's largest dashboards stay far below.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Longest time it may take to arrive: a stalled client must not hold up a stop.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The parameters of a request, and what its headers say about the answer.
#[derive(Debug)]
pub(super) struct Call {
    /// Query string and form body.
    pub(super) params: Params,
    /// Escape everything beyond ASCII: the client asked for exactly `application/json`, or for nothing at all.
    pub(super) ascii: bool,
}

impl<S: Sync> FromRequest<S> for Call {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        let mut params = Params::default();
        params.extend(head.uri.query().unwrap_or_default().as_bytes());
        let body = read_body(&head.headers, body).await?;
        if !body.is_empty() {
            check_media_type(&head.headers)?;
            params.extend(body.trim_ascii_end());
        }
        let ascii = head.headers.get(header::ACCEPT).is_none_or(|accept| accept == "application/json");
        Ok(Self { params, ascii })
    }
}

/// The body of a request as it came, whatever its type says: scripts post JSON as a form.
#[derive(Debug)]
pub(super) struct Posted(pub(super) Vec<u8>);

impl<S: Sync> FromRequest<S> for Posted {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        Ok(Self(read_body(&head.headers, body).await?))
    }
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Failure> {
    if body.is_end_stream() {
        return Ok(Vec::new());
    }
    timeout(BODY_TIMEOUT, collect(headers, body)).await.map_err(|_| Failure::SlowBody)?
}

async fn collect(headers: &HeaderMap, mut body: Body) -> Result<Vec<u8>, Failure> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > MAX_BODY_BYTES as u64) {
        return Err(Failure::TooLarge(MAX_BODY_BYTES));
    }
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Failure::BrokenBody(error.to_string()))?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > MAX_BODY_BYTES {
                return Err(Failure::TooLarge(MAX_BODY_BYTES));
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(bytes)
}

/// Forms only: the parameters of a JSON or multipart body would be lost without a word.
fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let text = String::from_utf8_lossy(value.as_bytes());
    let media_type = text.split(';').next().unwrap_or_default().trim();
    if media_type.is_empty() || media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Ok(());
    }
    Err(Failure::MediaType(media_type.to_owned()))
}
