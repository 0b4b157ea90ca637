//! What was sent in which second, and what must be there.

use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing was sent in this second.
const NOTHING: u8 = 0;
/// Something was sent, and nobody knows what became of it.
const SENT: u8 = 1;
/// All of it was seen, or acknowledged.
const SURE: u8 = 2;

/// In each batch, one metric of so many is written again as well.
pub(crate) const REWRITES: u64 = 10;
/// How many seconds before.
pub(crate) const REWRITE_BACK: u64 = 30;

/// A point of a feed: which metric, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) metric: u64,
    pub(crate) second: u64,
}

/// What may stand at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Expected {
    /// The first value, if it may be there.
    pub(crate) first: Option<f64>,
    /// The value that replaces it, if it may be there.
    pub(crate) second: Option<f64>,
    /// Must one of them be there?
    pub(crate) is_sure: bool,
}

impl Expected {
    pub(crate) fn allows(&self, value: f64) -> bool {
        self.first == Some(value) || self.second == Some(value)
    }
}

/// The value of a point says which point it is.
pub(crate) fn value(place: Place, is_rewrite: bool) -> f64 {
    // Exact, since it is far below 2^53.
    ((place.second % 1_000_000) * 100_000 + place.metric * 2 + u64::from(is_rewrite)) as f64
}

/// The seconds of a feed.
#[derive(Debug)]
pub(crate) struct Ledger {
    begin: u64,
    metrics: u64,
    seconds: Vec<AtomicU8>,
}

impl Ledger {
    /// From `begin` on, for two days.
    pub(crate) fn new(begin: u64, metrics: u64) -> Self {
        Self { begin, metrics, seconds: (0..2 * 86_400).map(|_| AtomicU8::new(NOTHING)).collect() }
    }

    /// As it stands now.
    pub(crate) fn copy(&self) -> Self {
        let seconds = self.seconds.iter().map(|state| AtomicU8::new(state.load(Ordering::SeqCst))).collect();
        Self { begin: self.begin, metrics: self.metrics, seconds }
    }

    /// All places of the batch of a second, with the value that is sent there.
    pub(crate) fn batch(&self, second: u64) -> impl Iterator<Item = (Place, f64)> {
        let again = self.was_sent(second - REWRITE_BACK);
        let rewrites =
            (0..self.metrics).step_by(REWRITES as usize).filter(move |_| again).map(move |metric| {
                let place = Place { metric, second: second - REWRITE_BACK };
                (place, value(place, true))
            });
        let firsts = (0..self.metrics).map(move |metric| {
            let place = Place { metric, second };
            (place, value(place, false))
        });
        // The points of this second come last: who sees the last one sees all.
        rewrites.chain(firsts)
    }

    pub(crate) fn sent(&self, second: u64) {
        self.set(second, SENT);
    }

    pub(crate) fn sure(&self, second: u64) {
        self.set(second, SURE);
    }

    fn was_sent(&self, second: u64) -> bool {
        self.get(second) != NOTHING
    }

    /// The seconds of which nobody knows what became of them, not older than `oldest`.
    pub(crate) fn open(&self, oldest: u64, newest: u64) -> Vec<u64> {
        (oldest..=newest).filter(|&second| self.get(second) == SENT).collect()
    }

    /// What may stand at a place, and must.
    pub(crate) fn expected(&self, place: Place) -> Expected {
        let (first, again) = (self.get(place.second), self.get(place.second + REWRITE_BACK));
        let is_rewritten = place.metric.is_multiple_of(REWRITES) && first != NOTHING;
        let rewrite = if is_rewritten { again } else { NOTHING };
        Expected {
            first: (first != NOTHING && rewrite != SURE).then(|| value(place, false)),
            second: (rewrite != NOTHING).then(|| value(place, true)),
            is_sure: first == SURE || rewrite == SURE,
        }
    }

    /// The same for a backup that began when the ledger was `then`. What came since may be in it.
    pub(crate) fn expected_in_backup(&self, then: &Self, place: Place) -> Expected {
        let (before, after) = (then.expected(place), self.expected(place));
        let came_since = !then.was_sent(place.second) && self.was_sent(place.second);
        let first = if came_since { Some(value(place, false)) } else { before.first };
        Expected { first, second: after.second, is_sure: before.is_sure }
    }

    /// Was this value ever sent to this place?
    pub(crate) fn has_sent(&self, place: Place, found: f64) -> bool {
        self.was_sent(place.second) && (found == value(place, false) || found == value(place, true))
    }

    /// First and last second in which anything was sent.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        let is_sent = |state: &AtomicU8| state.load(Ordering::SeqCst) != NOTHING;
        let first = self.seconds.iter().position(is_sent)? as u64;
        let last = self.seconds.iter().rposition(is_sent)? as u64;
        Some((self.begin + first, self.begin + last))
    }

    /// Points sent, and points that must be there.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let count = |states: &[u8]| {
            let has = |state: &&AtomicU8| states.contains(&state.load(Ordering::SeqCst));
            self.seconds.iter().filter(has).count() as u64 * self.metrics
        };
        (count(&[SENT, SURE]), count(&[SURE]))
    }

    fn get(&self, second: u64) -> u8 {
        let at = second.checked_sub(self.begin).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.seconds.get(at)).map_or(NOTHING, |state| state.load(Ordering::SeqCst))
    }

    fn set(&self, second: u64, state: u8) {
        let at = usize::try_from(second - self.begin).unwrap_or(usize::MAX);
        if let Some(kept) = self.seconds.get(at) {
            kept.fetch_max(state, Ordering::SeqCst);
        }
    }
}
