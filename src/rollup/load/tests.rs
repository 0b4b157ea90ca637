//! What a metric has stays, what it lacks is added, and every stage counts each point once.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::rollup::testing::NoNames;
use crate::store::embedded::Embedded;
use plumbago_model::{Cancel, Partial};

const METRIC: MetricId = MetricId(0);
/// The start of an hour, and so of a slot of every stage here.
const HOUR: u32 = 1_699_999_200;
const NOW: u32 = HOUR + 1800;
const POLICY: &str = "720*10s:1440*60s:240*3600s|sum|0";

fn open(dir: &Path) -> (Points, Embedded) {
    let store = Embedded::open(dir).unwrap();
    let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
    let opened = Points::open(blocks, catalogue, &store.log_dir, 1_000_000, NOW, &mut NoNames).unwrap();
    (opened.points, store)
}

fn one_metric(dir: &Path) -> (Points, Embedded) {
    let (points, store) = open(dir);
    let policy = points.intern_policy(&POLICY.parse().unwrap(), NOW).unwrap();
    points.create(&[(METRIC, policy, "a")], NOW).unwrap();
    (points, store)
}

fn raw(times: impl Iterator<Item = u32>, value: f64) -> Column {
    let times: Vec<u32> = times.collect();
    Column { values: vec![value; times.len()], times, counts: Vec::new() }
}

fn partials(slots: &[(u32, f64, u32)]) -> Column {
    let mut column = Column::default();
    slots.iter().for_each(|&(time, value, count)| column.push_partial(time, Partial { value, count }));
    column
}

/// What a query that goes back so far sees.
fn seen(points: &Points, age: u32) -> Vec<(u32, f64)> {
    let now = i64::from(NOW);
    let fetched = points.fetch(&[METRIC], now - i64::from(age), now, now, &Cancel::never()).unwrap();
    let series = fetched.into_iter().next().flatten().unwrap();
    let slots = series.values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    slots.map(|(at, &value)| (series.range.time(at), value)).collect()
}

const SECONDS: u32 = 7000;
const MINUTES: u32 = 80_000;
const HOURS: u32 = 800_000;

#[test]
fn a_new_metric_answers_from_every_stage_what_was_loaded_into_it() {
    let dir = tempfile::tempdir().unwrap();
    let (points, store) = one_metric(dir.path());
    let columns = vec![
        raw([NOW - 600, NOW - 10].into_iter(), 1.0),
        partials(&[(HOUR - 60_000, 5.0, 6), (NOW - 600, 1.0, 1), (NOW - 60, 1.0, 1)]),
        partials(&[(HOUR - 720_000, 9.0, 360)]),
    ];
    let loaded = points.load(&[Load { id: METRIC, columns, is_new: false }], NOW).unwrap();
    assert_eq!(loaded, Loaded { points: 2, aggregates: 4, there: 0 });
    let check = |points: &Points| {
        assert_eq!(seen(points, SECONDS), [(NOW - 600, 1.0), (NOW - 10, 1.0)]);
        assert_eq!(seen(points, MINUTES), [(HOUR - 60_000, 5.0), (NOW - 600, 1.0), (NOW - 60, 1.0)]);
        // What is behind the mark follows from the points: two of them, in the running hour.
        assert_eq!(seen(points, HOURS), [(HOUR - 720_000, 9.0), (HOUR, 2.0)]);
    };
    check(&points);
    drop((points, store));
    check(&open(dir.path()).0);
}

#[test]
fn points_that_are_there_stay_and_aggregates_count_them_with_the_loaded_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (points, _store) = one_metric(dir.path());
    let minute = HOUR - 600;
    // A sender sent one point, and an hour later the store has it.
    points.append(&[(METRIC, Point { timestamp: minute + 10, value: 100.0 })], NOW).unwrap();
    points.cut().unwrap();
    let load = || Load {
        is_new: false,
        id: METRIC,
        columns: vec![
            raw((0..12).map(|nth| minute + nth * 10), 1.0),
            partials(&[(minute, 6.0, 6), (minute + 60, 6.0, 6)]),
            partials(&[(HOUR - 3600, 12.0, 12)]),
        ],
    };
    let first = points.load(&[load()], NOW).unwrap();
    assert_eq!((first.points, first.there > 0), (11, true));
    let expected_raw: Vec<(u32, f64)> =
        (0..12).map(|nth| (minute + nth * 10, if nth == 1 { 100.0 } else { 1.0 })).collect();
    let check = |points: &Points| {
        assert_eq!(seen(points, SECONDS), expected_raw);
        assert_eq!(seen(points, MINUTES), [(minute, 105.0), (minute + 60, 6.0)]);
        assert_eq!(seen(points, HOURS), [(HOUR - 3600, 111.0)]);
    };
    check(&points);
    points.cut().unwrap();
    check(&points);
    let second = points.load(&[load()], NOW).unwrap();
    assert_eq!((second.points, second.aggregates), (0, 0));
    check(&points);
}

#[test]
fn a_slot_beyond_stage_0_is_replaced_by_one_that_counts_more_and_by_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (points, _store) = one_metric(dir.path());
    let old = HOUR - 36_000;
    points.append(&[(METRIC, Point { timestamp: old, value: 7.0 })], NOW).unwrap();
    points.cut().unwrap();
    let load = |value, count| Load {
        is_new: false,
        id: METRIC,
        columns: vec![Column::default(), partials(&[(old, value, count)]), Column::default()],
    };
    points.load(&[load(3.0, 1)], NOW).unwrap();
    assert_eq!(seen(&points, MINUTES), [(old, 7.0)]);
    points.load(&[load(60.0, 6)], NOW).unwrap();
    assert_eq!(seen(&points, MINUTES), [(old, 60.0)]);
}

#[test]
fn history_before_the_first_point_does_not_touch_what_follows() {
    let dir = tempfile::tempdir().unwrap();
    let (points, _store) = one_metric(dir.path());
    points.append(&[(METRIC, Point { timestamp: NOW - 20, value: 100.0 })], NOW).unwrap();
    let columns = vec![
        raw((0..360).map(|nth| HOUR - 3600 + nth * 10), 1.0),
        partials(&(0..60).map(|nth| (HOUR - 3600 + nth * 60, 6.0, 6)).collect::<Vec<_>>()),
        partials(&[(HOUR - 7200, 42.0, 360), (HOUR - 3600, 360.0, 360)]),
    ];
    points.load(&[Load { id: METRIC, columns, is_new: false }], NOW).unwrap();
    points.append(&[(METRIC, Point { timestamp: NOW - 10, value: 1.0 })], NOW).unwrap();
    points.cut().unwrap();
    assert_eq!(seen(&points, HOURS), [(HOUR - 7200, 42.0), (HOUR - 3600, 360.0), (HOUR, 101.0)]);
    assert_eq!(seen(&points, SECONDS).len(), 362);
}
