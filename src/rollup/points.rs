//! The points of all metrics: accepted through the log, held in memory, cut into the store, read from both.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::deletion::Deletions;
use super::head::{Direct, Frozen, Head};
use super::policies::Policies;
use super::tally::Tally;
use super::view::Held;
use crate::log::{Log, LogError, Syncer, encode_metrics, encode_owned, encode_points, encode_policies};
use crate::planted::{Planted, is_planted};
use crate::store::{Mark, MetricStore, PointStore, StoreError};
use plumbago_model::{MetricId, MetricRecord, Point, Policy, PolicyId, QueryError, Reject, Span};

/// The server takes no more points while memory holds this many times `head_points`.
const HEAD_SLACK: usize = 4;

/// Why points could not be accepted or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PointsError {
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Cuts cannot keep up or keep failing; try again later.
    #[error(
        "{held} points wait in memory to be written to the store; the limit is {limit} (4 x store.head_points)"
    )]
    Full {
        /// Points held.
        held: usize,
        /// Points allowed.
        limit: usize,
    },
}

impl From<PointsError> for QueryError {
    fn from(error: PointsError) -> Self {
        match error {
            PointsError::Store(error) => error.into(),
            other => QueryError::Store(other.into()),
        }
    }
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Points in the log and readable.
    pub stored: u64,
    /// The places of the points that are older than the longest stage of their metric.
    pub too_old: Vec<usize>,
    /// Bytes appended to the log.
    pub log_bytes: u64,
}

/// Points not in the store yet.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) live: Head,
    pub(super) frozen: Option<Arc<Frozen>>,
}

impl Memory {
    /// When the first of the points here was accepted; `None` without points.
    pub(super) fn accepted_since(&self) -> Option<u32> {
        let frozen = self.frozen.as_ref().and_then(|frozen| frozen.accepted_since);
        self.live.accepted_since().into_iter().chain(frozen).min()
    }
}

/// See the module documentation.
pub struct Points {
    store: Arc<dyn PointStore>,
    catalogue: Arc<dyn MetricStore>,
    policies: Policies,
    /// Locked before `memory`, and held while both change, so that both have the same order.
    log: Mutex<Log>,
    syncer: Syncer,
    memory: Mutex<Memory>,
    head_points: usize,
    /// Where aggregated stages of policies begin that have no mark in the store yet.
    first_marks: RwLock<HashMap<(PolicyId, usize), u32>>,
    /// Metrics not in the catalogue yet.
    pub(super) created: Mutex<Vec<MetricRecord>>,
    /// Of these and earlier ones, those whose owners are not in the catalogue yet.
    pub(super) owned: Mutex<Vec<(MetricId, String)>>,
    pub(super) new_policies: Mutex<Vec<(PolicyId, Policy)>>,
    /// Each metric's span as the catalogue has it, so that only longer ones are written.
    pub(super) recorded: Mutex<Vec<Span>>,
    /// One cut at a time.
    pub(super) cutting: Mutex<()>,
    pub(super) deletions: Deletions,
    /// Locked before `memory`.
    pub(super) tally: Mutex<Tally>,
}

impl Points {
    /// Without metrics; [`Points::open`] adds those of the catalogue and the log.
    pub(super) fn empty(
        store: Arc<dyn PointStore>,
        catalogue: Arc<dyn MetricStore>,
        log: Log,
        head_points: usize,
    ) -> Self {
        Self {
            store,
            catalogue,
            policies: Policies::default(),
            syncer: log.syncer(),
            log: Mutex::new(log),
            memory: Mutex::default(),
            head_points: head_points.max(1),
            first_marks: RwLock::default(),
            created: Mutex::default(),
            owned: Mutex::default(),
            new_policies: Mutex::default(),
            recorded: Mutex::default(),
            cutting: Mutex::default(),
            deletions: Deletions::default(),
            tally: Mutex::default(),
        }
    }

