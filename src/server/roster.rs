//! Keeping the metrics this server knows and those of the cluster the same: new ones are sent there, those of other
//! servers are followed, and until all are known here globs are looked up there.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::engine::{Engine, now};
use super::setbacks::Setbacks;
use crate::config::{CassandraIndex, Config};
use crate::index::FindLimits;
use crate::store::StoreError;
use crate::store::cassandra::names::{
    Change, Creation, Cursor, Hit, LookupError, LookupLimits, Names, NewMetric, Outcome, StrayWalk,
};
use crate::store::cassandra::schema::Indexes;
use crate::store::cassandra::{Cluster, erase};
use crate::store::clustered::{Clustered, SchemaWatch};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, Span, Stage};

/// Metrics sent or taken in one go.
const BATCH: usize = 2000;
/// How long new metrics are sent before others' are looked at again.
const SENDING: Duration = Duration::from_secs(5);
/// Rows a lookup in the cluster may look at for each hit it may give.
const ROWS_PER_HIT: usize = 10;
/// Under which names the data directory remembers how far this has come.
const SENT_NOTE: &str = "names_sent";
const CURSOR_NOTE: &str = "names_followed_ms";
const DELETIONS_NOTE: &str = "names_deletions_ms";
const LOADED_NOTE: &str = "names_loaded";
const TOUCHED_NOTE: &str = "names_touched_hour";
/// A metric that is written to is noted as such once in so many hours.
const TOUCH_HOURS: u32 = 72;
/// A metric with a younger point than this is being written to.
const ALIVE_SECS: u32 = 3600;
/// Metrics that are remembered as read between two looks.
const MAX_READ: usize = 100_000;

/// See the module documentation.
pub(super) struct Roster {
    names: Names,
    store: Arc<Clustered>,
    tables: Arc<SchemaWatch>,
    index: CassandraIndex,
    default: Arc<Policy>,
    creation: Creation,
    /// Every metric with a smaller handle is in the cluster.
    sent: AtomicU32,
    /// One at a time: what two send at once is created once, but counted twice.
    sending: Mutex<()>,
    /// Handles at or above `sent` that came from the cluster.
    taken: Mutex<HashSet<u32>>,
    /// All metrics of the cluster were here once, and have been followed since.
    loaded: AtomicBool,
    /// When all that had vanished was parted with, in seconds since 1970, and how often that is done.
    reloaded: AtomicU32,
    reload_interval: Option<Duration>,
    hide_expired: bool,
    cursor: Mutex<Option<Cursor>>,
    /// Where metrics without metadata have not been looked for yet.
    strays: Mutex<StrayWalk>,
    /// Metrics that were read and whose turn it is to be noted as such.
    read: Mutex<HashSet<u32>>,
    /// Those that were noted in this turn.
    told: Mutex<(u32, HashSet<u32>)>,
    setbacks: Setbacks,
}

/// What reading all metrics of the cluster came to.
struct Read {
    metrics: u64,
    /// Which of the metrics known here are there.
    seen: Vec<bool>,
    expired: Vec<MetricId>,
}

