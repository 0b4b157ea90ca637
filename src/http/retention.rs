//! Rules of a running server: `/internal/reload`, and `/internal/retention` for what a reload would do.

use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::care::answered;
use super::error::Failure;
use super::gate::{Audit, Seen};

/// What changed retention rules would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetentionPlan {
    /// Metrics that would move, by their old and new policy; most first.
    pub moves: Vec<PolicyMove>,
    /// Metrics that would stay as they are.
    pub unchanged: u64,
    /// In a cluster, metrics that have another policy than that of the rules in force keep it.
    pub metrics_keep_their_policy: bool,
}

/// Metrics that would move from one policy to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyMove {
    /// Their policy, in the catalogue's form.
    pub from: String,
    /// The one that they would get.
    pub to: String,
    /// How many there are.
    pub metrics: u64,
    /// Bytes of their chunks.
    pub bytes: u64,
    /// Some of their names.
    pub examples: Vec<String>,
}

/// What a reload did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// Metrics that got another policy.
    pub moved: u64,
    /// Keys that were changed and that only a restart puts in force.
    pub needs_restart: Vec<String>,
    /// What was skipped, with file and line.
    pub warnings: Vec<String>,
}

/// `POST /internal/reload`
pub(super) async fn reload(Seen(api): Seen, audit: Audit) -> Result<Response, Failure> {
    answered(api, move |care| {
        let reloaded = care.reload()?;
        audit.note("reload", "configuration and rules", reloaded.moved);
        Ok(Some(reloaded))
    })
    .await
}

/// `GET /internal/retention`
pub(super) async fn plan(Seen(api): Seen) -> Result<Response, Failure> {
    answered(api, |care| care.plan_retention().map(Some)).await
}
