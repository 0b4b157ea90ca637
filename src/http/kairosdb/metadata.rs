//! `/api/v1/metadata/{service}/{service_key}/{key}`: texts that clients keep here.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::{KairosFailure, answer, nothing};
use crate::http::call::{Call, Posted};
use crate::http::error::Failure;
use crate::http::find::to_json;
use crate::http::gate::{Audit, Seen};
use crate::http::queries::Question;
use crate::http::workers::Done;
use crate::http::{Api, Memos, reply};
use plumbago_model::{Cancel, QueryError};

type Answer = Result<Response, KairosFailure>;

/// Service, service key and key.
type Place = (String, String, String);

/// Bytes that a name takes beside its text.
const NAME_BYTES: usize = 48;

/// `GET /api/v1/metadata/{service}`
pub(in crate::http) async fn service_keys(
    Seen(api): Seen,
    Path(service): Path<String>,
    call: Result<Call, Failure>,
) -> Answer {
    let asked = service.clone();
    listed(&api, &service, &call?, move |memos| memos.service_keys(&asked)).await
}

/// `GET /api/v1/metadata/{service}/{service_key}`
pub(in crate::http) async fn keys(
    Seen(api): Seen,
    Path((service, service_key)): Path<(String, String)>,
    call: Result<Call, Failure>,
) -> Answer {
    let asked = service.clone();
    listed(&api, &service, &call?, move |memos| memos.keys(&asked, &service_key)).await
}

/// `GET /api/v1/metadata/{service}/{service_key}/{key}`: the text as it was sent.
pub(in crate::http) async fn read(
    Seen(api): Seen,
    Path((service, service_key, key)): Path<Place>,
    call: Result<Call, Failure>,
) -> Answer {
    let call = call?;
    if is_reserved(&service) {
        return Ok(reserved());
    }
    let work = move |memos: &dyn Memos, _: &Cancel| memos.read(&service, &service_key, &key);
    let Done { value, running } = run(&api, &call.question, work).await?;
    let Some(text) = value else {
        return Err(Failure::NotFound("Key not found".to_owned()).into());
    };
    let body = running.body(text.into_bytes());
    let mut response = reply::body(StatusCode::OK, "text/plain; charset=UTF-8", body);
    reply::never_cached(&mut response);
    Ok(response)
}

/// `POST /api/v1/metadata/{service}/{service_key}/{key}`: answered when the text is durable.
pub(in crate::http) async fn write(
    Seen(api): Seen,
    Path((service, service_key, key)): Path<Place>,
    posted: Result<Posted, Failure>,
) -> Answer {
    if is_reserved(&service) {
        return Ok(reserved());
    }
    let refused = |_: &Failure| api.telemetry.metadata_refused.add(1);
    let Posted { bytes, question, .. } = posted.inspect_err(refused)?;
    let named = service.len() + service_key.len() + key.len();
    let text = text_of(&api, named, bytes).inspect_err(refused)?;
    let work = move |memos: &dyn Memos, _: &Cancel| memos.write(&service, &service_key, &key, &text);
    let written = run(&api, &question, work).await;
    written.inspect_err(|failure| failure.count_limit(&api.telemetry.metadata_refused))?;
    api.telemetry.metadata_stored.add(1);
    Ok(nothing())
}

/// `DELETE /api/v1/metadata/{service}/{service_key}/{key}`: 204, even if there was none.
pub(in crate::http) async fn delete(
    Seen(api): Seen,
    audit: Audit,
    Path((service, service_key, key)): Path<Place>,
    call: Result<Call, Failure>,
) -> Answer {
    let call = call?;
    if is_reserved(&service) {
        return Ok(reserved());
    }
    let what = format!("{service}/{service_key}/{key}");
    run(&api, &call.question, move |memos, _| memos.remove(&service, &service_key, &key)).await?;
    audit.note("metadata", &what, 1);
    Ok(nothing())
}

/// KairosDB keeps services that begin like this for itself.
fn is_reserved(service: &str) -> bool {
    service.starts_with('_')
}

/// What KairosDB answers for these: 401 without a word, although no login would help.
fn reserved() -> Response {
    StatusCode::UNAUTHORIZED.into_response()
}

/// A body as text, if names and text together are short enough.
fn text_of(api: &Api, named: usize, body: Vec<u8>) -> Result<String, Failure> {
    let (bytes, limit) = (named + body.len(), api.kairosdb.max_metadata_bytes);
    if bytes > limit {
        return Err(Failure::TooLong(format!(
            "names and value have {bytes} bytes together; kairosdb.max_metadata_bytes allows {limit}"
        )));
    }
    String::from_utf8(body).map_err(|_| Failure::Refused("the value is no text in UTF-8".to_owned()))
}

/// Answers a list of names, of those that begin with `startsWith`.
async fn listed(
    api: &Arc<Api>,
    service: &str,
    call: &Call,
    list: impl FnOnce(&dyn Memos) -> Result<Vec<String>, QueryError> + Send + 'static,
) -> Answer {
    if is_reserved(service) {
        return Ok(reserved());
    }
    let prefix = call.params.get("startsWith").unwrap_or_default().to_owned();
    let work = move |memos: &dyn Memos, cancel: &Cancel| {
        let mut names = list(memos)?;
        names.retain(|name| name.starts_with(&prefix));
        cancel.take(names.iter().map(|name| name.len() + NAME_BYTES).sum())?;
        Ok(to_json(&json!({ "results": names })))
    };
    let done = run(api, &call.question, work).await?;
    Ok(answer(done.running.body(done.value)))
}

async fn run<T: Send + 'static>(
    api: &Arc<Api>,
    question: &Arc<Question>,
    work: impl FnOnce(&dyn Memos, &Cancel) -> Result<T, QueryError> + Send + 'static,
) -> Result<Done<T>, Failure> {
    let backend = Arc::clone(&api.backend);
    let work = move |cancel: &Cancel| Ok(work(&*backend.memos()?, cancel)?);
    api.workers.run(question, api.config.find_timeout, work).await
}