    /// The policies in use.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The number of a policy; a new one is logged before it is used.
    pub fn intern_policy(&self, policy: &Policy, now: u32) -> Result<PolicyId, PointsError> {
        let mut log = self.log.lock();
        if let Some(id) = self.policies.number(policy) {
            return Ok(id);
        }
        let id = self.policies.next();
        let mut frame = Vec::new();
        encode_policies(&[(id, policy.clone())], &mut frame);
        if !is_planted(Planted::PolicyNotLogged) {
            // If this fails, the next one to ask finds the policy as new as it was.
            log.append(&frame)?;
        }
        self.begin_marks(id, policy, now);
        self.policies.restore(id, policy.clone());
        self.new_policies.lock().push((id, policy.clone()));
        Ok(id)
    }

    /// Logs new metrics and makes room for their points.
    ///
    /// This holds the lock of the log to the end, and a cut takes the same lock before it starts a new segment. So a cut finds a
    /// metric in the log and in `created`, or in neither, and never removes a segment with a metric that it has not recorded.
    pub fn create(&self, metrics: &[(MetricId, PolicyId, &str)], now: u32) -> Result<(), PointsError> {
        self.create_owned(metrics, &[], now)
    }

    /// The same, with the quotas for which some of them count because of who creates them.
    pub fn create_owned(
        &self,
        metrics: &[(MetricId, PolicyId, &str)],
        owners: &[(MetricId, String)],
        now: u32,
    ) -> Result<(), PointsError> {
        let mut frame = Vec::new();
        encode_metrics(metrics.iter().copied(), &mut frame);
        if !owners.is_empty() {
            encode_owned(owners, &mut frame);
        }
        // 1. The log: from here on they survive a crash.
        let mut log = self.log.lock();
        log.append(&frame)?;
        // 2. The store learns their names; the next cut records them.
        let announced: Vec<(MetricId, &str)> = metrics.iter().map(|&(id, _, name)| (id, name)).collect();
        self.catalogue.announce(&announced, now);
        let record = |&(id, policy, name): &(MetricId, PolicyId, &str)| MetricRecord {
            id,
            name: name.to_owned(),
            policies: vec![policy],
            span: Span::EMPTY,
        };
        let mut memory = self.memory.lock();
        self.owned.lock().extend_from_slice(owners);
        self.created.lock().extend(metrics.iter().map(record));
        // 3. Memory has room for their points.
        for &(id, policy, _) in metrics {
            memory.live.add_metric(id, policy, Span::EMPTY);
        }
        Ok(())
    }

    /// Accepts points of metrics that are not deleted meanwhile. After an error, nothing was accepted.
    pub fn append(&self, points: &[(MetricId, Point)], now: u32) -> Result<Appended, PointsError> {
        Ok(self.append_if(|| true, points, now)?.unwrap_or_default())
    }

    /// Accepts points of metrics that were looked up under this number of [`Points::deletions`]. `None` if one of them may have
    /// been deleted since; then nothing was accepted, and the names have to be looked up again.
    pub fn append_since(
        &self,
        points: &[(MetricId, Point)],
        deletions: u64,
        now: u32,
    ) -> Result<Option<Appended>, PointsError> {
        self.append_if(|| !self.deletions.outdates(deletions), points, now)
    }

    /// Accepts points if `are_there` says so while nothing can be deleted.
    fn append_if(
        &self,
        are_there: impl Fn() -> bool,
        points: &[(MetricId, Point)],
        now: u32,
    ) -> Result<Option<Appended>, PointsError> {
        if points.is_empty() {
            return Ok(Some(Appended::default()));
        }
        let fresh_after = self.fresh_after(now);
        if !points.iter().all(|(_, p)| p.timestamp >= fresh_after) {
            // A metric's policy says which stage takes a point, and must not change before the point is in memory.
            let log = &mut self.log.lock();
            return are_there().then(|| self.append_old(log, points, now)).transpose();
        }
        let mut frame = Vec::new();
        encode_points(points, now, &mut frame);
        let log = &mut self.log.lock();
        are_there().then(|| self.accept(log, &frame, points, Vec::new(), now)).transpose()
    }

