//! Bodies that may be packed with gzip: as `Content-Encoding` says, or as a `Content-Type` of their own, which is KairosDB's older way.

use std::io::Read;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use flate2::read::MultiGzDecoder;

use super::call::posted_within;
use super::error::Failure;
use super::gate::Gate;
use super::queries::memory::{Loan, Memory};

/// How much memory a body takes while it is unpacked, at a time.
const PIECE: usize = 256 * 1024;

/// A body of `kairosdb.max_body_bytes` at most, as it was sent.
#[derive(Debug)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    loan: Option<Loan>,
    is_gzip: bool,
    limit: usize,
    memory: Arc<Memory>,
}

/// A body, and the memory that it holds.
#[derive(Debug)]
pub(super) struct Unpacked {
    pub(super) bytes: Vec<u8>,
    _loan: Option<Loan>,
}

impl FromRequest<Arc<Gate>> for Packed {
    type Rejection = Failure;

    async fn from_request(request: Request, gate: &Arc<Gate>) -> Result<Self, Failure> {
        let is_gzip = is_gzip(request.headers())?;
        let limit = gate.max_body_bytes();
        let memory = gate.memory();
        let (bytes, loan) = posted_within(request, limit, memory).await?;
        Ok(Self { bytes, loan, is_gzip, limit, memory: Arc::clone(memory) })
    }
}

impl Packed {
    /// The body itself. This takes time, and waits for memory: call it on a thread that may block.
    pub(super) fn unpack(self) -> Result<Unpacked, Failure> {
        let Self { bytes, mut loan, is_gzip, limit, memory } = self;
        if !is_gzip {
            return Ok(Unpacked { bytes, _loan: loan });
        }
        let mut unpacked = Vec::new();
        let mut packed = MultiGzDecoder::new(&*bytes);
        loop {
            let before = unpacked.len();
            let room = PIECE.min(limit + 1 - before);
            let more = memory.lend_blocking(room, loan.is_some(), || Ok(()))?;
            match &mut loan {
                Some(loan) => loan.add(more),
                none => *none = Some(more),
            }
            let read = (&mut packed).take(room as u64).read_to_end(&mut unpacked);
            read.map_err(|error| Failure::Refused(format!("the body is no gzip that can be read: {error}")))?;
            if unpacked.len() > limit {
                return Err(Failure::TooLarge(limit));
            }
            if unpacked.len() - before < room {
                return Ok(Unpacked { bytes: unpacked, _loan: loan });
            }
        }
    }
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Failure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
    match text(header::CONTENT_ENCODING) {
        "" | "identity" => {}
        encoding if encoding.eq_ignore_ascii_case("gzip") => return Ok(true),
        other => {
            return Err(Failure::Refused(format!(
                "a body in `{other}` is not read here; send it plain or as gzip"
            )));
        }
    }
    let media_type = text(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    Ok(["application/gzip", "application/x-gzip"].iter().any(|gzip| media_type.eq_ignore_ascii_case(gzip)))
}
