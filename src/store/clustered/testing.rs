//! A server and a cluster without either: what the tests of the parts talk to.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI16, Ordering};

use parking_lot::Mutex;
use uuid::Uuid;

use super::deliverer::{RowDelivery, RowWriter};
use super::follower::Follower;
use super::name_sender::NameSender;
use super::notes::Notes;
use super::remover::Eraser;
use super::tables::{IsKnown, NameTables};
use super::{Clustered, WriterNumber};
use crate::store::cassandra::names::{
    Change, Cursor, Listed, LookupError, LookupLimits, NewMetric, Outcome, StrayWalk,
};
use crate::store::cassandra::{Cluster, ClusterError, Fault, Settings};
use crate::store::{Column, Described, Hit, LocalMetrics, Position, RunningVisitor, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{Aggregator, Cancel, MetricId, Policy, QueryError, Span, Stage, Stretch};

/// A policy that keeps an hour.
pub(super) fn policy() -> Arc<Policy> {
    Arc::new("60*60s|sum|0".parse().unwrap())
}

/// A policy that keeps a day.
pub(super) fn other_policy() -> Arc<Policy> {
    Arc::new("1440*60s|sum|0".parse().unwrap())
}

/// A data directory in front of a cluster that is never spoken to.
pub(super) fn clustered() -> (tempfile::TempDir, Arc<Clustered>) {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Arc::new(Cluster::new(Settings::default()).unwrap());
    let store = Arc::new(Clustered::open(dir.path(), &cluster, 1).unwrap());
    (dir, store)
}

/// A follower of the feed on a server that has sent the metrics before this id.
pub(super) fn follower(
    tables: &Arc<FakeTables>,
    store: &Arc<Clustered>,
    sent: u32,
    all_names: bool,
) -> Arc<Follower> {
    Notes(&store.local).set_names_sent(sent).unwrap();
    let (tables, adopted): (Arc<dyn NameTables>, _) = (Arc::<FakeTables>::clone(tables), Arc::default());
    let sender =
        NameSender::new(Arc::clone(&tables), Arc::clone(&adopted), Arc::clone(store), Arc::default());
    let sender = Arc::new(sender.unwrap());
    Arc::new(Follower::new(tables, adopted, sender, Arc::clone(store), all_names).unwrap())
}

/// Cuts one value of a metric, which goes into the spool.
pub(super) fn commit(store: &Clustered, cut: u64, metric: MetricId, value: f64) {
    let stage = policy().retention.stages()[0];
    let mut begun = store.points.begin().unwrap();
    let column = Column { times: vec![60 * cut as u32], values: vec![value], counts: Vec::new() };
    begun.put(stage, metric, Aggregator::Sum, &column).unwrap();
    begun.commit(Position { cut, ..Position::default() }).unwrap();
}

/// What a cluster that is away answers.
pub(super) fn away() -> StoreError {
    ClusterError::new(Fault::Unreachable, "reach the cluster", "it is away").into()
}

/// The metrics of a server, by id.
#[derive(Default)]
pub(super) struct FakeServer {
    metrics: Mutex<Vec<Described>>,
    /// Today's value, for the metrics that have one.
    today: Mutex<BTreeMap<MetricId, f64>>,
    /// The stretches that were erased, and of which metrics.
    pub(super) erased: Mutex<Vec<(Vec<MetricId>, Stretch)>>,
    /// Is there no room for another metric?
    pub(super) is_full: AtomicBool,
}

/// The stage of the values of [`FakeServer::set_today`].
pub(super) fn days() -> Stage {
    "60*86400s_aggr".parse().unwrap()
}

impl FakeServer {
    /// A server that created these metrics itself.
    pub(super) fn with(names: &[&str]) -> Self {
        let server = Self::default();
        for name in names {
            server.create(name);
        }
        server
    }

    pub(super) fn create(&self, name: &str) -> MetricId {
        self.push(Described::Known { name: name.to_owned(), policy: policy(), span: Span::EMPTY })
    }

    /// A metric that is being created at this moment.
    pub(super) fn begin_to_create(&self) -> MetricId {
        self.push(Described::Unnamed)
    }

    fn push(&self, described: Described) -> MetricId {
        let mut metrics = self.metrics.lock();
        metrics.push(described);
        MetricId(metrics.len() as u32 - 1)
    }

    /// A point of this time comes in.
    pub(super) fn write(&self, id: MetricId, time: u32) {
        if let Some(Described::Known { span, .. }) = self.metrics.lock().get_mut(id.index()) {
            *span = Span { first: time, last: time };
        }
    }

    /// What the running day of a metric comes to.
    pub(super) fn set_today(&self, id: MetricId, value: f64) {
        self.today.lock().insert(id, value);
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.metrics.lock().iter().filter_map(|described| name_of(described).map(str::to_owned)).collect()
    }

    pub(super) fn policy_of(&self, id: MetricId) -> Option<Arc<Policy>> {
        match self.metrics.lock().get(id.index()) {
            Some(Described::Known { policy, .. }) => Some(Arc::clone(policy)),
            _ => None,
        }
    }

    fn matching(&self, glob: &Glob) -> Vec<(MetricId, String)> {
        let metrics = self.metrics.lock();
        let named = (0..).map(MetricId).zip(metrics.iter());
        let matching = named.filter_map(|(id, described)| Some((id, name_of(described)?.to_owned())));
        matching.filter(|(_, name)| glob.matches(name)).collect()
    }
}

fn name_of(described: &Described) -> Option<&str> {
    match described {
        Described::Known { name, .. } => Some(name),
        Described::Gone | Described::Unnamed => None,
    }
}

impl LocalMetrics for FakeServer {
    fn id_bound(&self) -> u32 {
        self.metrics.lock().len() as u32
    }

    fn lookup(&self, name: &str) -> Option<MetricId> {
        let metrics = self.metrics.lock();
        let at = metrics.iter().position(|described| name_of(described) == Some(name))?;
        Some(MetricId(at as u32))
    }

    fn describe(&self, ids: &[MetricId]) -> Vec<Described> {
        let metrics = self.metrics.lock();
        ids.iter().map(|id| metrics.get(id.index()).cloned().unwrap_or(Described::Gone)).collect()
    }

    fn find(&self, glob: &Glob, _: usize, _: &Cancel) -> Result<Vec<Hit>, QueryError> {
        let hit = |(_, path)| Hit { path, leaf: true, directory: false };
        Ok(self.matching(glob).into_iter().map(hit).collect())
    }

    fn find_leaves(&self, glob: &Glob, _: usize, _: &Cancel) -> Result<Vec<(MetricId, String)>, QueryError> {
        Ok(self.matching(glob))
    }

    fn learn(&self, metrics: &[(String, Arc<Policy>)]) -> Result<Vec<MetricId>, StoreError> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(StoreError::Refused("the disk is full".to_owned()));
        }
        let unknown = metrics.iter().filter(|(name, _)| self.lookup(name).is_none());
        let learn = |(name, policy): &(String, Arc<Policy>)| {
            let (name, policy) = (name.clone(), Arc::clone(policy));
            self.push(Described::Known { name, policy, span: Span::EMPTY })
        };
        Ok(unknown.map(learn).collect())
    }

    fn change_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError> {
        let mut metrics = self.metrics.lock();
        for (id, new) in changes {
            if let Some(Described::Known { policy, .. }) = metrics.get_mut(id.index()) {
                *policy = Arc::clone(new);
            }
        }
        Ok(())
    }

    fn policy(&self, id: MetricId) -> Option<Arc<Policy>> {
        self.policy_of(id)
    }

    fn follow_policies(&self, changes: &[(MetricId, Arc<Policy>)]) -> Result<(), StoreError> {
        self.change_policies(changes)
    }

    fn forget(&self, ids: &[MetricId]) -> Result<(), StoreError> {
        let mut metrics = self.metrics.lock();
        for id in ids {
            if let Some(described) = metrics.get_mut(id.index()) {
                *described = Described::Gone;
            }
        }
        Ok(())
    }

    fn erase(&self, ids: &[MetricId], stretch: Stretch) -> Result<(), StoreError> {
        self.erased.lock().push((ids.to_vec(), stretch));
        Ok(())
    }

    fn visit_running(
        &self,
        metrics: &[MetricId],
        least_step_secs: u32,
        visit: &mut RunningVisitor<'_>,
    ) -> Result<(), StoreError> {
        let today = self.today.lock();
        let there = self.describe(metrics).into_iter().zip(metrics).filter(|(it, _)| *it != Described::Gone);
        for (_, id) in there.filter(|_| days().step_secs >= least_step_secs) {
            if let Some(&value) = today.get(id) {
                let column = Column { times: vec![0], values: vec![value], counts: vec![1] };
                visit(days(), *id, Aggregator::Sum, &column)?;
            }
        }
        Ok(())
    }
}

