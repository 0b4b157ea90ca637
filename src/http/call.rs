//! One request as handlers see it: its parameters, and how the answer is to be written.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use hyper::body::Body as _;
use tokio::time::timeout;

use super::carbonapi;
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
    /// The body as it came, of a request in carbonapi's protocol.
    pub(super) message: Option<Vec<u8>>,
}

impl<S: Sync> FromRequest<S> for Call {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        let mut params = Params::default();
        params.extend(head.uri.query().unwrap_or_default().as_bytes());
        let body = read_body(&head.headers, body).await?;
        let accept = head.headers.get(header::ACCEPT);
        let ascii = accept.is_none_or(|accept| accept == "application/json");
        if carbonapi::is_spoken(accept, &params) {
            return Ok(Self { params, ascii, message: Some(body) });
        }
        if !body.is_empty() {
            read_form(&mut params, &head.headers, body).await?;
        }
        Ok(Self { params, ascii, message: None })
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

/// The body of a request as it came, up to a limit of its endpoint's own.
pub(super) async fn posted(request: Request, limit: usize) -> Result<Vec<u8>, Failure> {
    let (head, body) = request.into_parts();
    read_up_to(limit, &head.headers, body).await
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Failure> {
    read_up_to(MAX_BODY_BYTES, headers, body).await
}

async fn read_up_to(limit: usize, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Failure> {
    if body.is_end_stream() {
        return Ok(Vec::new());
    }
    timeout(BODY_TIMEOUT, collect(limit, headers, body)).await.map_err(|_| Failure::SlowBody)?
}

async fn collect(limit: usize, headers: &HeaderMap, mut body: Body) -> Result<Vec<u8>, Failure> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > limit as u64) {
        return Err(Failure::TooLarge(limit));
    }
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Failure::BrokenBody(error.to_string()))?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > limit {
                return Err(Failure::TooLarge(limit));
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(bytes)
}

/// Adds the parameters of a form of either kind: browsers and scripts send the first, graphite-web as the head of a cluster the
/// second. Forms only: the parameters of a JSON body would be lost without a word.
async fn read_form(params: &mut Params, headers: &HeaderMap, body: Vec<u8>) -> Result<(), Failure> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let text = content_type.map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default();
    let media_type = text.split(';').next().unwrap_or_default().trim();
    if media_type.is_empty() || media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        params.extend(body.trim_ascii_end());
        return Ok(());
    }
    if !media_type.eq_ignore_ascii_case("multipart/form-data") {
        return Err(Failure::MediaType(media_type.to_owned()));
    }
    read_parts(params, content_type, body).await
}

async fn read_parts(
    params: &mut Params,
    content_type: Option<&HeaderValue>,
    body: Vec<u8>,
) -> Result<(), Failure> {
    let mut request = Request::new(Body::from(body));
    request.headers_mut().extend(content_type.map(|value| (header::CONTENT_TYPE, value.clone())));
    let mut parts =
        Multipart::from_request(request, &()).await.map_err(|e| Failure::BrokenBody(e.body_text()))?;
    let broken = |error: MultipartError| Failure::BrokenBody(error.body_text());
    while let Some(part) = parts.next_field().await.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_owned();
        params.push(name, part.text().await.map_err(broken)?);
    }
    Ok(())
}
