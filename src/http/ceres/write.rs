//! `POST /api/write/single`: one point, or an array of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{Answer, Door, empty, siblings};
use crate::config;
use crate::http::Api;
use crate::http::error::{Failure, SpringFailure};
use crate::http::gate::Gate;
use crate::http::unpacked::Packed;
use crate::parse::ceres::{Item, ItemError, Items, read};
use plumbago_model::{Arrival, Batch, Overload, Point, Reject};

/// The points of one tenant.
#[derive(Default)]
struct Share {
    /// Each with the place of its item, and whether it is the item's own and not one beside it.
    points: Vec<(String, Point, usize, bool)>,
}

/// `POST /api/write/single`: 200 when all are stored. Otherwise the answer says which are not, and the others are.
pub(in crate::http) async fn handle(
    State(gate): State<Arc<Gate>>,
    door: Door,
    body: Result<Packed, Failure>,
) -> Answer {
    let taken = take(&gate, &door, body).await.map_err(|failure| door.failed(failure))?;
    match taken {
        Taken { errors, .. } if errors.is_empty() => Ok(empty()),
        taken => Err(refusal(&door, taken, gate.kairosdb().max_errors)),
    }
}

/// What became of the items of a request.
struct Taken {
    is_array: bool,
    stored: usize,
    /// By their places.
    errors: BTreeMap<usize, String>,
}

async fn take(gate: &Arc<Gate>, door: &Door, body: Result<Packed, Failure>) -> Result<Taken, Failure> {
    let (body, limits) = (body?, gate.limits());
    let reading = move || read(&body.unpack()?.bytes, &limits).map_err(Failure::Refused);
    let Items { is_array, items } = spawn_blocking(reading).await.map_err(|_| Failure::Internal)??;
    let count = items.len();
    let mut errors = BTreeMap::new();
    let mut shares: BTreeMap<String, (Arc<Api>, Share)> = BTreeMap::new();
    for (place, item) in items.into_iter().enumerate() {
        let put = item.and_then(|item| put(door, &mut shares, place, &item, gate.ceres()));
        if let Err(ItemError { reason, message }) = put {
            gate.refuse_point(reason);
            errors.insert(place, message);
        }
    }
    for (api, share) in shares.into_values() {
        let refused = spawn_blocking(move || store(&api, &share)).await.map_err(|_| Failure::Internal)?;
        errors.extend(refused.map_err(|overload| match overload {
            Overload::TooFast(text) => Failure::Wait(text, 1),
            Overload::Unwell(text) => Failure::Overloaded(text, 1),
        })?);
    }
    Ok(Taken { is_array, stored: count - errors.len(), errors })
}

/// Adds an item, and what is kept beside it, to the points of its tenant.
fn put(
    door: &Door,
    shares: &mut BTreeMap<String, (Arc<Api>, Share)>,
    place: usize,
    item: &Item,
    config: &config::Ceres,
) -> Result<(), ItemError> {
    let wrong = |reason: Reject| ItemError { reason, message: format!("it is refused: {}", reason.label()) };
    let outside = |failure: Failure| ItemError { reason: Reject::OutOfScope, message: failure.to_string() };
    let (api, tenant) = door.of(item.tenant.as_deref()).map_err(outside)?;
    let (_, share) = shares.entry(tenant).or_insert_with(|| (api, Share::default()));
    share.points.push((item.series("").map_err(wrong)?, item.point, place, true));
    for suffix in siblings::of(&item.metric, config) {
        share.points.push((item.series(suffix).map_err(wrong)?, item.point, place, false));
    }
    Ok(())
}

/// Stores the points of a tenant. Returns the places of items that were refused, and why.
fn store(api: &Api, share: &Share) -> Result<Vec<(usize, String)>, Overload> {
    let entries = share.points.iter().map(|(name, point, ..)| (&**name, *point)).collect();
    let judged = api.backend.take(&Batch { entries, arrival: Arrival::labelled(0) })?;
    let own = |(at, reason): (usize, Reject)| {
        let (_, _, place, is_own) = share.points.get(at)?;
        is_own.then(|| (*place, format!("it is refused: {}", reason.label())))
    };
    Ok(judged.refused.into_iter().filter_map(own).collect())
}

/// The answer to a request of which something was not stored.
fn refusal(door: &Door, taken: Taken, most: usize) -> SpringFailure {
    let Taken { is_array, stored, errors } = taken;
    let first = errors.iter().next().map_or_else(String::new, |(place, message)| match is_array {
        true => format!("item {place}: {message}"),
        false => message.clone(),
    });
    let mut failure = door.failed(Failure::Refused(first));
    if is_array {
        let listed =
            errors.iter().take(most).map(|(place, message)| json!({ "item": place, "message": message }));
        let listed: Vec<_> = listed.collect();
        failure.add("stored", json!(stored));
        failure.add("failed", json!(errors.len()));
        failure.add("errors", json!(listed));
    }
    failure
}
