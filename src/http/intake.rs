//! Points that came as JSON: they are read in batches, each goes to the server, and what is wrong is gathered for the answer.

use std::ops::ControlFlow;

use super::Api;
use super::error::Failure;
use crate::parse::Limits;
use crate::parse::labelled::{End, Faults, Gathered, Take};
use plumbago_model::{Overload, Reject};

/// Reads one body.
pub(super) type Read = fn(&[u8], &Limits, &mut Faults, &mut Take<'_>) -> End;

/// How an error is worded: number of the item, metric, place in its list of points, and the reason.
pub(super) type Wording = fn(usize, &str, Option<u32>, Reject) -> String;

/// What became of the points of a body.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Points that are stored.
    pub(super) stored: u64,
    /// Points and items that are not.
    pub(super) refused: u64,
    /// Why not.
    pub(super) errors: Vec<String>,
}

/// Stores the points of a body: the good ones, although others are bad. When the server takes no more, what came before stays, and
/// the sender may send the same again.
pub(super) fn take(api: &Api, body: &[u8], read: Read, wording: Wording) -> Result<Taken, Failure> {
    let mut taken = Taken::default();
    let mut overload = None;
    let mut faults = Faults::new(api.kairosdb.max_errors);
    let mut hand_on = |gathered: &Gathered, faults: &mut Faults| match api.backend.take(&gathered.batch()) {
        Ok(judged) => {
            taken.stored += judged.stored;
            taken.refused += judged.refused.len() as u64;
            api.telemetry.values_rounded.add(gathered.rounded);
            let mut refused = judged.refused;
            refused.sort_unstable_by_key(|(at, _)| *at);
            for (at, reason) in refused {
                if let Some((item, metric, place)) = gathered.origin(at) {
                    faults.note(format_args!("{}", wording(item, &metric, place, reason)));
                }
            }
            ControlFlow::Continue(())
        }
        Err(reason) => {
            overload = Some(reason);
            ControlFlow::Break(())
        }
    };
    read(body, &api.backend.limits(), &mut faults, &mut hand_on);
    for &(reason, points) in faults.refused() {
        api.telemetry.points_received.add(points);
        api.telemetry.reject(reason, points);
        taken.refused += points;
    }
    if let Some(overload) = overload {
        return Err(match overload {
            Overload::TooFast(why) => Failure::Wait(why, RETRY_SECS),
            Overload::Unwell(why) => Failure::Overloaded(why, RETRY_SECS),
        });
    }
    taken.errors = faults.into_errors();
    Ok(taken)
}

/// When a client whose points are not taken now may try again.
const RETRY_SECS: u64 = 1;
