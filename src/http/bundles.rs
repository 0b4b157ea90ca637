//! `/internal/import` and `/internal/export`: metrics with all they have, in and out.

use std::ops::ControlFlow;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::call::posted;
use super::error::{Asked, Failure};
use super::gate::{Audit, Seen};
use super::params::Params;
use super::reply;
use crate::bundle::{self, Bundle, Bundles};
use plumbago_model::QueryError;

/// How metrics that come in are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// New metrics keep the policy that they come with, instead of the one that the rules give them.
    pub keep_policy: bool,
    /// Slots that start outside of this time are left out.
    pub window: (u32, u32),
}

/// What became of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Metrics that were taken.
    pub metrics: u64,
    /// Those of them that are new.
    pub created: u64,
    /// Slots of stage 0 that were written.
    pub points: u64,
    /// Aggregated slots that were written.
    pub aggregates: u64,
    /// Slots that were there already and stay as they were.
    pub there: u64,
    /// Names that were not taken, and why.
    pub refused: Vec<(String, String)>,
}

impl Imported {
    /// Adds what became of another import.
    pub fn add(&mut self, more: Self) {
        self.metrics += more.metrics;
        self.created += more.created;
        self.points += more.points;
        self.aggregates += more.aggregates;
        self.there += more.there;
        self.refused.extend(more.refused);
    }
}

/// Moving metrics in and out.
pub trait Moving {
    /// Most bytes of bundles that one call may bring: `http.max_import_bytes`.
    fn max_import_bytes(&self) -> usize;

    /// Takes metrics with all they have. What a metric has here stays. It is durable when this returns.
    fn import(&self, bundles: Vec<Bundle>, options: ImportOptions) -> Result<Imported, QueryError>;

    /// Visits the metrics of these names with their slots that start in `window`, until the visitor has enough. Names that are
    /// not there are left out.
    fn export(
        &self,
        names: &[&str],
        window: (u32, u32),
        visit: &mut dyn FnMut(Bundle) -> ControlFlow<()>,
    ) -> Result<(), QueryError>;
}

/// `POST /internal/import`
pub(super) async fn import(Seen(api): Seen, audit: Audit, request: Request) -> Result<Response, Failure> {
    let params = query_of(&request);
    let options = ImportOptions { keep_policy: params.switch("keep_policy")?, window: window(&params)? };
    let limit = api.backend.moving().ok_or_else(Failure::no_store)?.max_import_bytes();
    let bytes = posted(request, limit).await?;
    let taken = spawn_blocking(move || -> Result<Imported, Failure> {
        let bundles: Result<Vec<Bundle>, _> = Bundles::new(&*bytes).collect();
        let bundles = bundles.map_err(|error| Failure::Refused(error.to_string()))?;
        let moving = api.backend.moving().ok_or_else(Failure::no_store)?;
        let taken = moving.import(bundles, options).map_err(|error| Failure::of(error, Asked::Series))?;
        audit.note("import", "bundles", taken.metrics);
        Ok(taken)
    });
    let taken = taken.await.map_err(|_| Failure::Internal)??;
    let refused: Vec<_> =
        taken.refused.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    let json = json!({
        "metrics": taken.metrics,
        "created": taken.created,
        "points": taken.points,
        "aggregates": taken.aggregates,
        "there": taken.there,
        "refused": refused,
    });
    let mut response = reply::body(StatusCode::OK, "application/json", format!("{json}\n"));
    reply::never_cached(&mut response);
    Ok(response)
}

/// `POST /internal/export`: names, one a line. Answers with bundles of the first of them, as many as fit into
/// `http.max_import_bytes`; the caller asks again for the rest. Names that are not there are left out.
pub(super) async fn export(Seen(api): Seen, request: Request) -> Result<Response, Failure> {
    let params = query_of(&request);
    let window = window(&params)?;
    let limit = api.backend.moving().ok_or_else(Failure::no_store)?.max_import_bytes();
    let names = posted(request, limit).await?;
    let work = spawn_blocking(move || -> Result<Vec<u8>, Failure> {
        let names = std::str::from_utf8(&names)
            .map_err(|_| Failure::Refused("the names are not UTF-8".to_owned()))?;
        let names: Vec<&str> = names.lines().filter(|name| !name.is_empty()).collect();
        let mut bytes = Vec::new();
        let moving = api.backend.moving().ok_or_else(Failure::no_store)?;
        let found = moving.export(&names, window, &mut |bundle| {
            bundle::encode(&bundle, &mut bytes);
            if bytes.len() < limit / 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        found.map_err(|error| Failure::of(error, Asked::Series)).map(|()| bytes)
    });
    let bytes = work.await.map_err(|_| Failure::Internal)??;
    let mut response = reply::body(StatusCode::OK, "application/x-plumbago-bundles", bytes);
    reply::never_cached(&mut response);
    Ok(response)
}

fn query_of(request: &Request) -> Params {
    let mut params = Params::default();
    params.extend(request.uri().query().unwrap_or_default().as_bytes());
    params
}

/// The times `from` and `until`; without them, all time.
pub(super) fn window(params: &Params) -> Result<(u32, u32), Failure> {
    let time = |name: &str, default: u32| -> Result<u32, Failure> {
        let number = params.int(name, i64::from(default))?;
        u32::try_from(number).map_err(|_| Failure::Invalid(format!("`{name}` must be seconds since 1970")))
    };
    Ok((time("from", 0)?, time("until", u32::MAX)?))
}
