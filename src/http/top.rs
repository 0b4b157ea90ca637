//! `/internal/top`: which prefixes receive most points, which metrics are new, and which are never read.

use axum::response::Response;

use super::call::Call;
use super::cardinality::survey;
use super::care::looked_up;
use super::error::Failure;
use super::gate::Seen;

/// `GET /internal/top`: `below` a directory, by `depth` components, at most `limit` of each.
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let survey = survey(&call)?;
    looked_up(api, &call.question, move |care, cancel| care.top(&survey, cancel).map(Some)).await
}
