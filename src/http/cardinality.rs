//! `/internal/cardinality`: which tags and which parts of the tree have how many metrics.

use axum::response::Response;

use super::Backend;
use super::call::Call;
use super::error::Failure;
use super::find::{listed, to_json};
use super::gate::Seen;
use crate::index::Survey;
use plumbago_model::Cancel;

/// `GET /internal/cardinality`: `below` a directory, by `depth` components, at most `limit` of each.
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let survey = survey(&call)?;
    listed(&api, &call, move |backend: &dyn Backend, cancel: &Cancel| {
        let found = backend.index()?.cardinality(&survey, cancel)?;
        Ok(to_json(&found.to_json()))
    })
    .await
}

/// What a call asks to be counted.
pub(super) fn survey(call: &Call) -> Result<Survey, Failure> {
    let count = |name, default| -> Result<usize, Failure> {
        let number = call.params.int(name, default)?;
        usize::try_from(number).map_err(|_| Failure::Invalid(format!("`{name}` must not be negative")))
    };
    let below = call.params.get("below").unwrap_or_default().to_owned();
    Ok(Survey { below, depth: count("depth", 1)?, limit: count("limit", 20)? })
}
