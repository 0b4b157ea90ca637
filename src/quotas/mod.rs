//! Step 3½, if configured: quotas. How many metrics there may be, how many may be created, and how many points may come.
//!
//! A metric belongs to the *accounts* of the quotas that apply to it: one of our own, the first that matches, and one for each
//! directory above it that go-carbon's file has a quota for. An account knows how many metrics there are, and what came in this
//! minute. Which accounts a metric belongs to is decided once and kept by its number, so a point costs no matching.
//!
//! What exists comes first. Quotas of metrics refuse new metrics only, and of the points in a minute new metrics get what the
//! existing ones did not use in the minute before.
//!
//! | file         | noun                                                                        |
//! |--------------|-----------------------------------------------------------------------------|
//! | `matching`   | which quotas apply to a name                                                |
//! | `account`    | what one quota, or one directory of it, has and had                         |
//! | `stock`      | what metrics take as long as there are any                                  |
//! | `window`     | the points of a minute                                                      |
//! | `ledger`     | all accounts, and the metrics that belong to them                           |
//! | `charge`     | points that were taken, and are given back if they are not stored           |

mod account;
mod charge;
mod ledger;
mod matching;
mod stock;
mod window;

#[cfg(test)]
mod tests;

pub use charge::Charge;
pub use matching::{Asked, Matching};
pub use stock::Size;

use std::sync::atomic::{AtomicBool, Ordering};

use ahash::AHashMap;
use parking_lot::RwLock;

use crate::auth::Sender;
use crate::config::Quota;
use crate::telemetry::QuotaUse;
use account::Limit;
use ledger::{Ledger, SetId};
use plumbago_model::{MetricId, Reject};

/// The quotas of a server.
#[derive(Debug)]
pub struct Quotas {
    /// Is there any? If not, nothing here costs anything.
    on: AtomicBool,
    /// Does any limit points?
    meters_points: AtomicBool,
    /// Does any ask who sends?
    asks_for_sender: AtomicBool,
    /// Does any limit what metrics take?
    asks_for_size: AtomicBool,
    ledger: RwLock<Ledger>,
}

/// Where a metric that may be created will be counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leave {
    /// The quota by which it stays counted although its name does not tell, because of who creates it.
    pub owner: Option<String>,
    /// How much the metric will take.
    pub size: Size,
}

impl Quotas {
    /// Quotas under which no metric is counted yet; [`Quotas::count`] does that.
    pub fn new(quotas: &[Quota]) -> Self {
        let new = Self {
            on: AtomicBool::default(),
            meters_points: AtomicBool::default(),
            asks_for_sender: AtomicBool::default(),
            asks_for_size: AtomicBool::default(),
            ledger: RwLock::default(),
        };
        new.replace(quotas);
        new
    }

    /// Puts other quotas in force. No metric is counted under them yet, and refusals so far stay counted.
    pub fn replace(&self, quotas: &[Quota]) {
        let mut ledger = self.ledger.write();
        *ledger = Ledger::after(&ledger, quotas);
        self.meters_points
            .store(quotas.iter().any(|quota| quota.limits.points_per_minute.is_some()), Ordering::Relaxed);
        self.asks_for_sender.store(quotas.iter().any(Quota::asks_for_sender), Ordering::Relaxed);
        self.asks_for_size.store(quotas.iter().any(|quota| quota.limits.ask_for_size()), Ordering::Relaxed);
        self.on.store(!quotas.is_empty(), Ordering::Relaxed);
    }

    /// Are these the quotas in force?
    pub fn are(&self, quotas: &[Quota]) -> bool {
        self.ledger.read().quotas().eq(quotas)
    }

    /// Is there any quota?
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Does it matter who sends?
    pub fn tell_senders_apart(&self) -> bool {
        self.asks_for_sender.load(Ordering::Relaxed)
    }

    /// Does any limit points?
    pub fn meter_points(&self) -> bool {
        self.meters_points.load(Ordering::Relaxed)
    }

    /// The size of a metric, or nothing if no quota asks for it.
    pub fn size(&self, of: impl FnOnce() -> Size) -> Size {
        if self.asks_for_size.load(Ordering::Relaxed) { of() } else { Size::default() }
    }