impl Roster {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        store: Arc<Clustered>,
        tables: Arc<SchemaWatch>,
        config: &Config,
    ) -> Result<Self, StoreError> {
        let indexes = match config.cassandra.index {
            CassandraIndex::Sai => Indexes::Sai,
            CassandraIndex::Memory | CassandraIndex::Sasi => Indexes::Sasi,
        };
        let note = |key| store.local.note(key).map(|text| text.and_then(|text| text.parse::<i64>().ok()));
        let number = |key| Ok::<_, StoreError>(note(key)?.and_then(|n| u32::try_from(n).ok()).unwrap_or(0));
        let cursor = note(cursor_note(config.cassandra.index))?
            .map(Cursor::since)
            .filter(|cursor| !cursor.is_outdated());
        let per_second = u32::try_from(config.ingest.max_creates_per_second).ok().filter(|&rate| rate > 0);
        Ok(Self {
            names: Names::new(cluster, indexes),
            tables,
            index: config.cassandra.index,
            default: Arc::new(config.retention.default_policy()),
            creation: Creation { per_second, ..Creation::default() },
            sent: AtomicU32::new(number(SENT_NOTE)?),
            sending: Mutex::default(),
            taken: Mutex::default(),
            loaded: AtomicBool::new(cursor.is_some()),
            reloaded: AtomicU32::new(number(LOADED_NOTE)?),
            reload_interval: Some(config.cassandra.reload_interval).filter(|interval| !interval.is_zero()),
            hide_expired: config.cassandra.hide_expired,
            cursor: Mutex::new(cursor),
            strays: Mutex::default(),
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

    /// Has this server metrics that the cluster may not know yet?
    pub(super) fn has_unsent(&self, engine: &Engine) -> bool {
        self.sent.load(Ordering::Acquire) < engine.points.id_bound()
    }

    /// Must globs be looked up in the cluster?
    pub(super) fn must_ask(&self) -> bool {
        self.index != CassandraIndex::Memory || !self.loaded.load(Ordering::Acquire)
    }

    /// Does what is due. Called every second or so, and at once again if it says that there is more.
    pub(super) fn run(&self, engine: &Engine) -> bool {
        if !self.setbacks.is_over() || self.tables.pass().is_err() {
            return false;
        }
        let done = self
            .load(engine)
            .and_then(|()| self.follow(engine))
            .and_then(|()| self.touch(engine))
            .and_then(|()| self.touch_read(engine))
            .and_then(|()| self.take_strays(engine))
            .and_then(|more| Ok(self.send_new(engine, SENDING)? || more));
        engine.telemetry.names_loaded.set(u64::from(self.loaded.load(Ordering::Acquire)));
        match done {
            Ok(more) => {
                self.setbacks.went_well("the names of the cluster are in reach again");
                more
            }
            Err(error) => {
                self.setbacks.went_badly(&error);
                false
            }
        }
    }

    /// Sends metrics the cluster does not have. True if some are left after `limit`.
    pub(super) fn send_new(&self, engine: &Engine, limit: Duration) -> anyhow::Result<bool> {
        let _sending = self.sending.lock();
        let began = Instant::now();
        while began.elapsed() < limit {
            let from = self.sent.load(Ordering::Acquire);
            let (batch, until) = self.next_batch(engine, from);
            if until == from {
                return Ok(false);
            }
            let metrics: Vec<NewMetric> = batch.iter().map(|(_, metric)| metric.clone()).collect();
            let outcomes = self.names.create(&metrics, self.creation)?;
            engine.telemetry.names_delivered.add(metrics.len() as u64);
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
        Ok(true)
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

    /// Loads all metrics of the cluster, if that was not done yet or is due again.
    fn load(&self, engine: &Engine) -> anyhow::Result<()> {
        let again = self.loaded.load(Ordering::Acquire);
        // While names are still being sent the gap would only open again.
        let after_gap = self.cursor.lock().as_ref().and_then(Cursor::after_gap);
        let after_gap = after_gap.filter(|_| !self.has_unsent(engine));
        if self.index != CassandraIndex::Memory || (again && after_gap.is_none() && !self.is_reload_due()) {
            return Ok(());
        }
        let begins_anew = !again || after_gap.is_some();
        let (began, cursor) = (Instant::now(), after_gap.unwrap_or_else(Cursor::now));
        // What is sent from now on may be missed by the reading.
        let sent = self.sent.load(Ordering::Acquire);
        let Read { metrics, seen, expired } = self.read_all(engine, sent)?;
        let hidden = self.hide(engine, &expired)?;
        if begins_anew {
            self.remember(&cursor)?;
            *self.cursor.lock() = Some(cursor);
            // What was created during the reading was found in the cluster until now, and must not vanish for a moment.
            self.follow(engine)?;
        }
        if self.reload_interval.is_some() && self.nothing_waits() {
            let unseen = (0..sent).zip(seen).filter(|(_, seen)| !seen).map(|(id, _)| MetricId(id));
            self.part_with(engine, &unseen.collect::<Vec<_>>())?;
            self.store.local.set_note(LOADED_NOTE, &now().to_string())?;
        }
        // Even if points waited: reading ten million names twice at a start is not worth it.
        self.reloaded.store(now(), Ordering::Release);
        self.loaded.store(true, Ordering::Release);
        *self.strays.lock() = StrayWalk::new();
        engine.telemetry.names_loaded.set(1);
        tracing::info!(
            metrics,
            hidden,
            seconds = began.elapsed().as_secs_f64(),
            "names loaded from the cluster"
        );
        Ok(())
    }

    /// Reads all metrics of the cluster and takes those that are not known here.
    fn read_all(&self, engine: &Engine, sent: u32) -> anyhow::Result<Read> {
        let mut seen = vec![false; sent as usize];
        let mut batch = Vec::with_capacity(BATCH);
        let (mut expired, mut failed) = (Vec::new(), None);
        let metrics = self.names.load(&self.default, &mut |_| {}, &mut |listed| {
            let is_hidden = self.hide_expired && listed.is_expired();
            if let Some(id) = engine.index.read().lookup(listed.name.as_bytes()) {
                if let Some(seen) = seen.get_mut(id.0 as usize) {
                    *seen = true;
                }
                expired.extend(is_hidden.then_some(id));
                return;
            }
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
        Ok(Read { metrics, seen, expired })
    }

    /// Takes metrics that have no metadata, from the next pieces of the ring. True if there are more.
    fn take_strays(&self, engine: &Engine) -> anyhow::Result<bool> {
        let mut walk = self.strays.lock();
        if walk.is_over() {
            return Ok(false);
        }
        let known = |name: &str| engine.index.read().lookup(name.as_bytes()).is_some();
        let strays = self.names.strays(&mut walk, &self.default, known)?;
        let metrics: Vec<_> = strays.into_iter().map(|name| (name, Arc::clone(&self.default))).collect();
        self.take(engine, &metrics)?;
        Ok(!walk.is_over())
    }

    fn is_reload_due(&self) -> bool {
        let age = now().saturating_sub(self.reloaded.load(Ordering::Acquire));
        let is_due = |interval| Duration::from_secs(u64::from(age)) >= interval;
        self.reload_interval.is_some_and(is_due) && self.nothing_waits()
    }

    /// Points that wait for the cluster would go with a metric that is forgotten.
    fn nothing_waits(&self) -> bool {
        self.store.outbox.parcels().is_empty()
    }

    /// Forgets those of these metrics that are not in the cluster any more, except for those that this server writes to:
    /// they are made there again, since only an accident or an older backup can have taken them away.
    fn part_with(&self, engine: &Engine, unseen: &[MetricId]) -> anyhow::Result<()> {
        let (mut forgotten, mut made) = (0, 0);
        let alive_since = now().saturating_sub(ALIVE_SECS);
        for ids in unseen.chunks(BATCH) {
            let named: Vec<(MetricId, String)> = {
                let index = engine.index.read();
                ids.iter().filter_map(|&id| Some((id, index.name(id)?.to_owned()))).collect()
            };
            let gone =
                self.names.missing(named.iter().map(|(_, name)| name.clone()).collect(), &self.default)?;
            // What somebody deletes is told of right after it is gone, and has not vanished.
            self.follow(engine)?;
            let gone: Vec<(MetricId, String)> = {
                let index = engine.index.read();
                let vanished =
                    |(id, name): &(MetricId, String)| index.name(*id) == Some(name) && gone.contains(name);
                named.into_iter().filter(vanished).collect()
            };
            let spans = engine.points.spans(&gone.iter().map(|(id, _)| *id).collect::<Vec<_>>());
            let (mut dead, mut alive) = (Vec::new(), Vec::new());
            for ((id, name), span) in gone.into_iter().zip(spans) {
                if span != Span::EMPTY && span.last >= alive_since {
                    let policy = engine.points.state(id).and_then(|(id, _)| engine.points.policies().get(id));
                    alive.extend(policy.map(|policy| NewMetric { name, policy }));
                } else {
                    dead.push(id);
                }
            }
            self.names.create(&alive, self.creation)?;
            if !dead.is_empty() {
                engine.forget(&dead)?;
            }
            (forgotten, made) = (forgotten + dead.len(), made + alive.len());
        }
        if forgotten + made > 0 {
            tracing::warn!(forgotten, made_again = made, "metrics had vanished from the cluster");
        }
        Ok(())
    }

    /// Forgets expired metrics, but for those that were written to here meanwhile. Gives their number.
    fn hide(&self, engine: &Engine, expired: &[MetricId]) -> anyhow::Result<usize> {
        let spans = engine.points.spans(expired);
        let is_over = |(&id, span): (&MetricId, Span)| {
            let policy = engine.points.policies().get(engine.points.state(id)?.0)?;
            let kept_until = u64::from(span.last) + policy.retention.span_secs();
            (kept_until < u64::from(now())).then_some(id)
        };
        let over: Vec<MetricId> = expired.iter().zip(spans).filter_map(is_over).collect();
        if !over.is_empty() {
            engine.forget(&over)?;
        }
        Ok(over.len())
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
        self.store.local.set_note(cursor_note(self.index), &cursor.until_ms().to_string())
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
        let sent = self.sent.load(Ordering::Acquire);
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
        // What was created here a moment ago is not there yet. Of all others the cluster knows better whether they are.
        let here = engine.index.find_leaves(glob, FindLimits::series(max_hits), cancel).unwrap_or_default();
        found.extend(here.into_iter().filter(|(id, _)| id.0 >= sent));
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

/// Whoever follows deletions only must not look like one that has all names, should the index be in memory again.
fn cursor_note(index: CassandraIndex) -> &'static str {
    if index == CassandraIndex::Memory { CURSOR_NOTE } else { DELETIONS_NOTE }
}

fn limits(max_hits: usize) -> LookupLimits {
    LookupLimits { max_hits, max_rows: max_hits.saturating_mul(ROWS_PER_HIT) }
}
