//! `/api/version` and `/api/aggregators`: what OpenTSDB's clients ask before they send or query.

use axum::response::Response;
use serde_json::json;

use super::super::find::to_json;
use super::super::kairosdb::answer;
use super::aggregate;

/// The release of OpenTSDB whose API this is, and who it really is.
const VERSION: &str = concat!("2.4.0-plumbago-", env!("CARGO_PKG_VERSION"));

/// `/api/version`
pub(in super::super) async fn version() -> Response {
    answer(to_json(&json!({ "version": VERSION, "repo": "plumbago" })))
}

/// `/api/aggregators`
pub(in super::super) async fn aggregators() -> Response {
    answer(to_json(&aggregate::NAMES))
}
