//! `/api/v1/datapoints/delete` and `DELETE /api/v1/metric/{name}`.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use tokio::task::spawn_blocking;

use super::KairosFailure;
use super::query::{now, read, wanted};
use crate::http::call::Posted;
use crate::http::error::Failure;
use crate::http::gate::{Audit, Seen};
use crate::http::{Api, Wanted};

type Answer = Result<Response, KairosFailure>;

/// `POST /api/v1/datapoints/delete`: what a query would read.
pub(in crate::http) async fn points(
    Seen(api): Seen,
    audit: Audit,
    posted: Result<Posted, Failure>,
) -> Answer {
    let query = read(&api, &posted?.bytes, now()).await?;
    query.check_narrow()?;
    let range = (query.start, query.end.unwrap_or(i64::MAX));
    let doomed = query.metrics.iter().map(|metric| (metric.name.clone(), wanted(metric))).collect();
    erase(api, audit, range, doomed).await
}

/// `DELETE /api/v1/metric/{name}`: all series of a metric.
pub(in crate::http) async fn metric(Seen(api): Seen, audit: Audit, Path(name): Path<String>) -> Answer {
    let doomed = vec![(name.clone(), Wanted::all(&name))];
    erase(api, audit, (0, i64::MAX), doomed).await
}

/// Deletes to the end, even when the caller is gone.
async fn erase(api: Arc<Api>, audit: Audit, range: (i64, i64), doomed: Vec<(String, Wanted)>) -> Answer {
    let work = spawn_blocking(move || -> Result<(), Failure> {
        let labelled = api.backend.labelled().ok_or_else(Failure::no_store)?;
        for (name, wanted) in doomed {
            let series = labelled.erase_series(&wanted, range)?;
            audit.note("datapoints/delete", &name, series as u64);
        }
        Ok(())
    });
    work.await.map_err(|_| Failure::Internal)??;
    Ok(StatusCode::NO_CONTENT.into_response())
}