/// A row as it came to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) stamp_us: i64,
    pub(super) stage: Stage,
    pub(super) metric: Uuid,
    pub(super) time: u32,
    pub(super) value: f64,
}

/// A row that was deleted: where it was, its slot, and when.
type Removed = (Stage, Uuid, u32, i64);

/// The tables of points in a cluster.
#[derive(Default, Clone)]
pub(super) struct FakeRows {
    /// In the order in which they came.
    pub(super) arrived: Arc<Mutex<Vec<Row>>>,
    /// Metrics that were deleted, and when.
    erased: Arc<Mutex<Vec<(Uuid, i64)>>>,
    /// Single rows that were deleted, and when.
    pub(super) removed: Arc<Mutex<Vec<Removed>>>,
    /// Stretches of time that were deleted, and when.
    pub(super) stretches: Arc<Mutex<Vec<(Uuid, Stretch, i64)>>>,
    /// The cluster takes rows and then fails.
    pub(super) is_away: Arc<AtomicBool>,
}

impl FakeRows {
    /// What a reader sees: of the rows in one place the one with the latest stamp, unless the metric was deleted later.
    pub(super) fn read(&self, stage: Stage, metric: Uuid, time: u32) -> Option<f64> {
        let arrived = self.arrived.lock();
        let there = arrived.iter().filter(|row| (row.stage, row.metric, row.time) == (stage, metric, time));
        let last = there.max_by_key(|row| row.stamp_us)?;
        let is_erased = |&(erased, at_us): &(Uuid, i64)| erased == metric && at_us >= last.stamp_us;
        (!self.erased.lock().iter().any(is_erased)).then_some(last.value)
    }

