//! Ceres' API: points of tenants in, names and values out, as its clients know them.
//!
//! A tenant of Ceres is a tenant like any other: its view of the one index keeps it apart, whether `tenants.enabled` or not. So these
//! handlers see the metrics of one tenant, by metric and tags, and none of them knows how that is stored.
//!
//! Of a metric, sum, count and average of a slot come from the slots of its stages, which keep both. The smallest and the largest
//! value are in two other series, whose names end in `_min` and `_max` and which are made beside it ([`siblings`]).

mod metadata;
mod query;
mod siblings;
mod write;

pub(super) use metadata::{metric_names, tag_keys, tag_values};
pub(super) use query::either_query;
pub(super) use write::handle as write;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;

use super::call::Call;
use super::error::{Failure, SpringFailure};
use super::find::to_json;
use super::gate::Gate;
use super::params::Params;
use super::tenancy::Lodging;
use super::{Api, Backend, reply};
use plumbago_model::{Cancel, Phase, TagCondition, TagWish};

/// An answer, or a failure as Ceres' clients expect it.
type Answer = Result<Response, SpringFailure>;

/// For whom a request is, and at which path it came.
pub(super) struct Door {
    lodging: Lodging,
    path: String,
}

impl Door {
    fn failed(&self, failure: impl Into<Failure>) -> SpringFailure {
        SpringFailure::new(failure.into(), &self.path)
    }

    /// The API as a tenant sees it, and its name.
    fn of(&self, tenant: Option<&str>) -> Result<(Arc<Api>, String), Failure> {
        self.lodging.of(tenant)
    }
}

impl FromRequestParts<Arc<Gate>> for Door {
    type Rejection = SpringFailure;

    async fn from_request_parts(parts: &mut Parts, gate: &Arc<Gate>) -> Result<Self, SpringFailure> {
        let path = parts.uri.path().to_owned();
        let lodging = Lodging::from_request_parts(parts, gate).await;
        let lodging = lodging.map_err(|failure| SpringFailure::new(failure, &path))?;
        Ok(Self { lodging, path })
    }
}

/// A parameter that must be there.
fn needed<'a>(params: &'a Params, name: &str) -> Result<&'a str, Failure> {
    let value = params.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| Failure::Refused(format!("Required parameter '{name}' is not present.")))
}

/// Looks something up for a tenant and answers with it as JSON.
async fn looked_up<T, F>(door: Door, call: Result<Call, Failure>, work: F) -> Answer
where
    T: Serialize,
    F: FnOnce(&dyn Backend, &Params, &Cancel) -> Result<T, Failure> + Send + 'static,
{
    let answer = async {
        let Call { params, question, .. } = call?;
        let (api, _) = door.of(params.get("tenant"))?;
        let shared = Arc::clone(&api);
        let work = move |cancel: &Cancel| {
            cancel.begin(Phase::Find);
            let json = to_json(&work(&*shared.backend, &params, cancel)?);
            cancel.take(json.len())?;
            Ok(json)
        };
        let done = api.workers.run(&question, api.config.find_timeout, work).await;
        done.inspect_err(|failure| failure.count_limit(&api.telemetry.find_limited))
    };
    let done = answer.await.map_err(|failure| door.failed(failure))?;
    let mut response = done.reply("application/json");
    reply::never_cached(&mut response);
    Ok(response)
}

/// That a tag has one value.
struct Is {
    tag: String,
    value: String,
}

impl TagCondition for Is {
    fn tag(&self) -> &str {
        &self.tag
    }

    fn wanted(&self) -> TagWish<'_> {
        TagWish::Is(&self.value)
    }

    fn holds(&self, value: &str) -> bool {
        value == self.value
    }
}

/// An answer without a body.
fn empty() -> Response {
    reply::body(StatusCode::OK, "application/json", "")
}
