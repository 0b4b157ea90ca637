//! `POST /api/write/single`: one point, or an array of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::extract::State;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{Answer, Door, empty, siblings};
use crate::http::Api;
use crate::http::error::{Failure, SpringFailure};
use crate::http::gate::Gate;
use crate::http::unpacked::Packed;
use crate::parse::Limits;
use crate::parse::ceres::{self, Item, ItemError};
use plumbago_model::{Arrival, Batch, Overload, Point, Reject};

/// Points that are stored together: of a longer body the first ones are stored before the rest is read.
const MOST_POINTS: usize = 10_000;

/// Tenants whose view of the server is kept from one batch to the next.
const MOST_TENANTS: usize = 100;

/// When a client whose points are not taken now may try again.
const RETRY_SECS: u64 = 1;

/// `POST /api/write/single`: 200 when all are stored. Otherwise the answer says which are not, and the others are.
pub(in crate::http) async fn handle(
    State(gate): State<Arc<Gate>>,
    door: Door,
    body: Result<Packed, Failure>,
) -> Answer {
    let path = door.path.clone();
    let failed = |failure| SpringFailure::new(failure, &path);
    let body = body.map_err(failed)?;
    let taken = spawn_blocking(move || take(&gate, &door, body));
    let taken = taken.await.map_err(|_| failed(Failure::Internal))?.map_err(failed)?;
    if taken.failed == 0 && taken.broken.is_none() { Ok(empty()) } else { Err(taken.refusal(&path)) }
}

/// What became of the items of a request.
#[derive(Default)]
struct Taken {
    is_array: bool,
    stored: usize,
    failed: usize,
    /// What is wrong with items, by their places; not more than a client is told.
    errors: Vec<(usize, String)>,
    /// Why the rest of the body is no item.
    broken: Option<String>,
}

/// The points of one tenant that wait for the end of a batch.
struct Share {
    api: Arc<Api>,
    own: Vec<Own>,
    beside: Vec<Beside>,
}

/// The point of an item.
struct Own {
    name: String,
    point: Point,
    /// The place of the item.
    place: usize,
}

/// The same point in a series beside that of the item.
struct Beside {
    name: String,
    /// Which of the own points it is.
    of: usize,
}

/// Reads and stores a body. It blocks.
fn take(gate: &Gate, door: &Door, body: Packed) -> Result<Taken, Failure> {
    let (body, limits) = (body.unpack()?, gate.limits());
    let mut taking = Taking {
        gate,
        door,
        limits: &limits,
        shares: BTreeMap::new(),
        unnamed: None,
        waiting: 0,
        taken: Taken::default(),
    };
    let mut overload = None;
    let end = ceres::read(&body.bytes, &limits, &mut |place, item| match taking.take(place, item) {
        Ok(()) => ControlFlow::Continue(()),
        Err(cause) => {
            overload = Some(cause);
            ControlFlow::Break(())
        }
    });
    let stored = overload.map_or_else(|| taking.store(), Err);
    stored.map_err(|overload| match overload {
        Overload::TooFast(text) => Failure::Wait(text, RETRY_SECS),
        Overload::Unwell(text) => Failure::Overloaded(text, RETRY_SECS),
    })?;
    let mut taken = taking.taken;
    taken.errors.sort_by_key(|(place, _)| *place);
    Ok(Taken { is_array: end.is_array, broken: end.broken, ..taken })
}

/// The items of a request on their way to their tenants.
struct Taking<'t> {
    gate: &'t Gate,
    door: &'t Door,
    limits: &'t Limits,
    /// By the names of the tenants.
    shares: BTreeMap<String, Share>,
    /// The tenant of items that name none, once it is known.
    unnamed: Option<String>,
    /// Points in all shares.
    waiting: usize,
    taken: Taken,
}

