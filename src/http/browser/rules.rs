//! `/internal/browser/rules`: what the rules in force do to a name.

use axum::response::Response;
use serde::Serialize;

use super::MetricDescription;
use crate::http::call::Call;
use crate::http::care::required;
use crate::http::error::Failure;
use crate::http::find::{listed, to_json};
use crate::http::gate::Seen;

/// A name and what happens to points that are sent under it.
#[derive(Clone, Debug, Serialize)]
pub struct RuledName {
    /// Why they are rejected, if they are.
    pub refused: Option<&'static str>,
    /// The metrics that they are gathered into.
    pub aggregates: Vec<String>,
    /// Is there a metric of the name that they are stored under?
    pub exists: bool,
    /// That metric, or what a new one of this name would get.
    pub metric: MetricDescription,
    /// The quotas that count for it.
    pub quotas: Vec<AppliedQuota>,
}

/// A quota that counts for a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedQuota {
    /// What it is called.
    pub name: String,
    /// Where it is configured.
    pub origin: String,
    /// Its limits in words.
    pub limits: String,
    /// Does it ask who sends?
    pub asks_for_sender: bool,
    /// The directory for which it counts, if each has its own limits.
    pub directory: Option<String>,
}

/// `GET /internal/browser/rules?name=a.b.c`
pub(in crate::http) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let name = required(&call, "name")?;
    listed(&api, &call, move |backend, cancel| {
        let found = backend.browse().rules_for(&name, cancel)?;
        Ok(to_json(&found.ok_or_else(Failure::no_store)?))
    })
    .await
}
