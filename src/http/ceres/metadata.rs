//! `/api/metadata/*`: the metrics of a tenant, their tags, and the values of these.

use axum::extract::State;
use std::sync::Arc;

use super::{Answer, Door, Is, looked_up, needed, siblings};
use crate::http::Backend;
use crate::http::call::Call;
use crate::http::error::Failure;
use crate::http::gate::Gate;
use crate::http::params::Params;
use crate::index::Asked;
use plumbago_model::{Cancel, labelled};

/// Bytes that an entry of a list takes, usually at most.
const ENTRY_BYTES: usize = 128;

/// `GET /api/metadata/metricNames`
pub(in crate::http) async fn metric_names(
    State(gate): State<Arc<Gate>>,
    door: Door,
    call: Result<Call, Failure>,
) -> Answer {
    let config = Arc::clone(gate.ceres());
    let most = gate.most_names();
    looked_up(door, call, move |backend, _, cancel| {
        let found = backend.index()?.tag_values("name", "", &|_| true, most.saturating_add(1), cancel)?;
        let names = found.unwrap_or_default().into_iter().map(|(name, _)| name);
        let mut names: Vec<String> = checked(names.collect(), most, cancel)?;
        names.sort_unstable();
        Ok(siblings::left_out(names, &config))
    })
    .await
}

/// `GET /api/metadata/tagKeys`
pub(in crate::http) async fn tag_keys(
    State(gate): State<Arc<Gate>>,
    door: Door,
    call: Result<Call, Failure>,
) -> Answer {
    let most = gate.most_names();
    looked_up(door, call, move |backend, params, cancel| {
        let metric = of_metric(params)?;
        let asked = Asked { text: "metricName", conditions: &[&metric] };
        checked(backend.index()?.complete_tags(asked, "", most.saturating_add(1), cancel)?, most, cancel)
    })
    .await
}

/// `GET /api/metadata/tagValues`
pub(in crate::http) async fn tag_values(
    State(gate): State<Arc<Gate>>,
    door: Door,
    call: Result<Call, Failure>,
) -> Answer {
    let most = gate.most_names();
    looked_up(door, call, move |backend: &dyn Backend, params, cancel| {
        let metric = of_metric(params)?;
        let tag = labelled::key(needed(params, "tagKey")?).into_owned();
        let asked = Asked { text: "metricName", conditions: &[&metric] };
        let values = backend.index()?.complete_values(asked, &tag, "", most.saturating_add(1), cancel)?;
        checked(values, most, cancel)
    })
    .await
}

fn of_metric(params: &Params) -> Result<Is, Failure> {
    let value = labelled::metric(needed(params, "metricName")?).into_owned();
    Ok(Is { tag: "name".to_owned(), value })
}

/// A list that is not too long, as it was sent.
fn checked(stored: Vec<String>, most: usize, cancel: &Cancel) -> Result<Vec<String>, Failure> {
    if stored.len() > most {
        let text = format!("there are more than {most} of them; raise query.max_find_hits");
        return Err(Failure::Limit(text));
    }
    cancel.take(stored.iter().map(|text| text.len() + ENTRY_BYTES).sum())?;
    Ok(stored.into_iter().map(|text| labelled::plain(&text).into_owned()).collect())
}