impl Taking<'_> {
    /// Takes one item, and stores what has come together.
    fn take(&mut self, place: usize, item: Result<Item<'_>, ItemError>) -> Result<(), Overload> {
        if let Err(ItemError { reason, message }) = item.and_then(|item| self.put(place, &item)) {
            self.gate.refuse_point(reason);
            self.fail(place, message);
        }
        if self.waiting < MOST_POINTS { Ok(()) } else { self.store() }
    }

    /// Adds the point of an item, and those that are kept beside it, to the points of its tenant: all of them or none.
    fn put(&mut self, place: usize, item: &Item<'_>) -> Result<(), ItemError> {
        let wrong = |reason: Reject| ItemError { reason, message: refused(reason) };
        let name = item.series("", self.limits).map_err(wrong)?;
        let suffixes = siblings::of(&item.metric, self.gate.ceres()).iter();
        let beside: Vec<String> = suffixes
            .map(|suffix| item.series(suffix, self.limits))
            .collect::<Result<_, Reject>>()
            .map_err(wrong)?;
        let share = self.share(item.tenant.as_deref())?;
        let of = share.own.len();
        let points = 1 + beside.len();
        share.own.push(Own { name, point: item.point, place });
        share.beside.extend(beside.into_iter().map(|name| Beside { name, of }));
        self.waiting += points;
        Ok(())
    }

    /// The points of the tenant that an item names, or of that of the request.
    fn share(&mut self, named: Option<&str>) -> Result<&mut Share, ItemError> {
        let known = named.or(self.unnamed.as_deref()).filter(|name| self.shares.contains_key(*name));
        let name = match known {
            Some(name) => name.to_owned(),
            None => {
                let outside =
                    |failure: Failure| ItemError { reason: Reject::OutOfScope, message: failure.to_string() };
                let (api, name) = self.door.of(named).map_err(outside)?;
                if named.is_none() {
                    self.unnamed = Some(name.clone());
                }
                let share = Share { api, own: Vec::new(), beside: Vec::new() };
                self.shares.entry(name.clone()).or_insert(share);
                name
            }
        };
        self.shares.get_mut(&name).ok_or_else(|| {
            let message = "its tenant is gone".to_owned();
            ItemError { reason: Reject::OutOfScope, message }
        })
    }

    /// Stores what has come together.
    fn store(&mut self) -> Result<(), Overload> {
        self.waiting = 0;
        let mut refused = Vec::new();
        for share in self.shares.values_mut() {
            let (stored, errors) = share.store()?;
            self.taken.stored += stored;
            refused.extend(errors);
        }
        for (place, message) in refused {
            self.fail(place, message);
        }
        if self.shares.len() > MOST_TENANTS {
            self.shares.clear();
            self.unnamed = None;
        }
        Ok(())
    }

    fn fail(&mut self, place: usize, message: String) {
        self.taken.failed += 1;
        if self.taken.errors.len() < self.gate.kairosdb().max_errors {
            self.taken.errors.push((place, message));
        }
    }
}

impl Share {
    /// Stores the points, and then those beside the ones that are stored. Returns how many items are stored, and what is wrong with
    /// the others by their places.
    fn store(&mut self) -> Result<(usize, Vec<(usize, String)>), Overload> {
        let (own, beside) = (std::mem::take(&mut self.own), std::mem::take(&mut self.beside));
        let take = |entries: Vec<(&str, Point)>| {
            let batch = Batch { entries, arrival: Arrival::labelled(0) };
            if batch.entries.is_empty() {
                Ok(Vec::new())
            } else {
                self.api.backend.take(&batch).map(|j| j.refused)
            }
        };
        let mut errors = BTreeMap::new();
        for (at, reason) in take(own.iter().map(|own| (&*own.name, own.point)).collect())? {
            errors.insert(at, refused(reason));
        }
        let beside: Vec<(usize, &str, Point)> = beside
            .iter()
            .filter(|beside| !errors.contains_key(&beside.of))
            .filter_map(|beside| Some((beside.of, &*beside.name, own.get(beside.of)?.point)))
            .collect();
        for (at, reason) in take(beside.iter().map(|(_, name, point)| (*name, *point)).collect())? {
            if let Some((of, name, _)) = beside.get(at) {
                let text = format!("it is stored, but its extremes are not: {} for {name}", refused(reason));
                errors.entry(*of).or_insert(text);
            }
        }
        let places = errors.into_iter().filter_map(|(at, text)| Some((own.get(at)?.place, text)));
        let errors: Vec<(usize, String)> = places.collect();
        Ok((own.len() - errors.len(), errors))
    }
}

fn refused(reason: Reject) -> String {
    format!("it is refused: {}", reason.label())
}

impl Taken {
    /// The answer to a request of which something was not stored.
    fn refusal(self, path: &str) -> SpringFailure {
        let first = self.errors.first().map(|(place, message)| match self.is_array {
            true => format!("item {place}: {message}"),
            false => message.clone(),
        });
        let first = self.broken.clone().or(first).unwrap_or_default();
        let mut failure = SpringFailure::new(Failure::Refused(first), path);
        if self.is_array {
            let listed = self.errors.iter().map(|(place, text)| json!({ "item": place, "message": text }));
            let listed: Vec<_> = listed.collect();
            failure.add("stored", json!(self.stored));
            failure.add("failed", json!(self.failed));
            failure.add("errors", json!(listed));
        }
        failure
    }
}
