//! `/api/v1/metricnames`, `/tagnames` and `/tagvalues`: what there is, in the spelling in which it was sent.
//!
//! Names of dotted metrics are metric names, too: a carbon line is found by a client of KairosDB.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::response::Response;
use serde_json::json;

use super::super::call::Call;
use super::super::error::Failure;
use super::super::find::to_json;
use super::super::gate::Seen;
use super::super::{Api, Backend};
use super::{KairosFailure, answer};
use plumbago_model::{Cancel, QueryError, labelled};

/// Names in one step between two looks at the clock.
const STEP: usize = 10_000;

/// Bytes that a name takes beside its text.
const NAME_BYTES: usize = 48;

/// The tag that stands for the metric.
const METRIC: &str = "name";

/// What a list may hold, and what it takes of the memory of its query.
pub(in super::super) struct Names<'c> {
    names: BTreeSet<String>,
    most: usize,
    cancel: &'c Cancel,
}

impl<'c> Names<'c> {
    pub(in super::super) fn new(most: usize, cancel: &'c Cancel) -> Self {
        Self { names: BTreeSet::new(), most, cancel }
    }

    /// Adds what is stored like this, if it begins with `prefix` as it was sent.
    fn add_stored(&mut self, stored: &str, prefix: &str) -> Result<(), QueryError> {
        let name = labelled::plain(stored);
        if name.starts_with(prefix) { self.add(name.into_owned()) } else { Ok(()) }
    }

    fn add(&mut self, name: String) -> Result<(), QueryError> {
        self.cancel.take(name.len() + NAME_BYTES)?;
        self.names.insert(name);
        if self.names.len() > self.most {
            let text = format!("there are more than {} names (query.max_find_hits)", self.most);
            return Err(QueryError::Limit(text));
        }
        Ok(())
    }

    pub(in super::super) fn into_list(self) -> Vec<String> {
        self.names.into_iter().collect()
    }
}

/// The metrics that begin with `prefix`, with tags and without.
pub(in super::super) fn metrics(
    backend: &dyn Backend,
    prefix: &str,
    names: &mut Names<'_>,
) -> Result<(), QueryError> {
    for begin in labelled::stored_beginnings(prefix) {
        add_values(backend, METRIC, (&begin, prefix), names)?;
        let mut untagged = backend.names(&begin);
        loop {
            names.cancel.check()?;
            let step = untagged(STEP);
            if step.is_empty() {
                break;
            }
            for stored in step.iter().filter(|name| !plumbago_model::name::is_tagged(name)) {
                names.add_stored(stored, prefix)?;
            }
        }
    }
    Ok(())
}

/// The keys of tags that begin with `prefix`.
pub(in super::super) fn keys(
    backend: &dyn Backend,
    prefix: &str,
    names: &mut Names<'_>,
) -> Result<(), QueryError> {
    for stored in all_keys(backend, names)? {
        names.add_stored(&stored, prefix)?;
    }
    Ok(())
}

/// The values of tags that begin with `prefix`.
pub(in super::super) fn values(
    backend: &dyn Backend,
    prefix: &str,
    names: &mut Names<'_>,
) -> Result<(), QueryError> {
    let tags = all_keys(backend, names)?;
    for begin in labelled::stored_beginnings(prefix) {
        for tag in &tags {
            add_values(backend, tag, (&begin, prefix), names)?;
        }
    }
    Ok(())
}

fn all_keys(backend: &dyn Backend, names: &Names<'_>) -> Result<Vec<String>, QueryError> {
    backend.index()?.tags(&|tag| tag != METRIC, usize::MAX, names.cancel)
}

/// Adds the values of a tag that are stored with this beginning and begin with `prefix` as they were sent.
fn add_values(
    backend: &dyn Backend,
    tag: &str,
    (begin, prefix): (&str, &str),
    names: &mut Names<'_>,
) -> Result<(), QueryError> {
    let values = backend.index()?.tag_values(tag, begin, &|_| true, usize::MAX, names.cancel)?;
    for (stored, _) in values.unwrap_or_default() {
        names.add_stored(&stored, prefix)?;
    }
    Ok(())
}

/// `GET /api/v1/metricnames`
pub(in super::super) async fn metric_names(
    Seen(api): Seen,
    call: Result<Call, Failure>,
) -> Result<Response, KairosFailure> {
    let call = call?;
    let prefix = call.params.get("prefix").unwrap_or_default().to_owned();
    listed(api, &call, move |backend, names| metrics(backend, &prefix, names)).await
}

/// `GET /api/v1/tagnames`
pub(in super::super) async fn tag_names(
    Seen(api): Seen,
    call: Result<Call, Failure>,
) -> Result<Response, KairosFailure> {
    listed(api, &call?, |backend, names| keys(backend, "", names)).await
}

/// `GET /api/v1/tagvalues`
pub(in super::super) async fn tag_values(
    Seen(api): Seen,
    call: Result<Call, Failure>,
) -> Result<Response, KairosFailure> {
    listed(api, &call?, |backend, names| values(backend, "", names)).await
}

async fn listed(
    api: Arc<Api>,
    call: &Call,
    find: impl FnOnce(&dyn Backend, &mut Names<'_>) -> Result<(), QueryError> + Send + 'static,
) -> Result<Response, KairosFailure> {
    let (backend, most) = (Arc::clone(&api.backend), api.config.max_find_hits);
    let work = move |cancel: &Cancel| {
        let mut names = Names::new(most, cancel);
        find(&*backend, &mut names)?;
        Ok(to_json(&json!({ "results": names.into_list() })))
    };
    let done = api.workers.run(&call.question, api.config.find_timeout, work).await?;
    Ok(answer(done.running.body(done.value)))
}
