//! `/metrics/index.json`: every metric name, streamed so that a million of them need no memory and start at once.

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;

use super::call::Call;
use super::error::Failure;
use super::find::to_json;
use super::gate::Seen;
use super::pieces::{self, Pieces};
use super::reply::Wrapping;
use super::{NameStream, reply};
use plumbago_model::QueryError;

/// Names per piece: some hundred kilobytes, and about a millisecond of work.
const PIECE_NAMES: usize = 4096;

/// `GET|POST /metrics/index.json`
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let wrapping = Wrapping::listing(&call)?;
    let content_type = wrapping.content_type();
    let (opening, closing) = match &wrapping.callback {
        Some(callback) => (format!("{callback}(["), "])"),
        None => ("[".to_owned(), "]"),
    };
    let listing =
        Listing { names: api.backend.names(""), wrapping, opening, closing, begun: false, ended: false };
    let mut response = reply::body(StatusCode::OK, content_type, pieces::body(listing));
    reply::never_cached(&mut response);
    Ok(response)
}

/// What is still to be listed.
struct Listing {
    names: NameStream,
    wrapping: Wrapping,
    /// Stands before the first name.
    opening: String,
    closing: &'static str,
    begun: bool,
    ended: bool,
}

impl Pieces for Listing {
    fn next(&mut self) -> Result<Option<Bytes>, QueryError> {
        if self.ended {
            return Ok(None);
        }
        let names = (self.names)(PIECE_NAMES);
        self.ended = names.is_empty();
        let mut piece = std::mem::take(&mut self.opening).into_bytes();
        if self.begun && !self.ended {
            piece.push(b',');
        }
        self.begun = true;
        let json = self.wrapping.escape(to_json(&names));
        // Without its brackets: the pieces together make one array.
        piece.extend_from_slice(json.get(1..json.len() - 1).unwrap_or_default());
        if self.ended {
            piece.extend_from_slice(self.closing.as_bytes());
        }
        Ok(Some(piece.into()))
    }
}
