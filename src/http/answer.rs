//! The answer of a query on its way to the client. The query runs until the last byte has left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use super::queries::Query;
use super::reply;
use super::workers::Done;
use crate::telemetry::Refusal;
use plumbago_model::QueryError;

/// Longer answers are handed over in pieces of this size, which shows whether the client takes them.
const PIECE: usize = 1 << 20;

/// How a query ends that was answered.
const ANSWERED: &str = "answered";

/// A query from the side of its request. When this goes, nobody waits for the query any more.
#[derive(Debug)]
pub(super) struct Running {
    query: Arc<Query>,
}

impl Running {
    pub(super) fn new(query: Arc<Query>) -> Self {
        Self { query }
    }

    /// The query.
    pub(super) fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// A body that is complete.
    pub(super) fn body(self, bytes: Vec<u8>) -> Body {
        self.query.note_written(bytes.len());
        if bytes.len() > PIECE {
            return Body::new(Slices { rest: Bytes::from(bytes), running: self });
        }
        self.query.ended(ANSWERED);
        Body::from(Bytes::from_owner(Held { bytes, _running: self }))
    }

    /// Notes how an answer that was sent in pieces ended.
    pub(super) fn ended(&self, complete: bool) {
        self.query.ended(if complete { ANSWERED } else { Refusal::Abandoned.label() });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.query.abandon();
        self.query.ended(Refusal::Abandoned.label());
    }
}

impl Done<Vec<u8>> {
    /// An answer with status 200.
    pub(super) fn reply(self, content_type: &'static str) -> Response {
        reply::body(StatusCode::OK, content_type, self.running.body(self.value))
    }
}

/// Bytes that belong to a query until they are sent.
struct Held {
    bytes: Vec<u8>,
    _running: Running,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A long answer that is complete. It is asked for a piece when the client has taken the one before.
struct Slices {
    rest: Bytes,
    running: Running,
}

impl hyper::body::Body for Slices {
    type Data = Bytes;
    type Error = QueryError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, QueryError>>> {
        if let Err(unwanted) = self.running.query.is_wanted() {
            return Poll::Ready(Some(Err(unwanted)));
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        if self.rest.is_empty() {
            self.running.query.ended(ANSWERED);
        }
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
