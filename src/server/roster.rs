//! Keeping the metrics this server knows and those of the cluster the same: new ones are sent there, those of other
//! servers are followed, and until all are known here globs are looked up there.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::engine::{Engine, now};
use super::listing::Listing;
use super::setbacks::Setbacks;
use crate::config::{CassandraIndex, Config};
use crate::index::FindLimits;
use crate::model::glob::Glob;
use crate::model::{Cancel, MetricId, Policy, Stage};
use crate::store::StoreError;
use crate::store::cassandra::names::{
    Change, Creation, Cursor, Hit, LookupError, LookupLimits, Names, NewMetric, Outcome,
};
use crate::store::cassandra::schema::Indexes;
use crate::store::cassandra::{Cluster, erase};
use crate::store::clustered::Clustered;

/// Metrics sent or taken in one go.
const BATCH: usize = 2000;
/// Rows a lookup in the cluster may look at for each hit it may give.
const ROWS_PER_HIT: usize = 10;
/// Under which names the data directory remembers how far this has come.
const SENT_NOTE: &str = "names_sent";
const CURSOR_NOTE: &str = "names_followed_ms";
const TOUCHED_NOTE: &str = "names_touched_hour";
const LOADED_NOTE: &str = "names_loaded_ms";
/// A metric that is written to is noted as such once in so many hours.
const TOUCH_HOURS: u32 = 72;
/// Metrics that are remembered as read between two looks.
const MAX_READ: usize = 100_000;

/// See the module documentation.
pub(super) struct Roster {
    names: Names,
    store: Arc<Clustered>,
    index: CassandraIndex,
    default: Arc<Policy>,
    creation: Creation,
    /// Every metric with a smaller handle is in the cluster.
    sent: AtomicU32,
    /// Handles at or above `sent` that came from the cluster.
    taken: Mutex<HashSet<u32>>,
    /// All metrics of the cluster were here once, and have been followed since.
    loaded: AtomicBool,
    /// When they were last read, in milliseconds since 1970.
    loaded_ms: AtomicI64,
    reload_interval: Duration,
    hide_expired: bool,
    cursor: Mutex<Option<Cursor>>,
    /// Metrics that were read and whose turn it is to be noted as such.
    read: Mutex<HashSet<u32>>,
    /// Those that were noted in this turn.
    told: Mutex<(u32, HashSet<u32>)>,
    setbacks: Setbacks,
}