    /// Accepts points of which some may be too old for stage 0.
    fn append_old(
        &self,
        log: &mut Log,
        points: &[(MetricId, Point)],
        now: u32,
    ) -> Result<Appended, PointsError> {
        let Placed { raw, direct, too_old } = self.place(points, now);
        if raw.is_empty() && direct.is_empty() {
            return Ok(Appended { too_old, ..Appended::default() });
        }
        let mut all = raw.clone();
        all.extend(direct.iter().map(|(id, d)| (*id, d.point)));
        let mut frame = Vec::new();
        encode_points(&all, now, &mut frame);
        let appended = self.accept(log, &frame, &raw, direct, now)?;
        Ok(Appended { too_old, ..appended })
    }

    /// Appends a frame to the log, and its points to memory.
    fn accept(
        &self,
        log: &mut Log,
        frame: &[u8],
        raw: &[(MetricId, Point)],
        direct: Vec<(MetricId, Direct)>,
        now: u32,
    ) -> Result<Appended, PointsError> {
        let limit = self.head_points.saturating_mul(HEAD_SLACK);
        let held = self.held();
        if held > limit {
            return Err(PointsError::Full { held, limit });
        }
        let appended = log.append(frame);
        if !is_planted(Planted::FailedAppendStored) {
            appended?;
        }
        let stored = (raw.len() + direct.len()) as u64;
        let mut memory = self.memory.lock();
        memory.live.note_accepted(now);
        for &(id, point) in raw {
            memory.live.push(id, point);
        }
        for (id, direct) in direct {
            if is_planted(Planted::LatePointTwice) {
                memory.live.push_direct(id, direct);
            }
            memory.live.push_direct(id, direct);
        }
        Ok(Appended { stored, too_old: Vec::new(), log_bytes: frame.len() as u64 })
    }

    /// Points younger than this go to stage 0 under every policy.
    fn fresh_after(&self, now: u32) -> u32 {
        let shortest = self.policies.shortest_raw_span();
        u32::try_from(u64::from(now).saturating_sub(shortest)).unwrap_or(u32::MAX)
    }

    /// Sorts points by the stage that takes them.
    fn place(&self, points: &[(MetricId, Point)], now: u32) -> Placed {
        let memory = self.memory.lock();
        let mut found =
            Placed { raw: Vec::with_capacity(points.len()), direct: Vec::new(), too_old: Vec::new() };
        for (at, &(id, point)) in points.iter().enumerate() {
            let policy = memory.live.state(id).and_then(|s| self.policies.get(s.policy));
            match policy.and_then(|p| placed(&p, point.timestamp, now)) {
                Some(0) => found.raw.push((id, point)),
                Some(level) => found.direct.push((id, Direct { level, point })),
                None => found.too_old.push(at),
            }
        }
        found
    }

    /// The reason for every point that [`Points::append`] leaves out.
    pub const LEFT_OUT: Reject = Reject::TooOld;

    /// Makes everything accepted so far survive a loss of power. True if there was something to sync.
    pub fn sync(&self) -> Result<bool, PointsError> {
        Ok(self.syncer.sync()?)
    }

    /// Points in memory.
    pub fn held(&self) -> usize {
        let memory = self.memory.lock();
        memory.live.len() + memory.frozen.as_ref().map_or(0, |f| f.len())
    }

    /// Is it time for a cut because of memory?
    pub fn wants_cut(&self) -> bool {
        self.memory.lock().live.len() >= self.head_points
    }

    /// Every metric's id is below this.
    pub fn id_bound(&self) -> u32 {
        self.memory.lock().live.id_bound()
    }

    /// The policy of a metric, and when it has data.
    pub fn state(&self, id: MetricId) -> Option<(PolicyId, Span)> {
        self.memory.lock().live.state(id).map(|s| (s.policy, s.span))
    }