    /// Somebody deletes a metric at this time.
    pub(super) fn erase_at(&self, metric: Uuid, at_us: i64) {
        self.erased.lock().push((metric, at_us));
    }

    pub(super) fn values(&self) -> Vec<f64> {
        self.arrived.lock().iter().map(|row| row.value).collect()
    }
}

struct FakeDelivery<'a> {
    rows: &'a FakeRows,
    stamp_us: i64,
    count: Cell<u64>,
}

impl RowWriter for FakeRows {
    fn begin(&self, _: i16, stamp_us: i64) -> Box<dyn RowDelivery + '_> {
        Box::new(FakeDelivery { rows: self, stamp_us, count: Cell::new(0) })
    }

    fn stop(&self) {}
}

impl RowDelivery for FakeDelivery<'_> {
    fn put(&self, stage: Stage, metric: Uuid, _: Aggregator, column: &Column) -> Result<(), StoreError> {
        let stamp_us = self.stamp_us;
        for (&time, &value) in column.times.iter().zip(&column.values) {
            self.rows.arrived.lock().push(Row { stamp_us, stage, metric, time, value });
            self.count.set(self.count.get() + 1);
        }
        Ok(())
    }

    fn remove(&self, stage: Stage, metric: Uuid, times: &[u32]) -> Result<(), StoreError> {
        let gone = times.iter().map(|&time| (stage, metric, time, self.stamp_us));
        self.rows.removed.lock().extend(gone);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64, StoreError> {
        if self.rows.is_away.load(Ordering::Relaxed) { Err(away()) } else { Ok(self.count.get()) }
    }
}

impl Eraser for FakeRows {
    fn erase(&self, metrics: &[(Uuid, Vec<Stage>)], _: u32, at_us: i64) -> Result<(), StoreError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(away());
        }
        metrics.iter().for_each(|(metric, _)| self.erase_at(*metric, at_us));
        Ok(())
    }

    fn erase_stretch(
        &self,
        metrics: &[(Uuid, Vec<Stage>)],
        stretch: Stretch,
        _: u32,
        at_us: i64,
    ) -> Result<u64, StoreError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(away());
        }
        self.stretches.lock().extend(metrics.iter().map(|(metric, _)| (*metric, stretch, at_us)));
        Ok(metrics.len() as u64)
    }
}

/// The number 5, or the one that the test says the cluster gives.
#[derive(Clone)]
pub(super) struct FakeNumber {
    pub(super) shard: Arc<AtomicI16>,
    pub(super) is_held: Arc<AtomicBool>,
}

impl Default for FakeNumber {
    fn default() -> Self {
        Self { shard: Arc::new(AtomicI16::new(5)), is_held: Arc::default() }
    }
}

impl WriterNumber for FakeNumber {
    fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    fn shard(&self) -> Result<i16, StoreError> {
        self.is_held.store(true, Ordering::Relaxed);
        Ok(self.shard.load(Ordering::Relaxed))
    }

    fn release(&self) {
        self.is_held.store(false, Ordering::Relaxed);
    }
}

/// The names in a cluster, and what it was asked to do.
#[derive(Default)]
pub(super) struct FakeTables {
    pub(super) metrics: Mutex<BTreeMap<String, Arc<Policy>>>,
    /// What the feed will say when it is read next.
    pub(super) feed: Mutex<Vec<Change>>,
    /// What it has said, by where the reading began.
    pub(super) said: Mutex<BTreeMap<i64, Vec<Change>>>,
    /// Names as they were created, call by call.
    pub(super) created: Mutex<Vec<Vec<String>>>,
    pub(super) marked_read: Mutex<Vec<String>>,
    pub(super) marked_written: Mutex<Vec<String>>,
    /// When metrics were last used, for those that a test says it of.
    pub(super) used_ms: Mutex<BTreeMap<String, i64>>,
    /// Stretches of time that others were told to erase.
    pub(super) told_erased: Mutex<Vec<(Vec<String>, Stretch)>>,
    pub(super) is_away: AtomicBool,
}

