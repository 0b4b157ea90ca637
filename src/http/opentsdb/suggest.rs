//! `/api/suggest`

use std::sync::Arc;

use axum::response::Response;

use super::super::call::Call;
use super::super::error::Failure;
use super::super::find::to_json;
use super::super::gate::Seen;
use super::super::kairosdb::{answer, names};
use super::put::TsdbFailure;
use plumbago_model::Cancel;

/// Names in an answer when the call does not say.
const MOST: i64 = 25;

/// What is completed.
enum Kind {
    Metrics,
    Keys,
    Values,
}

/// Metrics, keys or values of tags that begin with `q`, in order.
pub(in super::super) async fn handle(
    Seen(api): Seen,
    call: Result<Call, Failure>,
) -> Result<Response, TsdbFailure> {
    let call = call?;
    let kind = match call.params.get("type") {
        Some("metrics") => Kind::Metrics,
        Some("tagk") => Kind::Keys,
        Some("tagv") => Kind::Values,
        other => {
            let text = format!("type must be metrics, tagk or tagv, not `{}`", other.unwrap_or_default());
            return Err(Failure::Invalid(text).into());
        }
    };
    let prefix = call.params.get("q").unwrap_or_default().to_owned();
    let most = usize::try_from(call.params.int("max", MOST)?).unwrap_or(0);
    let (backend, limit) = (Arc::clone(&api.backend), api.config.max_find_hits);
    let work = move |cancel: &Cancel| {
        let mut found = names::Names::new(limit, cancel);
        match kind {
            Kind::Metrics => names::metrics(&*backend, &prefix, &mut found)?,
            Kind::Keys => names::keys(&*backend, &prefix, &mut found)?,
            Kind::Values => names::values(&*backend, &prefix, &mut found)?,
        }
        Ok(to_json(&found.into_list().into_iter().take(most).collect::<Vec<_>>()))
    };
    let done = api.workers.run(&call.question, api.config.find_timeout, work).await?;
    Ok(answer(done.running.body(done.value)))
}
