//! `/internal/top`: which prefixes receive most points, which metrics are new, and which are never read.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::Api;
use super::call::Call;
use super::cardinality::survey;
use super::care::answered;
use super::error::Failure;

/// `GET /internal/top`: `below` a directory, by `depth` components, at most `limit` of each.
pub(super) async fn handle(State(api): State<Arc<Api>>, call: Call) -> Result<Response, Failure> {
    let survey = survey(&call)?;
    answered(api, move |care| care.top(&survey).map(Some)).await
}
