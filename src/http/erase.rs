//! `/internal/delete-range`: the points of a stretch of time, while the metrics stay.
//!
//! This is a call of its own. An older server would not know the times, and `/internal/delete` would delete everything.

use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::bundles::window;
use super::call::Call;
use super::care::{required, tried};
use super::error::Failure;
use super::gate::{Audit, Seen};

/// What was deleted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedRange {
    /// False for a trial.
    pub deleted: bool,
    /// The metrics that had something in the range.
    pub metrics: Vec<DeletedSlots>,
    /// Nothing but directories matched.
    pub only_directories: bool,
}

/// What was deleted of one metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedSlots {
    /// Its name.
    pub name: String,
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
    /// Aggregated slots at the edges that were made again.
    pub remade: u64,
}

/// `POST /internal/delete-range`: `query`, `from`, `until`, and `dry_run` to only count.
pub(super) async fn delete_range(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let query = required(&call, "query")?;
    for name in ["from", "until"] {
        required(&call, name)?;
    }
    let ((from, until), trial) = (window(&call.params)?, call.params.switch("dry_run")?);
    if from >= until {
        return Err(Failure::Invalid(format!("`from` is {from}, which is not before `until`, {until}")));
    }
    tried(api, &call.question, trial, move |care, cancel| {
        let deleted = care.delete_range(&query, (from, until), trial, cancel)?;
        if !trial {
            let what = format!("{query} from {from} until {until}");
            audit.note("delete-range", &what, deleted.metrics.len() as u64);
        }
        Ok(Some(deleted))
    })
    .await
}
