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
use super::outdated::{Batch, Outdated};
use super::{BATCH, Clustered};
use crate::store::embedded::AFTER_CUT_US;
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
        let is_complete = Notes(&store.local).running_written_us()? == last_cut_us;
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
            self.outdated.note(parcel.cut_at_us, self.store.spool.open(parcel).metrics());
        }
        self.round.lock().next_id = Some(0);
        loop {
            if is_over() {
                tracing::warn!(
                    "running slots were not all written before the stop; the next start writes them"
                );
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
        if let Some(followed) = self.round.lock().followed.filter(|&at| noted.is_none_or(|noted| noted <= at))
        {
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
                    match self.store.identities.get(metric) {
                        Some(id) if !self.store.erasures.takes_all_of(metric) => {
                            delivery.put(stage, id, method, column)
                        }
                        _ => Ok(()),
                    }
                })
            })?;
            self.telemetry.running_rows.add(rows);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        FakeNumber, FakeRows, FakeServer, FakeTables, clustered, commit, days, follower,
    };
    use super::*;
    use crate::store::cassandra::names::{Change, Cursor};
    use plumbago_model::MetricId;
    use uuid::Uuid;

    const HOUR: Duration = Duration::from_secs(3600);
    const A: MetricId = MetricId(0);
    const B: MetricId = MetricId(1);

    /// A server with two metrics, in front of a cluster.
    struct Bench {
        _dir: tempfile::TempDir,
        store: Arc<Clustered>,
        server: FakeServer,
        tables: Arc<FakeTables>,
        rows: FakeRows,
        cuts: u64,
    }

    impl Bench {
        fn new() -> Self {
            let (_dir, store) = clustered();
            store.identities.add([(A, "a"), (B, "b")].into_iter());
            let (server, tables) = (FakeServer::with(&["a", "b"]), FakeTables::with(&[]));
            Self { _dir, store, server, tables, rows: FakeRows::default(), cuts: 0 }
        }

        /// A start, with its first round due at once.
        fn start(&self) -> (Arc<Deliverer>, RunningSlots) {
            let (rows, number) = (Box::new(self.rows.clone()), Box::new(FakeNumber::default()));
            let (store, outdated) = (|| Arc::clone(&self.store), Arc::<Outdated>::default());
            let deliverer = Deliverer::new(store(), rows, number, Arc::default());
            let deliverer = Arc::new(deliverer.noting(Arc::clone(&outdated)));
            let follower = follower(&self.tables, &self.store, self.server.id_bound(), true);
            if !follower.goes_on() {
                follower.restart(Cursor::now()).unwrap();
            }
            let telemetry = Arc::default();
            let running =
                RunningSlots::new(store(), Arc::clone(&deliverer), follower, outdated, HOUR, telemetry)
                    .unwrap();
            begin(&running);
            (deliverer, running)
        }

        /// A cut with a point of a metric, whose day is now worth so much.
        fn cut(&mut self, metric: MetricId, today: f64) {
            self.server.set_today(metric, today);
            self.cuts += 1;
            commit(&self.store, self.cuts, metric, 1.0);
        }

        fn id(&self, metric: MetricId) -> Uuid {
            self.store.identities.get(metric).unwrap()
        }

        /// What a reader of the table sees.
        fn today(&self, metric: MetricId) -> Option<f64> {
            self.rows.read(days(), self.id(metric), 0)
        }

        /// How many rows of running slots came.
        fn written(&self) -> usize {
            self.rows.arrived.lock().iter().filter(|row| row.stage == days()).count()
        }
    }

    /// The next round begins now.
    fn begin(running: &RunningSlots) {
        running.round.lock().begins = Instant::now();
    }

    #[test]
    fn a_round_writes_the_metrics_that_had_points_since_the_last() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        bench.cut(B, 2.0);
        deliverer.run(&|| Ok(()));
        assert!(!running.run(&bench.server, HOUR));
        assert_eq!((bench.today(A), bench.today(B)), (Some(1.0), Some(2.0)));
        assert_eq!(running.telemetry.running_rows.get(), 2);
        bench.cut(B, 3.0);
        deliverer.run(&|| Ok(()));
        assert!(!running.run(&bench.server, HOUR));
        assert_eq!(bench.written(), 2, "the next round is an hour away");
        begin(&running);
        running.run(&bench.server, HOUR);
        assert_eq!((bench.today(B), bench.written()), (Some(3.0), 3));
        begin(&running);
        running.run(&bench.server, HOUR);
        assert_eq!(bench.written(), 3, "nothing has changed");
    }

    #[test]
    fn a_round_goes_on_where_it_was_interrupted() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        assert!(running.run(&bench.server, Duration::ZERO), "there is more");
        running.stop();
        assert!(running.run(&bench.server, HOUR), "the server stops");
        assert_eq!(bench.written(), 0);
        running.stopping.store(false, Ordering::Relaxed);
        assert!(!running.run(&bench.server, HOUR));
        assert_eq!(bench.today(A), Some(1.0));
    }

    #[test]
    fn what_is_final_replaces_what_ran_even_if_it_arrives_first() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        // The day ends: the next cut has it.
        bench.cut(B, 2.0);
        let last_us = bench.store.spool.last_cut_us();
        let put_final = |delivery: &dyn super::super::RowDelivery| {
            let column = crate::store::Column { times: vec![0], values: vec![10.0], counts: vec![9] };
            delivery.put(days(), bench.id(A), plumbago_model::Aggregator::Sum, &column)
        };
        deliverer.send(last_us, put_final).unwrap();
        running.run(&bench.server, HOUR);
        assert_eq!((bench.written(), bench.today(A)), (2, Some(10.0)));
    }

    #[test]
    fn a_row_is_younger_than_the_cut_it_follows_from_and_older_than_the_next() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        let first_us = bench.store.spool.last_cut_us();
        deliverer.run(&|| Ok(()));
        bench.cut(B, 1.0);
        let next_us = bench.store.spool.last_cut_us();
        running.run(&bench.server, HOUR);
        let stamp_us = bench.rows.arrived.lock().last().unwrap().stamp_us;
        assert!(first_us < stamp_us && stamp_us < next_us, "{first_us} {stamp_us} {next_us}");
    }

    #[test]
    fn a_deletion_after_the_last_point_of_a_metric_is_final() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        let deleted_us = bench.store.spool.last_cut_us() + 2;
        // Another metric has points after the deletion, of which this server has not heard.
        bench.cut(B, 2.0);
        bench.rows.erase_at(bench.id(A), deleted_us);
        deliverer.run(&|| Ok(()));
        running.run(&bench.server, HOUR);
        assert_eq!((bench.today(A), bench.today(B)), (None, Some(2.0)));
    }

    #[test]
    fn a_deletion_before_the_last_point_of_a_metric_is_known_when_its_turn_comes() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        *bench.tables.feed.lock() = vec![Change::Deleted { name: "a".to_owned() }];
        running.run(&bench.server, HOUR);
        assert_eq!((bench.server.names(), bench.written()), (vec!["b".to_owned()], 0));
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        bench.rows.is_away.store(true, Ordering::Relaxed);
        assert!(!running.run(&bench.server, HOUR));
        assert!(running.trouble().unwrap().contains("it is away"));
        bench.rows.arrived.lock().clear();
        bench.rows.is_away.store(false, Ordering::Relaxed);
        assert!(!running.run(&bench.server, HOUR), "it rests after a failure");
        assert_eq!(bench.today(A), None);
        running.backoff.succeeded();
        running.run(&bench.server, HOUR);
        assert_eq!((bench.today(A), running.trouble()), (Some(1.0), None));
    }

    #[test]
    fn nothing_is_written_before_the_feed_is_followed() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        bench.tables.is_away.store(true, Ordering::Relaxed);
        running.run(&bench.server, HOUR);
        assert_eq!(bench.written(), 0);
        running.finish(&bench.server, HOUR);
        assert_eq!(bench.written(), 0);
    }

    #[test]
    fn a_stop_writes_what_is_left_also_of_a_cut_that_was_not_delivered() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        bench.cut(B, 2.0);
        running.finish(&bench.server, HOUR);
        assert_eq!((bench.today(A), bench.today(B)), (Some(1.0), Some(2.0)));
        assert_eq!(bench.store.spool.points(), 1, "the cut itself waits for the next start");
        let (_, running) = bench.start();
        running.run(&bench.server, HOUR);
        assert_eq!(bench.written(), 2, "a start after such a stop has nothing to make up for");
    }

    #[test]
    fn a_start_after_a_crash_writes_everything() {
        let mut bench = Bench::new();
        let (deliverer, _) = bench.start();
        bench.cut(A, 1.0);
        bench.cut(B, 2.0);
        deliverer.run(&|| Ok(()));
        let (_, running) = bench.start();
        running.run(&bench.server, HOUR);
        assert_eq!((bench.today(A), bench.today(B)), (Some(1.0), Some(2.0)));
    }

    #[test]
    fn a_stop_that_must_not_wait_leaves_it_to_the_next_start() {
        let mut bench = Bench::new();
        let (deliverer, running) = bench.start();
        bench.cut(A, 1.0);
        deliverer.run(&|| Ok(()));
        running.finish(&bench.server, Duration::ZERO);
        assert_eq!(bench.written(), 0);
        let (_, running) = bench.start();
        running.run(&bench.server, HOUR);
        assert_eq!(bench.today(A), Some(1.0));
    }

    #[test]
    fn a_stop_without_a_writer_number_does_not_take_one() {
        let mut bench = Bench::new();
        let (_, running) = bench.start();
        bench.cut(A, 1.0);
        running.finish(&bench.server, HOUR);
        assert_eq!((bench.written(), running.deliverer.has_number()), (0, false));
    }
}
