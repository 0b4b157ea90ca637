//! `/internal/browser/search`: names by words or by glob, a page of them.

use std::sync::Arc;

use axum::response::Response;

use super::limit_of;
use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::find::{listed_within, to_json};
use crate::http::gate::Seen;

const DEFAULT_NODES: i64 = 100;

/// `GET /internal/browser/search?query=web1+load&limit=100`
///
/// It follows every letter that is typed: after `query.search_timeout` the names found by then are worth more than all of
/// them later.
pub(in crate::http) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let query = call.params.get("query").unwrap_or_default().to_owned();
    let limit = limit_of(&call.params, DEFAULT_NODES)?;
    let telemetry = Arc::clone(&api.telemetry);
    listed_within(api.config.search_timeout, &api, &call, move |backend, cancel| {
        let found = backend.browse().search(query.trim(), limit, cancel)?;
        if !found.complete {
            telemetry.searches_cut_short.add(1);
        }
        Ok(to_json(&found))
    })
    .await
}
