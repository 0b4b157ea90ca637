//! `POST /api/v1/datapoints`

use std::fmt::Write as _;

use axum::response::Response;
use tokio::task::spawn_blocking;

use super::super::error::Failure;
use super::super::gate::Seen;
use super::super::intake;
use super::super::unpacked::Packed;
use super::{KairosFailure, nothing};
use crate::parse::labelled::datapoints;
use plumbago_model::Reject;

/// Stores points. With errors, the answer names them, and all other points are stored.
pub(in super::super) async fn add(
    Seen(api): Seen,
    packed: Result<Packed, Failure>,
) -> Result<Response, KairosFailure> {
    let packed = packed?;
    let taken = spawn_blocking(move || {
        let body = packed.unpack()?;
        intake::take(&api, &body.bytes, datapoints::read, wording)
    });
    let taken = taken.await.map_err(|_| Failure::Internal)??;
    if taken.errors.is_empty() { Ok(nothing()) } else { Err(KairosFailure::Several(taken.errors)) }
}

fn wording(item: usize, metric: &str, place: Option<u32>, reason: Reject) -> String {
    let mut text = format!("metric[{item}](name={})", datapoints::shown(metric));
    if let Some(place) = place {
        let _ = write!(text, ".datapoints[{place}]");
    }
    let _ = write!(text, " {}", datapoints::why(reason));
    text
}
