//! Claims about slots: one function per sentence of the contract.

use plumbago::store::{Column, Mark, Position};
use plumbago_model::{Aggregator, MetricId, Partial, PolicyId, SlotRange, Stage, Window};

use super::Subject;

fn raw() -> Stage {
    "8640*10s_0".parse().unwrap()
}

fn aggregated() -> Stage {
    "720*3600s_aggr".parse().unwrap()
}

fn column(slots: &[(u32, f64)]) -> Column {
    let (times, values) = slots.iter().copied().unzip();
    Column { times, values, counts: Vec::new() }
}

fn commit(subject: &dyn Subject, stage: Stage, columns: &[(u32, Column)], method: Aggregator) {
    let position = subject.points().snapshot().position().clone();
    let mut cut = subject.points().begin().unwrap();
    for (metric, column) in columns {
        cut.put(stage, MetricId(*metric), method, column).unwrap();
    }
    cut.commit(Position { cut: position.cut + 1, ..position }).unwrap();
}

fn commit_raw(subject: &dyn Subject, metric: u32, slots: &[(u32, f64)]) {
    commit(subject, raw(), &[(metric, column(slots))], Aggregator::Average);
}

fn read(subject: &dyn Subject, stage: Stage, metric: u32, from: u32, until: u32) -> Window {
    let range = SlotRange::between(from, until, stage.step_secs);
    let asked = [(MetricId(metric), Aggregator::Average)];
    subject.points().snapshot().read(stage, &asked, range).unwrap().remove(0)
}

/// The known slots of a raw window.
fn known(window: &Window) -> Vec<(u32, f64)> {
    let slots = window.values.iter().enumerate().filter(|(_, v)| !v.is_nan());
    slots.map(|(at, &v)| (window.range.time(at), v)).collect()
}

/// 1. A cut is all or nothing.
pub(crate) fn a_cut_is_invisible_until_its_commit_and_durable_after_it(mut subject: impl Subject) {
    commit_raw(&subject, 1, &[(100, 1.0)]);
    {
        let mut cut = subject.points().begin().unwrap();
        cut.put(raw(), MetricId(1), Aggregator::Average, &column(&[(110, 2.0)])).unwrap();
        assert_eq!(known(&read(&subject, raw(), 1, 0, 1000)), [(100, 1.0)]);
        // Dropped without a commit: nothing of it may stay.
    }
    assert_eq!(known(&read(&subject, raw(), 1, 0, 1000)), [(100, 1.0)]);
    commit_raw(&subject, 1, &[(120, 3.0)]);
    subject.reopen();
    assert_eq!(known(&read(&subject, raw(), 1, 0, 1000)), [(100, 1.0), (120, 3.0)]);
}

/// 2. Later cuts replace slots of earlier ones.
pub(crate) fn a_later_cut_replaces_slots_and_leaves_the_others(mut subject: impl Subject) {
    commit_raw(&subject, 7, &[(0, 1.0), (10, 2.0), (86_400, 3.0)]);
    commit_raw(&subject, 7, &[(10, 20.0), (20, 30.0)]);
    let want = [(0, 1.0), (10, 20.0), (20, 30.0), (86_400, 3.0)];
    assert_eq!(known(&read(&subject, raw(), 7, 0, 100_000)), want);
    for value in 0..10 {
        commit_raw(&subject, 7, &[(30, f64::from(value))]);
    }
    subject.points().tidy().unwrap();
    let want = [(0, 1.0), (10, 20.0), (20, 30.0), (30, 9.0), (86_400, 3.0)];
    assert_eq!(known(&read(&subject, raw(), 7, 0, 100_000)), want);
    subject.reopen();
    assert_eq!(known(&read(&subject, raw(), 7, 0, 100_000)), want);
}

/// 3. Snapshots do not change.
pub(crate) fn a_snapshot_stays_as_it_was(subject: impl Subject) {
    commit_raw(&subject, 1, &[(0, 1.0)]);
    let snapshot = subject.points().snapshot();
    for i in 0..8 {
        commit_raw(&subject, 1, &[(0, 2.0), (10 * (i + 1), f64::from(i))]);
    }
    subject.points().tidy().unwrap();
    subject.points().expire(raw(), 1_000_000).unwrap();
    let range = SlotRange::between(0, 100, 10);
    let old = snapshot.read(raw(), &[(MetricId(1), Aggregator::Average)], range).unwrap();
    assert_eq!(known(&old[0]), [(0, 1.0)]);
    assert!(read(&subject, raw(), 1, 0, 100).is_empty());
}

