//! `/metrics/index.json`: every metric name, streamed so that a million of them need no memory and start at once.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Frame;
use tokio::task::{JoinHandle, spawn_blocking};

use super::call::Call;
use super::error::Failure;
use super::find::to_json;
use super::gate::Seen;
use super::reply::Wrapping;
use super::{NameStream, reply};

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
    let listing = Listing { names: api.backend.names(), wrapping, opening, closing, begun: false };
    let mut response = reply::body(StatusCode::OK, content_type, Body::new(Stream::Piece(listing.next())));
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
}

impl Listing {
    /// Makes the next piece on a thread that may block. No thread is held while a slow client reads.
    fn next(mut self) -> JoinHandle<(Vec<u8>, Option<Listing>)> {
        spawn_blocking(move || {
            let names = (self.names)(PIECE_NAMES);
            let last = names.is_empty();
            let mut piece = std::mem::take(&mut self.opening).into_bytes();
            if self.begun && !last {
                piece.push(b',');
            }
            let json = self.wrapping.escape(to_json(&names));
            // Without its brackets: the pieces together make one array.
            piece.extend_from_slice(json.get(1..json.len() - 1).unwrap_or_default());
            if last {
                piece.extend_from_slice(self.closing.as_bytes());
                return (piece, None);
            }
            self.begun = true;
            (piece, Some(self))
        })
    }
}

/// The body: one piece is being made while the one before it is on its way.
enum Stream {
    Piece(JoinHandle<(Vec<u8>, Option<Listing>)>),
    Done,
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Stream::Piece(task) = &mut *self else { return Poll::Ready(None) };
        let Poll::Ready(made) = Pin::new(task).poll(cx) else { return Poll::Pending };
        // A panic in the backend ends the stream early; the cut-off array tells the client.
        let Ok((piece, rest)) = made else {
            *self = Stream::Done;
            return Poll::Ready(None);
        };
        *self = rest.map_or(Stream::Done, |listing| Stream::Piece(listing.next()));
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}
