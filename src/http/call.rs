//! One request as handlers see it: its parameters, and how the answer is to be written.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use hyper::body::Body as _;
use tokio::time::timeout;

use super::error::Failure;
use super::gate::Gate;
use super::params::Params;
use super::queries::Question;
use super::queries::memory::{Loan, Memory};
use super::{carbonapi, tenancy};

/// Longest body that is read. Grafana's largest dashboards stay far below.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Bytes of a body that need no memory of the queries: a form that a dashboard sends should not wait behind large renders.
const FREE: usize = 8 * 1024;

/// Times a body is in memory: as it came, and taken apart.
const COPIES: usize = 3;

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
    /// What it asks, and who sent it.
    pub(super) question: Arc<Question>,
    /// The memory of its body.
    _body: Option<Loan>,
}

impl FromRequest<Arc<Gate>> for Call {
    type Rejection = Failure;

    async fn from_request(request: Request, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        let mut params = Params::default();
        params.extend(head.uri.query().unwrap_or_default().as_bytes());
        let (body, loan) = read_body(gate, &head.headers, body).await?;
        let accept = head.headers.get(header::ACCEPT);
        let ascii = accept.is_none_or(|accept| accept == "application/json");
        let is_message = carbonapi::is_spoken(accept, &params);
        if !is_message && !body.is_empty() {
            read_form(&mut params, &head.headers, &body).await?;
            tenancy::check_form(gate, &head, &params)?;
        }
        let question = Arc::new(Question::of(&head, &params));
        Ok(Self { params, ascii, message: is_message.then_some(body), question, _body: loan })
    }
}

/// The body of a request as it came, whatever its type says: scripts post JSON as a form.
#[derive(Debug)]
pub(super) struct Posted {
    pub(super) bytes: Vec<u8>,
    /// Who sent it.
    pub(super) question: Arc<Question>,
    _body: Option<Loan>,
}

impl FromRequest<Arc<Gate>> for Posted {
    type Rejection = Failure;

    async fn from_request(request: Request, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        let question = Arc::new(Question::of(&head, &Params::default()));
        let (bytes, _body) = read_body(gate, &head.headers, body).await?;
        Ok(Self { bytes, question, _body })
    }
}

/// The body of a request as it came, up to a limit of its endpoint's own.
pub(super) async fn posted(request: Request, limit: usize) -> Result<Vec<u8>, Failure> {
    let (head, body) = request.into_parts();
    let read = collect(limit, &head.headers, body, None);
    Ok(timeout(BODY_TIMEOUT, read).await.map_err(|_| Failure::SlowBody)??.0)
}

/// The same, with memory of the queries.
pub(super) async fn posted_within(
    request: Request,
    limit: usize,
    memory: &Memory,
) -> Result<(Vec<u8>, Option<Loan>), Failure> {
    let (head, body) = request.into_parts();
    let read = collect(limit, &head.headers, body, Some(memory));
    timeout(BODY_TIMEOUT, read).await.map_err(|_| Failure::SlowBody)?
}

/// A body, and the memory of the queries that it takes.
async fn read_body(gate: &Gate, headers: &HeaderMap, body: Body) -> Result<(Vec<u8>, Option<Loan>), Failure> {
    if body.is_end_stream() {
        return Ok((Vec::new(), None));
    }
    let read = collect(MAX_BODY_BYTES, headers, body, Some(gate.memory()));
    timeout(BODY_TIMEOUT, read).await.map_err(|_| Failure::SlowBody)?
}

/// Reads a body. What arrives is borrowed from `memory` piece by piece: a client that announces much and sends nothing takes nothing.
async fn collect(
    limit: usize,
    headers: &HeaderMap,
    mut body: Body,
    memory: Option<&Memory>,
) -> Result<(Vec<u8>, Option<Loan>), Failure> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > limit as u64) {
        return Err(Failure::TooLarge(limit));
    }
    let (mut bytes, mut loan) = (Vec::new(), None::<Loan>);
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Failure::BrokenBody(error.to_string()))?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > limit {
                return Err(Failure::TooLarge(limit));
            }
            if let Some(memory) = memory.filter(|_| bytes.len() + data.len() > FREE) {
                let more = memory.lend(COPIES * data.len()).await?;
                match &mut loan {
                    Some(loan) => loan.add(more),
                    none => *none = Some(more),
                }
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok((bytes, loan))
}

/// Adds the parameters of a form of either kind: browsers and scripts send the first, graphite-web as the head of a cluster the
/// second. Forms only: the parameters of a JSON body would be lost without a word.
async fn read_form(params: &mut Params, headers: &HeaderMap, body: &[u8]) -> Result<(), Failure> {
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
    body: &[u8],
) -> Result<(), Failure> {
    let mut request = Request::new(Body::from(body.to_vec()));
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