    /// May this sender create a metric of this size? Counts it if not. Nothing is taken yet.
    pub fn may_create(&self, name: &str, size: Size, sender: &Sender, now: u32) -> Result<Leave, Reject> {
        if !self.is_on() {
            return Ok(Leave::default());
        }
        self.ledger.read().may_create(name, size, sender, now)
    }

    /// Counts a metric that is created by leave, and the point that creates it.
    pub fn create(&self, id: MetricId, name: &str, leave: &Leave, now: u32) {
        if self.is_on() {
            self.ledger.write().create(id, name, leave, now);
        }
    }

    /// For each of these metrics that come from elsewhere the limit that has no room for it, if there is one. Counts it then.
    pub fn full(&self, metrics: &[(&str, Size)], sender: &Sender) -> Vec<Option<&'static str>> {
        if !self.is_on() {
            return vec![None; metrics.len()];
        }
        let full = self.ledger.read().full(metrics, sender);
        full.into_iter().map(|limit| limit.map(Limit::label)).collect()
    }

    /// Counts metrics that there are, whatever the limits say, unless they are counted already.
    pub fn count<'a>(&self, metrics: impl IntoIterator<Item = (MetricId, &'a str, Size)>) {
        if self.is_on() {
            let mut ledger = self.ledger.write();
            metrics.into_iter().for_each(|(id, name, size)| ledger.count(id, name, size));
        }
    }

    /// These metrics are kept in another way.
    pub fn resize(&self, metrics: impl IntoIterator<Item = (MetricId, Size)>) {
        if self.asks_for_size.load(Ordering::Relaxed) {
            let mut ledger = self.ledger.write();
            metrics.into_iter().for_each(|(id, size)| ledger.resize(id, size));
        }
    }

    /// A metric counts for this quota, by which its creator was bound. Before it is counted.
    pub fn own(&self, id: MetricId, quota: &str) {
        self.ledger.write().own(id, quota);
    }

    /// A metric has left. Without quotas, its owner is still known from the time when there were some.
    pub fn forget(&self, id: MetricId) {
        self.ledger.write().forget(id);
    }

    /// A metric has another name.
    pub fn rename(&self, id: MetricId, name: &str) {
        if self.is_on() {
            self.ledger.write().rename(id, name);
        }
    }

    /// Takes points of metrics from what their quotas allow in this minute. `metrics` has `None` for what is to be left out, and gets
    /// it for what is over a quota. `name` gives the name of a metric.
    pub fn take_points(
        &self,
        metrics: &mut [Option<MetricId>],
        sender: &Sender,
        now: u32,
        name: impl Fn(MetricId) -> Option<String>,
    ) -> Charge {
        let mut charge = Charge::new(now);
        self.learn(metrics, sender, name);
        let ledger = self.ledger.read();
        let sets = ledger.sets_for(sender);
        let mut wanted: AHashMap<SetId, u64> = AHashMap::new();
        for set in metrics.iter().flatten().filter_map(|id| sets.get(*id)) {
            if ledger.meters(set) {
                *wanted.entry(set).or_default() += 1;
            }
        }
        let mut left = wanted;
        left.iter_mut().for_each(|(set, points)| *points = ledger.take(*set, *points, now, &mut charge));
        for metric in metrics {
            let set = metric.and_then(|id| sets.get(id));
            match set.and_then(|set| left.get_mut(&set)) {
                Some(0) => *metric = None,
                Some(points) => *points -= 1,
                None => {}
            }
        }
        charge
    }

    /// Finds out by which quotas a sender's points of these metrics go, where it is not known yet.
    fn learn(
        &self,
        metrics: &[Option<MetricId>],
        sender: &Sender,
        name: impl Fn(MetricId) -> Option<String>,
    ) {
        if !self.tell_senders_apart() {
            return;
        }
        let unknown: Vec<MetricId> = {
            let ledger = self.ledger.read();
            let sets = ledger.sets_for(sender);
            metrics.iter().flatten().copied().filter(|id| sets.get(*id).is_none()).collect()
        };
        for (id, name) in unknown.into_iter().filter_map(|id| Some((id, name(id)?))) {
            self.ledger.write().learn(id, &name, sender);
        }
    }

    /// What each quota allows and how much of it is used.
    pub fn usage(&self, now: u32) -> Vec<QuotaUse> {
        self.ledger.read().usage(now)
    }
}
