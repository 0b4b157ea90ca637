//! `/internal/top`: which prefixes receive most points, which metrics are new, and which are never read.

use axum::response::Response;

use super::call::Call;
use super::cardinality::survey;
use super::care::answered;
use super::error::Failure;
use super::gate::Seen;

/// `GET /internal/top`: `below` a directory, by `depth` components, at most `limit` of each.
pub(super) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let survey = survey(&call)?;
    answered(api, move |care| care.top(&survey).map(Some)).await
}