/// 4. Nothing there is not an error.
pub(crate) fn what_is_not_there_is_an_empty_window(subject: impl Subject) {
    assert!(read(&subject, raw(), 5, 0, 1000).is_empty());
    commit_raw(&subject, 5, &[(100, 1.0)]);
    assert!(read(&subject, raw(), 6, 0, 1000).is_empty());
    assert!(read(&subject, raw(), 5, 200, 1000).is_empty());
    assert!(read(&subject, aggregated(), 5, 0, 100_000).is_empty());
    assert_eq!(read(&subject, raw(), 5, 300, 300).values.len(), 0);
}

/// Several metrics come back in the order they were asked for, each with its own slots.
pub(crate) fn a_batch_answers_in_the_order_asked(subject: impl Subject) {
    let columns: Vec<_> = (0..200).map(|m| (m, column(&[(m * 10, f64::from(m))]))).collect();
    commit(&subject, raw(), &columns, Aggregator::Average);
    let asked: Vec<_> = [150, 3, 999, 77].map(|m| (MetricId(m), Aggregator::Average)).to_vec();
    let range = SlotRange::between(0, 2000, 10);
    let windows = subject.points().snapshot().read(raw(), &asked, range).unwrap();
    let first = |w: &Window| known(w).first().map(|s| s.1);
    assert_eq!(windows.iter().map(first).collect::<Vec<_>>(), [Some(150.0), Some(3.0), None, Some(77.0)]);
}

/// 5. Marks and log position come back.
pub(crate) fn the_position_survives(mut subject: impl Subject) {
    let marks = vec![Mark { policy: PolicyId(0), level: 1, until: 7200 }];
    let position = Position { cut: 1, log_floor: 42, marks };
    subject.points().begin().unwrap().commit(position.clone()).unwrap();
    assert_eq!(*subject.points().snapshot().position(), position);
    subject.reopen();
    assert_eq!(*subject.points().snapshot().position(), position);
}

/// 6. Expiry.
pub(crate) fn expiry_never_drops_what_is_younger(mut subject: impl Subject) {
    let day = 86_400;
    let slots: Vec<(u32, f64)> = (0..30).map(|d| (d * day, f64::from(d))).collect();
    commit_raw(&subject, 1, &slots);
    subject.points().expire(raw(), 10 * day).unwrap();
    subject.reopen();
    let left = known(&read(&subject, raw(), 1, 0, 31 * day));
    assert!(left.len() < 30, "something is dropped");
    let young: Vec<_> = slots.iter().copied().filter(|s| s.0 >= 10 * day).collect();
    assert!(young.iter().all(|s| left.contains(s)), "{left:?}");
}

/// 7. Deleting.
pub(crate) fn deleting_removes_the_slots_of_those_metrics_only(mut subject: impl Subject) {
    commit(&subject, raw(), &[(1, column(&[(0, 1.0)])), (2, column(&[(0, 2.0)]))], Aggregator::Average);
    subject.points().delete(&[MetricId(1)]).unwrap();
    subject.metrics().delete(&[MetricId(1)]).unwrap();
    for _ in 0..2 {
        assert!(read(&subject, raw(), 1, 0, 100).is_empty());
        assert_eq!(known(&read(&subject, raw(), 2, 0, 100)), [(0, 2.0)]);
        subject.reopen();
    }
}

/// Aggregated slots keep value and count, and are never read by a method that did not make them.
pub(crate) fn partial_aggregates_keep_value_and_count(mut subject: impl Subject) {
    let mut sums = Column::default();
    sums.push_partial(3600, Partial { value: 30.0, count: 4 });
    sums.push_partial(7200, Partial { value: 5.0, count: 1 | Partial::DIRECT });
    commit(&subject, aggregated(), &[(1, sums)], Aggregator::Average);
    subject.reopen();
    let window = read(&subject, aggregated(), 1, 0, 10_000);
    assert_eq!((window.partial(1).value, window.partial(1).count()), (30.0, 4));
    assert!(window.partial(2).is_direct());
    let range = window.range;
    let as_max =
        subject.points().snapshot().read(aggregated(), &[(MetricId(1), Aggregator::Max)], range).unwrap();
    assert_eq!(Aggregator::Max.finish(as_max[0].partial(1), 4, 0.0), Some(7.5), "the average it was made as");
}
