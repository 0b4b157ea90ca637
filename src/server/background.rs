//! Background threads: they sync the log, cut, fill in stages, drop expired partitions, merge blocks and watch the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::disk::free_bytes;
use super::engine::{Engine, now};
use super::own_metrics::OwnMetrics;
use crate::config::OwnMetrics as OwnMetricsConfig;
use crate::store::Chore;

/// How often the cut thread checks whether a cut is due.
const CUTTER_TICK: Duration = Duration::from_millis(200);
/// How often stages are filled in and expired partitions dropped.
const HOUSEKEEPING: Duration = Duration::from_secs(60);
const DISK_TICK: Duration = Duration::from_secs(1);
const RULES_TICK: Duration = Duration::from_secs(1);
/// How often rule files are checked for changes; the same as in carbon.
const RULES_RELOAD: Duration = Duration::from_secs(10);

/// How often memory that was freed goes back to the system.
const GIVING_BACK: Duration = Duration::from_secs(2);

/// Tells the threads to end, and wakes them up.
#[derive(Default)]
pub(super) struct Ending {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Ending {
    /// Waits for `duration` at most. True if it is time to end.
    fn wait(&self, duration: Duration) -> bool {
        let mut over = self.over.lock();
        if !*over {
            self.changed.wait_for(&mut over, duration);
        }
        *over
    }

    fn end(&self) {
        *self.over.lock() = true;
        self.changed.notify_all();
    }
}

/// What a thread does until it is asked to end.
type Body = Box<dyn FnOnce(&Engine, &Ending) + Send>;

/// The threads of one server.
pub(super) struct Background {
    ending: Arc<Ending>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(engine: &Arc<Engine>) -> std::io::Result<Self> {
        let ending = Arc::new(Ending::default());
        if engine.config.store.read_only {
            return Ok(Self { ending, threads: Vec::new() });
        }
        let mut bodies: Vec<(&'static str, Body)> = vec![
            ("sync", Box::new(sync_log)),
            ("cut", Box::new(cut)),
            ("merge", Box::new(merge)),
            ("disk", Box::new(watch_disk)),
            ("memory", Box::new(give_memory_back)),
        ];
        for chore in engine.store.upstream.chores() {
            bodies.push((chore.name(), Box::new(move |engine, ending| do_chore(&*chore, engine, ending))));
        }
        if !engine.config.own_metrics.interval.is_zero() {
            bodies.push(("own", Box::new(tell_own_metrics)));
        }
        if engine.store.upstream.is_sole_writer() {
            bodies.push(("forget", Box::new(forget)));
        }
        if engine.rules.is_some() {
            bodies.push(("rules", Box::new(follow_rules)));
        }
        let mut threads = Vec::new();
        for (name, body) in bodies {
            let (engine, ending) = (Arc::clone(engine), Arc::clone(&ending));
            let supervisor = Arc::clone(&engine.supervisor);
            threads.push(supervisor.spawn(name, move || body(&engine, &ending))?);
        }
        Ok(Self { ending, threads })
    }

