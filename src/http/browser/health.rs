//! `/internal/browser/health`: how ingest and store are, in one small document. Counters are for Prometheus elsewhere; this is
//! for a person who looks.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::http::error::Failure;
use crate::http::find::to_json;
use crate::http::gate::{LoggedIn, Rights, Seen};
use crate::http::reply;

/// How the server is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Health {
    /// The version that runs.
    pub version: &'static str,
    /// What somebody should know about who can reach the server.
    pub warning: Option<String>,
    /// Who asks, if they logged in.
    pub user: Option<String>,
    /// What the caller may do.
    pub role: &'static str,
    /// Does the caller see the whole server?
    pub whole: bool,
    /// Why queries or writes do not work; `None` when all is well.
    pub trouble: Option<String>,
    /// `embedded` or `cassandra`.
    pub store: &'static str,
    /// Where carbon's plaintext is taken.
    pub carbon: Option<String>,
    /// The prefix of the server's own metrics, `{host}` and all; `None` when it stores none.
    pub own_prefix: Option<String>,
    /// The same with the name of this machine in it: what the names of those metrics begin with.
    pub own_name: Option<String>,
    /// Metrics, tagged ones included.
    pub metrics: u64,
    /// Metrics with tags.
    pub tagged: u64,
    /// Points that came in since the start.
    pub points_received: u64,
    /// Of these, points taken.
    pub points_stored: u64,
    /// Of these, points refused, by reason; reasons that did not occur are left out.
    pub points_rejected: Vec<(&'static str, u64)>,
    /// Points that are in memory and in the log only.
    pub points_in_memory: u64,
    /// Points that wait for the cluster; `None` without one.
    pub points_waiting: Option<u64>,
    /// Bytes of all blocks on this machine.
    pub block_bytes: u64,
    /// Connections of carbon senders.
    pub connections: u64,
    /// Seconds since the start.
    pub uptime: u64,
}

/// `GET /internal/browser/health`
pub(in crate::http) async fn handle(
    Seen(api): Seen,
    LoggedIn(user): LoggedIn,
    Rights { role, whole }: Rights,
) -> Result<Response, Failure> {
    let ask = move || to_json(&Health { user, role: role.name(), whole, ..api.backend.browse().health() });
    let json = spawn_blocking(ask).await.map_err(|_| Failure::Internal)?;
    let mut response = reply::body(StatusCode::OK, "application/json", json);
    reply::never_cached(&mut response);
    Ok(response)
}
