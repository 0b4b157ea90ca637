//! `/internal/browser/metric`: what is known of one metric.

use axum::response::Response;
use serde::Serialize;

use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::find::{listed, to_json};
use crate::http::gate::Seen;

/// A metric, described.
#[derive(Clone, Debug, Serialize)]
pub struct MetricDescription {
    /// Its canonical name.
    pub name: String,
    /// The id that BigGraphite's tables have for it.
    pub uuid: String,
    /// Its stages, finest first.
    pub stages: Vec<StageShape>,
    /// How finer points become coarser ones.
    pub aggregation: &'static str,
    /// Fraction of points that must be known for an aggregate to be shown.
    pub x_files_factor: f64,
    /// The rule that gave the stages; `None` when none matches and the default is in force.
    pub retention_rule: Option<RuleName>,
    /// The rule that gave method and xFilesFactor.
    pub aggregation_rule: Option<RuleName>,
    /// False when the rules give it something else today than it was created with.
    pub as_ruled: bool,
    /// First second with data, as far as this server knows.
    pub first: Option<u32>,
    /// Its last point.
    pub last: Option<LastPoint>,
    /// Bytes of its points on this machine, without those in memory.
    pub bytes: u64,
}

/// One resolution.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageShape {
    /// Seconds from one point to the next.
    pub step: u32,
    /// How many are kept.
    pub points: u32,
}

/// A rule and where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct RuleName {
    /// The name of its section.
    pub name: String,
    /// `storage-schemas.conf:12`.
    pub origin: String,
}

/// When it was, and what it said.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LastPoint {
    /// Seconds since the epoch.
    pub time: u32,
    /// The value.
    pub value: f64,
}

/// `GET /internal/browser/metric?name=a.b.c`
pub(in crate::http) async fn handle(Seen(api): Seen, call: Call) -> Result<Response, Failure> {
    let name = call.params.get("name").unwrap_or_default().to_owned();
    listed(&api, &call, move |backend, cancel| {
        let description = backend.browse().describe(&name, cancel)?;
        let description =
            description.ok_or_else(|| Failure::NotFound(format!("there is no metric `{name}`")))?;
        Ok(to_json(&description))
    })
    .await
}
