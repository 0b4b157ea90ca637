//! One metric in an embedded store: what the tests of the rollups are made with.

use std::sync::Arc;

use super::view::View;
use super::{Names, Points};
use crate::store::embedded::Embedded;
use crate::store::{Column, Mark};
use plumbago_model::{MetricId, Partial, Point, Policy, PolicyId, SlotRange, Window};

pub(super) const METRIC: MetricId = MetricId(0);
pub(super) const POLICY: PolicyId = PolicyId(0);
/// The start of an hour, and so of a slot of every stage here.
pub(super) const HOUR: u32 = 1_699_999_200;
pub(super) const NOW: u32 = HOUR + 1800;

pub(super) struct NoNames;

impl Names for NoNames {
    fn knows(&self, _: &str) -> bool {
        false
    }

    fn add(&mut self, _: MetricId, _: &str) {}

    fn remove(&mut self, _: MetricId) {}

    fn rename(&mut self, _: MetricId, _: &str) -> bool {
        true
    }
}

/// One metric in an embedded store.
pub(super) struct Bench {
    pub(super) points: Points,
    pub(super) store: Embedded,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(dir.path()).unwrap();
        let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
        let opened = Points::open(blocks, catalogue, &store.log_dir, 1000, NOW, &mut NoNames).unwrap();
        let points = opened.points;
        assert_eq!(points.intern_policy(&policy.parse().unwrap(), NOW).unwrap(), POLICY);
        points.create(&[(METRIC, POLICY, "a")], NOW).unwrap();
        Self { points, store, _dir: dir }
    }

    /// Puts slots into the store as they are.
    pub(super) fn put(&self, level: usize, slots: &[(u32, f64, u32)]) {
        let policy = self.points.policies().get(POLICY).unwrap();
        let mut column = Column::default();
        for &(time, value, count) in slots {
            column.push_partial(time, Partial { value, count });
        }
        if level == 0 {
            column.counts.clear();
        }
        let mut position = self.store.points.snapshot().position().clone();
        let mut cut = self.store.points.begin().unwrap();
        cut.put(policy.retention.stages()[level], METRIC, policy.aggregator, &column).unwrap();
        position.cut += 1;
        cut.commit(position).unwrap();
    }

    /// Moves the mark of a stage.
    pub(super) fn mark(&self, level: u32, until: u32) {
        let mut position = self.store.points.snapshot().position().clone();
        position.marks.retain(|mark| mark.level != level);
        position.marks.push(Mark { policy: POLICY, level, until });
        position.cut += 1;
        self.store.points.begin().unwrap().commit(position).unwrap();
    }

    pub(super) fn append(&self, timestamp: u32, value: f64) {
        let point = Point { timestamp, value };
        assert_eq!(self.points.append(&[(METRIC, point)], NOW).unwrap().stored, 1);
    }

    /// The metric gets another policy, as if it had had it from the start.
    pub(super) fn correct(&self, policy: &str) {
        let policy = self.points.intern_policy(&policy.parse().unwrap(), NOW).unwrap();
        self.points.correct_policies(&[(METRIC, policy)], NOW).unwrap();
    }

    /// The metric moves to another policy.
    pub(super) fn move_to(&self, policy: &str) {
        let policy = self.points.intern_policy(&policy.parse().unwrap(), NOW).unwrap();
        self.points.move_to(&[(METRIC, policy)], NOW).unwrap();
    }

    /// The policy in force.
    fn policy(&self) -> (PolicyId, Arc<Policy>) {
        let (id, _) = self.points.state(METRIC).unwrap();
        (id, self.points.policies().get(id).unwrap())
    }

    pub(super) fn view(&self) -> View<'_> {
        View::open(&self.points, self.policy(), vec![METRIC], (0, u32::MAX))
    }

    /// Value and count of the slot of a stage that holds `time`.
    pub(super) fn slot(&self, level: usize, time: u32) -> (f64, u32) {
        of_slot(self.view().read(level, self.one(level, time)).unwrap())
    }

    pub(super) fn one(&self, level: usize, time: u32) -> SlotRange {
        let stage = self.policy().1.retention.stages()[level];
        SlotRange { start: stage.floor(time), step: stage.step_secs, len: 1 }
    }
}

/// Value and count of the first slot.
pub(super) fn of_slot(windows: Vec<Window>) -> (f64, u32) {
    let partial = windows[0].partial(0);
    (partial.value, partial.count())
}
