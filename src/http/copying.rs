//! `/internal/copy`: one metric under another name.

use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::bundles::window;
use super::call::Call;
use super::care::{answered, required};
use super::error::Failure;
use super::gate::{Audit, Seen};

/// What became of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedMetric {
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
    /// Why it was not copied, if it was not.
    pub refused: Option<String>,
}

/// `POST /internal/copy`: `source`, `destination`, `from`, `until`, and `dry_run` to only count. 404 without the source.
pub(super) async fn copy(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let (source, destination) = (required(&call, "source")?, required(&call, "destination")?);
    let (window, trial) = (window(&call.params)?, call.params.switch("dry_run")?);
    answered(api, move |care| {
        let copied = care.copy_metric(&source, &destination, window, trial)?;
        if !trial && copied.as_ref().is_some_and(|copied| copied.refused.is_none()) {
            audit.note("copy", &format!("{source} to {destination}"), 1);
        }
        Ok(copied)
    })
    .await
}