    /// Does memory hold points of a metric?
    pub fn holds(&self, id: MetricId) -> bool {
        let memory = self.memory.lock();
        !memory.live.is_empty_of(id) || memory.frozen.as_ref().is_some_and(|frozen| !frozen.is_empty_of(id))
    }

    /// Policy and span of those metrics of a range of ids that are there; takes the lock once for all.
    pub fn states(&self, ids: Range<u32>) -> Vec<(MetricId, PolicyId, Span)> {
        let memory = self.memory.lock();
        let state = |id| memory.live.state(id).map(|s| (id, s.policy, s.span));
        ids.map(MetricId).filter_map(state).collect()
    }

    /// Are there metrics or policies that are in the log but not in the catalogue?
    pub fn has_unrecorded(&self) -> bool {
        !self.created.lock().is_empty() || !self.new_policies.lock().is_empty()
    }

    /// The span of each metric; takes the lock once for all.
    pub fn spans(&self, ids: &[MetricId]) -> Vec<Span> {
        let memory = self.memory.lock();
        ids.iter().map(|&id| memory.live.state(id).map_or(Span::EMPTY, |s| s.span)).collect()
    }

    /// The spans of all metrics of a range of ids, in the place of those in `spans`. Where most of them are wanted this is quicker.
    pub fn spans_within(&self, ids: Range<u32>, spans: &mut Vec<Span>) {
        spans.clear();
        spans.reserve(ids.len());
        spans.extend(self.memory.lock().live.spans(ids));
    }

    /// Drops metrics from memory only, as a replay of the log does.
    pub(super) fn forget(&self, ids: &[MetricId]) {
        let mut memory = self.memory.lock();
        let gone: HashSet<MetricId> = ids.iter().copied().collect();
        self.created.lock().retain(|m| !gone.contains(&m.id));
        self.owned.lock().retain(|(id, _)| !gone.contains(id));
        for &id in ids {
            memory.live.remove_metric(id);
        }
    }

    pub(super) fn memory(&self) -> Held<'_> {
        self.memory.lock()
    }

    pub(super) fn log(&self) -> parking_lot::MutexGuard<'_, Log> {
        self.log.lock()
    }

    pub(super) fn store(&self) -> &dyn PointStore {
        &*self.store
    }

    pub(super) fn catalogue(&self) -> &dyn MetricStore {
        &*self.catalogue
    }

    /// The aggregated stages of a new policy begin now: points for earlier slots count as late.
    pub(super) fn begin_marks(&self, id: PolicyId, policy: &Policy, now: u32) {
        let mut marks = self.first_marks.write();
        for (level, stage) in policy.retention.stages().iter().enumerate().skip(1) {
            marks.insert((id, level), stage.floor(now));
        }
    }

    /// `marks`, and the first marks of policies that have none there: a commit must record where their stages begin.
    pub(super) fn marks_with(&self, mut marks: Vec<Mark>) -> Vec<Mark> {
        for (&(policy, level), &until) in self.first_marks.read().iter() {
            let level = level as u32;
            if !marks.iter().any(|m| m.policy == policy && m.level == level) {
                marks.push(Mark { policy, level, until });
            }
        }
        marks.sort_unstable();
        marks
    }

    pub(super) fn first_mark(&self, id: PolicyId, level: usize) -> u32 {
        self.first_marks.read().get(&(id, level)).copied().unwrap_or(0)
    }
}

/// Points by the stage that takes them.
struct Placed {
    raw: Vec<(MetricId, Point)>,
    direct: Vec<(MetricId, Direct)>,
    /// The places of those that are too old for every stage.
    too_old: Vec<usize>,
}

/// The stage that takes a point: 0, a coarser one if the point is too old for stage 0, or none.
pub(super) fn placed(policy: &Policy, timestamp: u32, now: u32) -> Option<usize> {
    let age = u64::from(now.saturating_sub(timestamp));
    policy.retention.stages().iter().position(|s| s.covers_age(age))
}
