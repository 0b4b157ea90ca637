//! The answer of a query on its way to the client. The query runs until the last byte has left.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;

use super::pieces::{self, Pieces};
use super::queries::Query;
use super::reply;
use super::workers::Done;
use crate::telemetry::Refusal;
use plumbago_model::QueryError;

/// Longer answers are handed over in pieces of this size, so that a client which stops reading does not keep all of it.
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
            return pieces::body(Slices { rest: Bytes::from(bytes), running: self });
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

/// A long answer that is complete.
struct Slices {
    rest: Bytes,
    running: Running,
}

impl Pieces for Slices {
    fn next(&mut self) -> Result<Option<Bytes>, QueryError> {
        self.running.query.is_wanted()?;
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.rest.len())
    }

    fn ended(&mut self, complete: bool) {
        self.running.ended(complete);
    }
}