impl Roster {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        store: Arc<Clustered>,
        config: &Config,
    ) -> Result<Self, StoreError> {
        let indexes = match config.cassandra.index {
            CassandraIndex::Sai => Indexes::Sai,
            CassandraIndex::Memory | CassandraIndex::Sasi => Indexes::Sasi,
        };
        let note = |key| store.local.note(key).map(|text| text.and_then(|text| text.parse::<i64>().ok()));
        let sent = note(SENT_NOTE)?.and_then(|sent| u32::try_from(sent).ok()).unwrap_or(0);
        let cursor = note(CURSOR_NOTE)?.map(Cursor::since).filter(|cursor| !cursor.is_outdated());
        if config.cassandra.index != CassandraIndex::Memory {
            // Only deletions are followed: the names that are here are not all, should the index be in memory again.
            store.local.set_note(LOADED_NOTE, "0")?;
        }
        let loaded_ms = note(LOADED_NOTE)?.unwrap_or(0);
        let per_second = u32::try_from(config.ingest.max_creates_per_second).ok().filter(|&rate| rate > 0);
        Ok(Self {
            names: Names::new(cluster, indexes),
            index: config.cassandra.index,
            default: Arc::new(config.rules.default_policy()),
            creation: Creation { per_second, ..Creation::default() },
            sent: AtomicU32::new(sent),
            taken: Mutex::default(),
            loaded: AtomicBool::new(cursor.is_some() && loaded_ms > 0),
            loaded_ms: AtomicI64::new(loaded_ms),
            reload_interval: config.cassandra.reload_interval,
            hide_expired: config.cassandra.hide_expired,
            cursor: Mutex::new(cursor),
            read: Mutex::default(),
            told: Mutex::default(),
            setbacks: Setbacks::new(
                "the names of the cluster are out of reach; this server goes on with those it knows",
            ),
            store,
        })
    }

    /// What keeps names from being sent or followed, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.setbacks.last()
    }

    /// Must globs be looked up in the cluster?
    pub(super) fn must_ask(&self) -> bool {
        self.index != CassandraIndex::Memory || !self.loaded.load(Ordering::Acquire)
    }

    /// Does what is due. Called every second or so.
    pub(super) fn run(&self, engine: &Engine) {
        if !self.setbacks.is_over() {
            return;
        }
        let done = self
            .load(engine)
            .and_then(|()| self.follow(engine))
            .and_then(|()| self.send_new(engine))
            .and_then(|()| self.touch(engine))
            .and_then(|()| self.touch_read(engine));
        match done {
            Ok(()) => self.setbacks.went_well("the names of the cluster are in reach again"),
            Err(error) => self.setbacks.went_badly(&error),
        }
    }

    /// Sends metrics the cluster does not have.
    pub(super) fn send_new(&self, engine: &Engine) -> anyhow::Result<()> {
        loop {
            let from = self.sent.load(Ordering::Acquire);
            let (batch, until) = self.next_batch(engine, from);
            if until == from {
                return Ok(());
            }
            let metrics: Vec<NewMetric> = batch.iter().map(|(_, metric)| metric.clone()).collect();
            let outcomes = self.names.create(&metrics, self.creation)?;
            // The cluster's word counts: its readers look where its policy says.
            let other = batch.iter().zip(outcomes).filter_map(|((id, metric), outcome)| match outcome {
                Outcome::Existed(policy) if policy != metric.policy => Some((*id, policy)),
                _ => None,
            });
            engine.follow_policies(&other.collect::<Vec<_>>())?;
            self.store.local.set_note(SENT_NOTE, &until.to_string())?;
            self.taken.lock().retain(|&id| id >= until);
            self.sent.store(until, Ordering::Release);
        }
    }

    fn next_batch(&self, engine: &Engine, from: u32) -> (Vec<(MetricId, NewMetric)>, u32) {
        let until = engine.points.id_bound().min(from.saturating_add(BATCH as u32));
        let taken = self.taken.lock();
        let index = engine.index.read();
        let mut batch = Vec::new();
        for id in (from..until).map(MetricId) {
            // Without a state it was deleted.
            let Some((policy, _)) = engine.points.state(id) else { continue };
            // With a state and no name it is being created at this moment, and its turn comes with the next batch.
            let Some(name) = index.name(id) else { return (batch, id.0) };
            if let Some(policy) = engine.points.policies().get(policy).filter(|_| !taken.contains(&id.0)) {
                batch.push((id, NewMetric { name: name.to_owned(), policy }));
            }
        }
        (batch, until)
    }

    /// Loads all metrics of the cluster, unless that was done lately.
    fn load(&self, engine: &Engine) -> anyhow::Result<()> {
        if self.index != CassandraIndex::Memory || !self.is_load_due() {
            return Ok(());
        }
        let (began, cursor, began_ms) = (Instant::now(), Cursor::now(), i64::from(now()) * 1000);
        let mut listing = Listing::new(engine, self.sent.load(Ordering::Acquire));
        let mut batch = Vec::with_capacity(BATCH);
        let mut failed = None;
        let loaded = self.names.load(&self.default, &mut |_| {}, &mut |listed| {
            let is_hidden = self.hide_expired && listed.is_expired();
            listing.see(&listed, is_hidden);
            if is_hidden {
                return;
            }
            batch.push((listed.name, listed.policy));
            if batch.len() == BATCH && failed.is_none() {
                failed = self.take(engine, &std::mem::take(&mut batch)).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        self.take(engine, &batch)?;
        let (hidden, gone) = (listing.hide()?, listing.forget_gone(&self.names, &self.default)?);
        let mut held = self.cursor.lock();
        // One that was followed before goes on where it was.
        self.remember(held.get_or_insert(cursor))?;
        drop(held);
        self.store.local.set_note(LOADED_NOTE, &began_ms.to_string())?;
        self.loaded_ms.store(began_ms, Ordering::Release);
        self.loaded.store(true, Ordering::Release);
        tracing::info!(
            metrics = loaded.metrics,
            hidden,
            gone,
            seconds = began.elapsed().as_secs_f64(),
            "names loaded from the cluster"
        );
        Ok(())
    }

    fn is_load_due(&self) -> bool {
        let age_ms = i64::from(now()) * 1000 - self.loaded_ms.load(Ordering::Acquire);
        let interval_ms = i64::try_from(self.reload_interval.as_millis()).unwrap_or(i64::MAX);
        !self.loaded.load(Ordering::Acquire) || age_ms >= interval_ms
    }

    /// Takes over what other servers created and deleted. Where globs are looked up in the cluster only deletions matter:
    /// a name that was once met here would still be found.
    fn follow(&self, engine: &Engine) -> anyhow::Result<()> {
        let mut held = self.cursor.lock();
        let cursor = held.get_or_insert_with(Cursor::now);
        let takes_all = self.index == CassandraIndex::Memory;
        let known = |name: &str| !takes_all || engine.index.read().lookup(name.as_bytes()).is_some();
        let before = cursor.until_ms();
        let changes = self.names.changes(cursor, &self.default, &known)?;
        let (mut created, mut deleted) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                Change::Created { name, policy } if !known(&name) => created.push((name, policy)),
                Change::Created { .. } => {}
                Change::Deleted { name } => deleted.extend(engine.index.read().lookup(name.as_bytes())),
            }
        }
        self.take(engine, &created)?;
        if !deleted.is_empty() {
            engine.forget(&deleted)?;
        }
        // Once a minute is enough: what is told twice does no harm.
        if cursor.until_ms() / 60_000 != before / 60_000 {
            self.remember(cursor)?;
        }
        Ok(())
    }

    /// Remembers that metrics were read, if this is their hour: see [`Roster::touch`].
    pub(super) fn note_read(&self, ids: &[MetricId]) {
        let turn = now() / 3600 % TOUCH_HOURS;
        let mut due = ids.iter().filter(|id| id.0 % TOUCH_HOURS == turn).peekable();
        if due.peek().is_some() {
            let mut read = self.read.lock();
            let room = MAX_READ.saturating_sub(read.len());
            read.extend(due.take(room).map(|id| id.0));
        }
    }

    /// Notes in the cluster which metrics are read.
    fn touch_read(&self, engine: &Engine) -> anyhow::Result<()> {
        let turn = now() / 3600 % TOUCH_HOURS;
        let names: Vec<String> = {
            let (mut read, mut told) = (self.read.lock(), self.told.lock());
            if told.0 != turn {
                *told = (turn, HashSet::new());
            }
            let index = engine.index.read();
            let fresh = read.drain().filter(|&id| told.1.insert(id));
            fresh.filter_map(|id| index.name(MetricId(id)).map(str::to_owned)).collect()
        };
        Ok(self.names.touch_read(&names, self.creation.in_flight)?)
    }

    /// Notes in the cluster which metrics are written to, each once in [`TOUCH_HOURS`]: `clean` goes by that. Every hour
    /// has its share of the metrics.
    fn touch(&self, engine: &Engine) -> anyhow::Result<()> {
        let hour = now() / 3600;
        let last = self.store.local.note(TOUCHED_NOTE)?.and_then(|text| text.parse::<u32>().ok());
        if last == Some(hour) {
            return Ok(());
        }
        // Metrics of hours in which this server was away have their turn now.
        let hours = (hour - last.unwrap_or(hour - 1).min(hour)).min(TOUCH_HOURS);
        let is_due = |id: u32| (hour % TOUCH_HOURS + TOUCH_HOURS - id % TOUCH_HOURS) % TOUCH_HOURS < hours;
        let written_since = now().saturating_sub(TOUCH_HOURS * 3600);
        let due: Vec<MetricId> =
            (0..engine.points.id_bound()).filter(|&id| is_due(id)).map(MetricId).collect();
        for batch in due.chunks(BATCH) {
            let spans = engine.points.spans(batch);
            let names: Vec<String> = {
                let index = engine.index.read();
                let written = batch.iter().zip(spans).filter(|(_, span)| span.last >= written_since);
                written.filter_map(|(&id, _)| index.name(id).map(str::to_owned)).collect()
            };
            self.names.touch_updated(&names, self.creation.in_flight)?;
        }
        self.store.local.set_note(TOUCHED_NOTE, &hour.to_string())?;
        Ok(())
    }

    fn remember(&self, cursor: &Cursor) -> Result<(), StoreError> {
        self.store.local.set_note(CURSOR_NOTE, &cursor.until_ms().to_string())
    }

    /// Takes metrics of the cluster that are not known here.
    fn take(&self, engine: &Engine, metrics: &[(String, Arc<Policy>)]) -> anyhow::Result<()> {
        let ids = engine.adopt(metrics)?;
        self.taken.lock().extend(ids.iter().map(|id| id.0));
        Ok(())
    }

    /// Looks a glob up in the cluster.
    pub(super) fn find(
        &self,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, LookupError> {
        self.names.find(glob, limits(max_hits), cancel)
    }

    /// The metrics of the cluster that match, which are known here afterwards.
    pub(super) fn find_leaves(
        &self,
        engine: &Engine,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, LookupError> {
        let names = self.names.find_leaves(glob, limits(max_hits), cancel)?;
        let unknown: Vec<String> = {
            let index = engine.index.read();
            names.iter().filter(|name| index.lookup(name.as_bytes()).is_none()).cloned().collect()
        };
        if !unknown.is_empty() {
            let mut records = self.names.records(&unknown, &self.default)?;
            let policy = |name: &String| records.remove(name).map(|record| record.policy);
            let policies: Vec<_> = unknown
                .iter()
                .map(policy)
                .map(|found| found.unwrap_or_else(|| Arc::clone(&self.default)))
                .collect();
            let metrics: Vec<_> = unknown.into_iter().zip(policies).collect();
            if let Err(error) = self.take(engine, &metrics) {
                tracing::warn!(%error, "metrics of the cluster were not taken over");
            }
        }
        let mut found: Vec<(MetricId, String)> = {
            let index = engine.index.read();
            let known = |name: String| Some((index.lookup(name.as_bytes())?, name));
            names.into_iter().filter_map(known).collect()
        };
        // What was created here a moment ago is not there yet.
        found.extend(engine.index.find_leaves(glob, FindLimits { max_hits }, cancel).unwrap_or_default());
        found.sort_by(|(_, a), (_, b)| a.cmp(b));
        found.dedup();
        Ok(found)
    }

    /// Deletes metrics from the cluster: first their points, so that after a failure their names can be found again.
    pub(super) fn delete(
        &self,
        metrics: &[String],
        stages: Vec<(MetricId, Vec<Stage>)>,
        now: u32,
    ) -> Result<(), StoreError> {
        let identities = &self.store.identities;
        let known = stages.into_iter().filter_map(|(id, stages)| Some((identities.get(id)?, stages)));
        erase(self.names.cluster(), &known.collect::<Vec<_>>(), now)?;
        self.names.delete(metrics, self.creation.in_flight)?;
        Ok(())
    }
}

fn limits(max_hits: usize) -> LookupLimits {
    LookupLimits { max_hits, max_rows: max_hits.saturating_mul(ROWS_PER_HIT) }
}
