//! `POST /api/put`

use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::super::error::Failure;
use super::super::find::to_json;
use super::super::gate::Seen;
use super::super::params::Params;
use super::super::unpacked::Packed;
use super::super::{intake, reply};
use crate::parse::labelled::{datapoints, put};
use plumbago_model::Reject;

/// A failure as OpenTSDB's clients read it: `{"error": {"code", "message"}}`.
#[derive(Debug)]
pub(in super::super) struct TsdbFailure(pub(in super::super) Failure);

impl<T: Into<Failure>> From<T> for TsdbFailure {
    fn from(failure: T) -> Self {
        Self(failure.into())
    }
}

impl IntoResponse for TsdbFailure {
    fn into_response(self) -> Response {
        let message = self.0.to_string();
        let mut response = self.0.into_response();
        let code = response.status().as_u16();
        let json = to_json(&json!({ "error": { "code": code, "message": message } }));
        let headers = response.headers_mut();
        headers.remove(axum::http::header::CONTENT_LENGTH);
        headers.insert(
            axum::http::header::CONTENT_TYPE,
            axum::http::HeaderValue::from_static("application/json; charset=UTF-8"),
        );
        *response.body_mut() = json.into();
        response
    }
}

/// Stores points. `summary` and `details` ask for counts, and for the errors; without them a bad point is an error of the whole call,
/// and the good ones are stored all the same.
pub(in super::super) async fn add(
    Seen(api): Seen,
    RawQuery(query): RawQuery,
    packed: Result<Packed, Failure>,
) -> Result<Response, TsdbFailure> {
    let mut params = Params::default();
    params.extend(query.unwrap_or_default().as_bytes());
    let (summary, details) = (params.get("summary").is_some(), params.get("details").is_some());
    let packed = packed?;
    let taken = spawn_blocking(move || {
        let body = packed.unpack()?;
        intake::take(&api, &body.bytes, put::read, wording)
    });
    let taken = taken.await.map_err(|_| Failure::Internal)??;
    let failed = taken.refused > 0;
    let status = match (failed, summary || details) {
        (true, _) => StatusCode::BAD_REQUEST,
        (false, true) => StatusCode::OK,
        (false, false) => return Ok(StatusCode::NO_CONTENT.into_response()),
    };
    let json = if details {
        json!({ "success": taken.stored, "failed": taken.refused, "errors": taken.errors })
    } else if summary {
        json!({ "success": taken.stored, "failed": taken.refused })
    } else {
        let message = "One or more data points had errors";
        json!({ "error": { "code": 400, "message": message, "details": taken.errors.join("\n") } })
    };
    Ok(reply::body(status, "application/json; charset=UTF-8", to_json(&json)))
}

fn wording(item: usize, metric: &str, _: Option<u32>, reason: Reject) -> String {
    format!("[{item}]: {} {}", datapoints::shown(metric), datapoints::why(reason))
}
