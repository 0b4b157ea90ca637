//! Answers that are sent piece by piece: they need the memory of a piece or two, and start at once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use plumbago_model::QueryError;

/// Something that makes an answer piece by piece.
pub(super) trait Pieces: Send + 'static {
    /// The next piece, or none at the end. It may block.
    fn next(&mut self) -> Result<Option<Bytes>, QueryError>;

    /// Called once, when no more pieces are wanted: all are taken, or the client is gone.
    fn ended(&mut self, _complete: bool) {}
}

/// A body of these pieces. One is being made while the one before it is on its way, and no thread is held while a slow client reads.
pub(super) fn body(pieces: impl Pieces) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send(Box::new(pieces), sender));
    Body::new(Stream { receiver, ended: false })
}

/// A piece, or the end of a complete answer.
type Sent = Option<Bytes>;

async fn send(mut pieces: Box<dyn Pieces>, sender: mpsc::Sender<Sent>) {
    loop {
        let making = spawn_blocking(move || {
            let made = pieces.next();
            (pieces, made)
        });
        // A panic, like an error, leaves the answer without an end, which breaks the connection.
        let Ok((rest, made)) = making.await else { return };
        pieces = rest;
        let Ok(piece) = made.inspect_err(|error| tracing::warn!(%error, "an answer broke off")) else {
            return;
        };
        let is_last = piece.is_none();
        // It waits until the client has taken the piece before, or is gone.
        let taken = sender.send(piece).await.is_ok();
        if is_last || !taken {
            pieces.ended(taken);
            return;
        }
    }
}

struct Stream {
    receiver: mpsc::Receiver<Sent>,
    ended: bool,
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Poll::Ready(sent) = self.receiver.poll_recv(cx) else { return Poll::Pending };
        Poll::Ready(match sent {
            Some(Some(piece)) => Some(Ok(Frame::data(piece))),
            Some(None) => {
                self.ended = true;
                None
            }
            None => Some(Err(io::Error::other("the answer broke off"))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}