impl FakeTables {
    pub(super) fn with(names: &[&str]) -> Arc<Self> {
        let tables = Self::default();
        tables.metrics.lock().extend(names.iter().map(|name| ((*name).to_owned(), policy())));
        Arc::new(tables)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_away.load(Ordering::Relaxed) { Err(away()) } else { Ok(()) }
    }
}

impl NameTables for FakeTables {
    fn create(&self, metrics: &[NewMetric]) -> Result<Vec<Outcome>, StoreError> {
        self.check()?;
        let mut known = self.metrics.lock();
        self.created.lock().push(metrics.iter().map(|metric| metric.name.clone()).collect());
        let create = |metric: &NewMetric| match known.get(&metric.name) {
            Some(policy) => Outcome::Existed(Arc::clone(policy)),
            None => {
                known.insert(metric.name.clone(), Arc::clone(&metric.policy));
                Outcome::Created
            }
        };
        Ok(metrics.iter().map(create).collect())
    }

    fn delete(&self, names: &[String]) -> Result<(), StoreError> {
        self.metrics.lock().retain(|name, _| !names.contains(name));
        Ok(())
    }

    fn change_policies(&self, metrics: &[NewMetric]) -> Result<(), StoreError> {
        self.check()?;
        let mut known = self.metrics.lock();
        for metric in metrics {
            known.entry(metric.name.clone()).and_modify(|policy| *policy = Arc::clone(&metric.policy));
        }
        Ok(())
    }

    fn tell_erased(&self, names: &[String], stretch: Stretch) -> Result<(), StoreError> {
        self.check()?;
        self.told_erased.lock().push((names.to_vec(), stretch));
        Ok(())
    }

    fn load(&self, visit: &mut dyn FnMut(Listed)) -> Result<u64, StoreError> {
        self.check()?;
        let (metrics, used) = (self.metrics.lock(), self.used_ms.lock());
        for (name, policy) in &*metrics {
            let (name, policy, used_ms) = (name.clone(), Arc::clone(policy), used.get(name).copied());
            visit(Listed { name, policy, used_ms });
        }
        Ok(metrics.len() as u64)
    }

    fn missing(&self, names: Vec<String>) -> Result<HashSet<String>, StoreError> {
        let metrics = self.metrics.lock();
        Ok(names.into_iter().filter(|name| !metrics.contains_key(name)).collect())
    }

    fn changes(&self, cursor: &mut Cursor, _: IsKnown<'_>) -> Result<Vec<Change>, StoreError> {
        self.check()?;
        let (from_ms, mut said) = (cursor.until_ms(), self.said.lock());
        said.entry(from_ms).or_default().append(&mut self.feed.lock());
        *cursor = Cursor::since(from_ms + 1);
        Ok(said.range(from_ms..).flat_map(|(_, changes)| changes.clone()).collect())
    }

    fn strays(&self, walk: &mut StrayWalk, _: IsKnown<'_>) -> Result<Vec<String>, StoreError> {
        *walk = StrayWalk::default();
        Ok(vec!["stray".to_owned()])
    }

    fn policies(&self, names: &[String]) -> Result<BTreeMap<String, Arc<Policy>>, StoreError> {
        let metrics = self.metrics.lock();
        Ok(names
            .iter()
            .filter_map(|name| metrics.get_key_value(name))
            .map(|(n, p)| (n.clone(), Arc::clone(p)))
            .collect())
    }

    fn touch_read(&self, names: &[String]) -> Result<(), StoreError> {
        self.check()?;
        self.marked_read.lock().extend_from_slice(names);
        Ok(())
    }

    fn touch_updated(&self, names: &[String]) -> Result<(), StoreError> {
        self.check()?;
        self.marked_written.lock().extend_from_slice(names);
        Ok(())
    }

    fn find(&self, glob: &Glob, _: LookupLimits, _: &Cancel) -> Result<Vec<Hit>, LookupError> {
        let metrics = self.metrics.lock();
        let matching = metrics.keys().filter(|name| glob.matches(name));
        Ok(matching.map(|name| Hit { path: name.clone(), leaf: true, directory: false }).collect())
    }

    fn find_leaves(&self, glob: &Glob, _: LookupLimits, _: &Cancel) -> Result<Vec<String>, LookupError> {
        Ok(self.metrics.lock().keys().filter(|name| glob.matches(name)).cloned().collect())
    }
}
