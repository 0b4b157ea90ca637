//! Running slots: those of aggregated stages that are not over yet, written to the cluster as they are now.
//!
//! Every so often a *round* writes the slots of all metrics that had points since they were written last, and a stop writes what
//! is left. The rows do not go through the spool. They carry the time of the last cut that has points of their metric
//! ([`AFTER_CUT_US`] says why), under the same shard as everything else, so the next round, a late point and the final value all
//! replace them, in whatever order they arrive. A row that is lost in a crash is made up for by the first round after the start.
//!
//! A deletion wins against a running slot. If it came after the cut, it is younger than the row. If it came before, the feed has
//! it, and the feed is followed between the cut and the row.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::backoff::BackOff;
use super::deliverer::Deliverer;
use super::follower::Follower;
use super::notes::Notes;
use super::outdated::{Batch, Outdated, changes_running};
use super::{BATCH, Clustered, now};
use crate::store::embedded::{AFTER_CUT_US, Parcel};
use crate::store::{LocalMetrics, StoreError};
use crate::telemetry::Telemetry;

/// See the module documentation.
pub(super) struct RunningSlots {
    store: Arc<Clustered>,
    deliverer: Arc<Deliverer>,
    follower: Arc<Follower>,
    outdated: Arc<Outdated>,
    telemetry: Arc<Telemetry>,
    /// A round begins this often.
    interval: Duration,
    backoff: BackOff,
    stopping: AtomicBool,
    round: Mutex<Round>,
}

struct Round {
    /// When the next one begins.
    begins: Instant,
    /// While one is under way: the id it goes on with.
    next_id: Option<u32>,
    /// The last cut of an earlier run that may not have written all running slots.
    left_over_us: Option<i64>,
    /// The feed was followed up to this moment.
    followed: Option<Instant>,
}

impl RunningSlots {
    pub(super) fn new(
        store: Arc<Clustered>,
        deliverer: Arc<Deliverer>,
        follower: Arc<Follower>,
        outdated: Arc<Outdated>,
        interval: Duration,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, StoreError> {
        let last_cut_us = store.spool.last_cut_us();
        let is_complete = Notes(&store.local).running_written_us()? == Some(last_cut_us);
        let round = Round {
            begins: Instant::now() + interval,
            next_id: None,
            left_over_us: (!is_complete).then_some(last_cut_us),
            followed: None,
        };
        let backoff = BackOff::new(
            "running slots do not arrive in the cluster; readers that look at its tables alone see older values",
            "running slots arrive in the cluster again",
        );
        let (stopping, round) = (AtomicBool::new(false), Mutex::new(round));
        Ok(Self { store, deliverer, follower, outdated, telemetry, interval, backoff, stopping, round })
    }

    /// What keeps running slots from arriving, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.backoff.trouble()
    }

    /// Stops after what it is doing.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Writes slots for about as long as `limit`, if a round is due or under way. True if there are more.
    pub(super) fn run(&self, local: &dyn LocalMetrics, limit: Duration) -> bool {
        if !self.backoff.is_over() || !self.is_due(Instant::now()) {
            return false;
        }
        let began = Instant::now();
        while began.elapsed() < limit && !self.stopping.load(Ordering::Relaxed) {
            match self.write_next(local) {
                Ok(true) => {}
                Ok(false) => {
                    self.round.lock().next_id = None;
                    self.backoff.succeeded();
                    return false;
                }
                Err(error) => {
                    self.backoff.failed(&error);
                    return false;
                }
            }
        }
        true
    }

    /// Writes everything there is before a stop, as far as `limit` allows. The last cut need not have been delivered.
    pub(super) fn finish(&self, local: &dyn LocalMetrics, limit: Duration) {
        if !self.deliverer.has_number() || !self.follower.goes_on() {
            return;
        }
        let began = Instant::now();
        let is_over = || began.elapsed() >= limit;
        for parcel in self.store.spool.parcels().into_iter().take_while(|_| !is_over()) {
            self.outdated.note(parcel.cut_at_us, self.changed_by(parcel));
        }
        self.round.lock().next_id = Some(0);
        loop {
            if is_over() {
                tracing::warn!("running slots were not all written before the stop; the next start writes them");
                return;
            }
            match self.write_next(local) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "running slots were not written before the stop; the next start writes them");
                    return;
                }
            }
        }
        if let Err(error) = Notes(&self.store.local).set_running_written_us(self.store.spool.last_cut_us()) {
            tracing::warn!(%error, "the next start writes all running slots again");
        }
    }

    /// Is a round under way, or does one begin now? None does before the feed is being followed.
    fn is_due(&self, now: Instant) -> bool {
        let mut round = self.round.lock();
        if round.next_id.is_none() && now >= round.begins && self.follower.goes_on() {
            (round.next_id, round.begins) = (Some(0), now + self.interval);
        }
        round.next_id.is_some()
    }

    /// Writes the slots of the next metrics of the round. False if there are none.
    fn write_next(&self, local: &dyn LocalMetrics) -> Result<bool, StoreError> {
        self.note_left_over(local);
        let Some(from) = self.round.lock().next_id else { return Ok(false) };
        let followed = self.follow(local)?;
        let batches = self.outdated.take(from, BATCH, followed);
        let Some(last) = batches.iter().filter_map(|batch| batch.metrics.last()).max().copied() else {
            return Ok(false);
        };
        if let Err(error) = self.write(local, &batches) {
            self.outdated.put_back(batches);
            return Err(error);
        }
        self.round.lock().next_id = Some(last.0.saturating_add(1));
        Ok(true)
    }

    /// After a crash nobody knows which slots were written: all metrics have their turn, those with newer points in it too.
    fn note_left_over(&self, local: &dyn LocalMetrics) {
        if let Some(cut_us) = self.round.lock().left_over_us.take() {
            let mut all = RoaringBitmap::new();
            all.insert_range(0..local.id_bound());
            self.outdated.note(cut_us, all);
        }
    }

    /// Follows the feed, unless that was done since the last cut was noted. Gives the moment up to which deletions are known.
    fn follow(&self, local: &dyn LocalMetrics) -> Result<Instant, StoreError> {
        let noted = self.outdated.last_noted();
        if let Some(followed) = self.round.lock().followed.filter(|&at| noted.is_none_or(|noted| noted <= at)) {
            return Ok(followed);
        }
        let began = Instant::now();
        self.follower.follow(local)?;
        self.round.lock().followed = Some(began);
        Ok(began)
    }

    fn write(&self, local: &dyn LocalMetrics, batches: &[Batch]) -> Result<(), StoreError> {
        // A shorter slot is over and filled in about as soon as it would be written here.
        let least_step_secs = u32::try_from(self.interval.as_secs()).unwrap_or(u32::MAX);
        for batch in batches {
            let rows = self.deliverer.send(batch.cut_us + AFTER_CUT_US, |delivery| {
                local.visit_running(&batch.metrics, least_step_secs, &mut |stage, metric, method, column| {
                    let Some(metric) = self.store.identities.get(metric) else { return Ok(()) };
                    delivery.put(stage, metric, method, column)
                })
            })?;
            self.telemetry.running_rows.add(rows);
        }
        Ok(())
    }

    /// The metrics whose running slots a parcel changes.
    fn changed_by(&self, parcel: Parcel) -> RoaringBitmap {
        let (open, now, mut metrics) = (self.store.spool.open(parcel), now(), RoaringBitmap::new());
        let mut contents = open.contents();
        while let Some(content) = contents.read_next() {
            if changes_running(&content, now) {
                metrics.insert(content.metric.0);
            }
        }
        metrics
    }
}