    /// Ends the threads, and waits for them to finish what they are doing.
    pub(super) fn stop(self, engine: &Engine) {
        self.ending.end();
        engine.store.upstream.stop();
        for thread in self.threads {
            // The supervisor catches panics, so this cannot fail.
            let _ = thread.join();
        }
    }
}

fn sync_log(engine: &Engine, ending: &Ending) {
    let interval = engine.config.store.sync_interval.max(Duration::from_millis(1));
    while !ending.wait(interval) {
        match engine.points.sync() {
            Ok(true) => engine.telemetry.log_syncs.add(1),
            Ok(false) => {}
            Err(error) => {
                super::complain(&error);
                // A later sync cannot bring back what a failed one lost. A cut writes the same points to blocks.
                engine.cut();
            }
        }
        engine.telemetry.spool_points.set(engine.spooled());
    }
}

/// The allocator keeps for a second what was freed, and looks for what has been free for longer when memory is freed or a thread ends.
/// After the last query of a busy minute neither happens for a long time. So a thread ends here now and then.
fn give_memory_back(_: &Engine, ending: &Ending) {
    while !ending.wait(GIVING_BACK) {
        // A thread that has never taken memory has nothing to look through when it ends.
        let sweep = std::thread::Builder::new().spawn(|| drop(std::hint::black_box(Box::new(0_u64))));
        // If there is no room for a thread now, there is in the next round.
        let _ = sweep.map(JoinHandle::join);
    }
}

fn cut(engine: &Engine, ending: &Ending) {
    let mut last_cut = Instant::now();
    // At once: after a long stop, every query would otherwise aggregate the slots that are not filled in yet.
    engine.keep_house();
    let mut last_housekeeping = Instant::now();
    let mut not_before = Instant::now();
    while !ending.wait(CUTTER_TICK) {
        let due = engine.store.upstream.wants_cut(last_cut.elapsed()) || engine.points.wants_cut();
        if due && Instant::now() >= not_before {
            if engine.cut() {
                last_cut = Instant::now();
            } else {
                not_before = Instant::now() + Duration::from_secs(1);
            }
        }
        if let Err(error) = engine.points.record_created() {
            super::complain(&error);
        }
        if last_housekeeping.elapsed() >= HOUSEKEEPING {
            last_housekeeping = Instant::now();
            engine.keep_house();
        }
    }
}

/// Runs a chore of the store, again and again.
fn do_chore(chore: &dyn Chore, engine: &Engine, ending: &Ending) {
    while !ending.wait(chore.run(engine)) {}
}

/// Forgets metrics whose last point is too old.
fn forget(engine: &Engine, ending: &Ending) {
    let mut is_first = true;
    while !ending.wait(engine.forget_interval(is_first)) {
        is_first = false;
        if let Err(error) = engine.forget_expired(now(), |pause| ending.wait(pause)) {
            tracing::warn!(%error, "forgetting metrics without new points failed; it will be tried again");
        }
    }
}

fn merge(engine: &Engine, ending: &Ending) {
    while !ending.wait(Duration::from_secs(1)) {
        match engine.store.points.tidy() {
            Ok(merges) => engine.telemetry.merges.add(merges),
            Err(error) => tracing::warn!(%error, "merging blocks failed; it will be tried again"),
        }
    }
}

fn tell_own_metrics(engine: &Engine, ending: &Ending) {
    let OwnMetricsConfig { interval, prefix, .. } = &engine.config.own_metrics;
    let mut own = OwnMetrics::new(prefix, interval.as_secs_f64(), &engine.telemetry);
    while !ending.wait(*interval) {
        // It is no loss if these points cannot be stored now.
        let _ = engine.append_own(&own.points(engine));
    }
}

/// Stores the aggregates of aggregation rules when they are due, and reloads changed rules.
fn follow_rules(engine: &Engine, ending: &Ending) {
    let mut waiting = Vec::new();
    let mut read_at = Instant::now();
    while !ending.wait(RULES_TICK) {
        waiting = engine.ingest_aggregates(waiting, false);
        if let Some(rules) = engine.rules.as_ref().filter(|_| read_at.elapsed() >= RULES_RELOAD) {
            rules.reload_if_changed();
            read_at = Instant::now();
        }
    }
    // Receiving ends before this thread, so no more points will come.
    let lost = engine.ingest_aggregates(waiting, true).len();
    if lost > 0 {
        tracing::warn!(lost, "aggregates could not be stored before the stop");
    }
}

fn watch_disk(engine: &Engine, ending: &Ending) {
    let reserve = engine.config.store.reserve_bytes;
    let mut was = (false, false);
    loop {
        if let Ok(free) = free_bytes(&engine.config.store.path) {
            let spool_full = engine.store.upstream.is_spool_full();
            let is = (free < reserve, free < reserve / 2 || spool_full);
            engine.resolver.refuse_new(is.0);
            engine.paused.store(is.1, Ordering::Relaxed);
            if is != was {
                let (refuse_new_metrics, pause) = is;
                tracing::warn!(
                    free,
                    reserve,
                    refuse_new_metrics,
                    pause,
                    spool_full,
                    "the space for points has changed; see store.reserve_bytes and store.cassandra.spool_bytes"
                );
                was = is;
            }
        }
        if ending.wait(DISK_TICK) {
            return;
        }
    }
}

impl Engine {
    /// Points that are not in blocks yet, or with a cluster not delivered yet.
    pub fn spooled(&self) -> u64 {
        self.points.held() as u64 + self.store.upstream.spooled_points().unwrap_or(0)
    }

    /// Writes the points in memory to blocks. False if that failed and must be tried again.
    pub(super) fn cut(&self) -> bool {
        match self.points.cut() {
            Ok(points) => {
                if points > 0 {
                    self.telemetry.cuts.add(1);
                    tracing::debug!(points, "points written to blocks");
                }
                true
            }
            Err(error) => {
                self.telemetry.cut_failures.add(1);
                super::complain(&error);
                false
            }
        }
    }

    /// Fills in aggregated stages and drops what is past its retention.
    pub(super) fn keep_house(&self) {
        if let Err(error) = self.points.fill(now()) {
            tracing::warn!(%error, "filling in aggregated stages failed; it will be tried again");
        }
        match self.points.expire(now()) {
            Ok(dropped) => self.telemetry.partitions_expired.add(dropped),
            Err(error) => {
                tracing::warn!(%error, "dropping expired partitions failed; it will be tried again")
            }
        }
    }

    /// Writes everything to blocks, merges and delivers them: the state that an idle server reaches by itself.
    pub(super) fn settle(&self) -> Result<(), String> {
        if !self.cut() {
            return Err("writing the points to blocks failed; the server's log says why".to_owned());
        }
        self.store.points.tidy().map_err(|e| e.to_string())?;
        self.store.upstream.deliver_all(self)
    }

    /// Settles, and lets go of what a cluster lends to a server. For commands that open the store for a while.
    pub fn hand_over(&self) -> Result<(), String> {
        self.settle()?;
        self.store.upstream.leave(self);
        Ok(())
    }
}
