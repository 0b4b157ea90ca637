//! Series that are sent while they are being written.

use std::sync::Arc;

use axum::body::{Body, Bytes};

use crate::http::answer::Running;
use crate::http::pieces::{self, Pieces};
use crate::http::queries::Query;
use graphite_render::RenderError;
use graphite_render::output::{Document, Part};
use plumbago_model::{Account as _, Phase, QueryError};

/// Points of a piece: some megabytes of text, and some milliseconds of work.
const PIECE_POINTS: usize = 1 << 16;

/// Bytes that a piece has at most, for sizing the buffers.
const PIECE_BYTES: usize = 3 << 20;

/// Memory that the pieces take: one is being made, one waits, and one is being sent.
pub(super) const PIECES_BYTES: usize = 3 * PIECE_BYTES;

/// Shorter answers are written as a whole, which is faster for a client that reads at once.
pub(super) const WORTH_STREAMING: usize = 8 << 20;

/// A document, and what stands around it.
pub(super) struct Text {
    pub(super) document: Document,
    pub(super) opening: String,
    pub(super) closing: &'static str,
}

/// A body that is written while it is sent.
pub(super) fn body(text: Text, running: Running) -> Body {
    pieces::body(Stream { text, running, ended: false })
}

struct Stream {
    text: Text,
    running: Running,
    ended: bool,
}

impl Stream {
    fn query(&self) -> &Arc<Query> {
        self.running.query()
    }

    fn write(&mut self) -> Result<Vec<u8>, QueryError> {
        self.query().is_wanted()?;
        let mut out = Vec::with_capacity(PIECE_BYTES);
        out.extend_from_slice(std::mem::take(&mut self.text.opening).as_bytes());
        let parts = self.text.document.next(PIECE_POINTS).map_err(failed)?;
        self.ended = parts.is_empty();
        if self.ended {
            out.extend_from_slice(self.text.closing.as_bytes());
        }
        write_halves(&mut out, &parts);
        Ok(out)
    }
}

impl Pieces for Stream {
    fn next(&mut self) -> Result<Option<Bytes>, QueryError> {
        if self.ended {
            return Ok(None);
        }
        self.query().begin(Phase::Write);
        let piece = self.write();
        self.query().begin(Phase::Send);
        let piece = piece?;
        self.query().note_written(piece.len());
        Ok(Some(piece.into()))
    }

    fn ended(&mut self, complete: bool) {
        self.running.ended(complete);
    }
}

/// Two threads write a half each, as they do for a shorter answer.
fn write_halves(out: &mut Vec<u8>, parts: &[Part]) {
    let points: usize = parts.iter().map(Part::points).sum();
    let mut before = 0;
    let half = parts.iter().take_while(|part| {
        before += part.points();
        before * 2 <= points
    });
    let (left, right) = parts.split_at(half.count());
    if left.is_empty() || points < super::WORTH_A_THREAD {
        return parts.iter().for_each(|part| part.write(out));
    }
    let mut other = Vec::with_capacity(PIECE_BYTES / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| right.iter().for_each(|part| part.write(&mut other)));
        left.iter().for_each(|part| part.write(out));
    });
    out.append(&mut other);
}

/// Nothing but the query itself can fail once the writing has begun.
fn failed(error: RenderError) -> QueryError {
    match error {
        RenderError::Query(error) => error,
        wrong => QueryError::invalid(wrong),
    }
}
