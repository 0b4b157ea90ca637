//! Tests each rule of "How a coarse slot stays exact". The tests put slots into the store by hand, with values that the finer stage
//! could not give, so the value that a view reads tells which rule made it.

use std::sync::Arc;

use super::View;
use crate::rollup::testing::{Bench, HOUR, METRIC, NOW, POLICY, of_slot};
use plumbago_model::SlotRange;

const TWO_STAGES: &str = "360*10s:600*60s|sum|0";
const THREE_STAGES: &str = "360*10s:600*60s:48*3600s|sum|0";

#[test]
fn slots_before_the_mark_come_from_the_store() {
    let bench = Bench::new(TWO_STAGES);
    bench.put(0, &[(HOUR, 1.0, 0), (HOUR + 10, 2.0, 0)]);
    bench.put(1, &[(HOUR, 99.0, 2)]);
    bench.mark(1, HOUR + 60);
    assert_eq!(bench.slot(1, HOUR), (99.0, 2));
}

#[test]
fn slots_behind_the_mark_are_aggregated_from_the_finer_stage_and_from_memory() {
    let bench = Bench::new(TWO_STAGES);
    bench.put(0, &[(HOUR, 1.0, 0), (HOUR + 10, 2.0, 0)]);
    bench.append(HOUR + 20, 4.0);
    bench.mark(1, HOUR);
    assert_eq!(bench.slot(1, HOUR), (7.0, 3));
}

#[test]
fn a_stage_behind_its_mark_is_read_through_all_finer_ones() {
    let bench = Bench::new(THREE_STAGES);
    // The first minute comes from the store, the second from stage 0.
    bench.put(1, &[(HOUR, 50.0, 6)]);
    bench.put(0, &[(HOUR + 60, 1.0, 0)]);
    bench.append(HOUR + 70, 2.0);
    bench.mark(1, HOUR + 60);
    bench.mark(2, HOUR);
    assert_eq!(bench.slot(2, HOUR), (53.0, 8));
}

#[test]
fn a_slot_before_the_mark_that_a_point_in_memory_touches_is_aggregated_again() {
    let bench = Bench::new(TWO_STAGES);
    bench.put(0, &[(HOUR, 1.0, 0), (HOUR + 10, 2.0, 0)]);
    bench.put(1, &[(HOUR, 3.0, 2), (HOUR + 60, 99.0, 1)]);
    bench.mark(1, HOUR + 120);
    bench.append(HOUR + 20, 4.0);
    assert_eq!(bench.slot(1, HOUR), (7.0, 3));
    // It replaces a point of the store, which merging could not do.
    bench.append(HOUR + 10, 5.0);
    assert_eq!(bench.slot(1, HOUR), (10.0, 3));
    assert_eq!(bench.slot(1, HOUR + 60), (99.0, 1), "its neighbour is left alone");
}

#[test]
fn a_point_is_merged_where_the_finer_stage_no_longer_holds_everything() {
    let bench = Bench::new(TWO_STAGES);
    bench.put(0, &[(HOUR + 50, 6.0, 0)]);
    bench.put(1, &[(HOUR, 30.0, 5)]);
    bench.mark(1, HOUR + 60);
    bench.append(HOUR + 20, 4.0);
    assert_eq!(bench.slot(1, HOUR), (34.0, 6));
}

#[test]
fn a_point_older_than_stage_0_is_merged_into_its_stage_and_into_the_coarser_ones() {
    let bench = Bench::new(THREE_STAGES);
    let old = HOUR - 7200;
    bench.put(1, &[(old, 10.0, 3)]);
    bench.put(2, &[(old, 10.0, 3)]);
    bench.append(old + 5, 1.0);
    assert_eq!((bench.slot(1, old), bench.slot(2, old)), ((11.0, 4), (11.0, 4)));
    bench.points.cut().unwrap();
    // Now the stored slots know of a point that no finer stage has.
    bench.append(old + 65, 2.0);
    assert_eq!(bench.slot(1, old), (11.0, 4));
    assert_eq!((bench.slot(1, old + 60), bench.slot(2, old)), ((2.0, 1), (13.0, 5)));
}

#[test]
fn behind_the_mark_a_cut_writes_only_what_entered_at_that_stage() {
    let bench = Bench::new(TWO_STAGES);
    let old = HOUR - 7200;
    bench.put(0, &[(old, 1.0, 0)]);
    bench.mark(1, old);
    bench.append(old + 30, 4.0);
    assert_eq!(of_slot(bench.view().read_touched(1, bench.one(1, old)).unwrap()), (4.0, 1));
    assert_eq!(bench.slot(1, old), (5.0, 2));
    bench.points.cut().unwrap();
    assert_eq!(bench.slot(1, old), (5.0, 2), "the cut changes nothing");
}

#[test]
fn the_filling_in_of_a_stage_leaves_points_in_memory_out() {
    let bench = Bench::new(TWO_STAGES);
    bench.put(0, &[(HOUR, 1.0, 0)]);
    bench.mark(1, HOUR);
    bench.append(HOUR + 10, 2.0);
    let policy = bench.points.policies().get(POLICY).unwrap();
    let stored = View::open_stored(&bench.points, (POLICY, policy), vec![METRIC], true);
    assert_eq!(of_slot(stored.read(1, bench.one(1, HOUR)).unwrap()), (1.0, 1));
}

#[test]
fn an_earlier_policy_fills_only_slots_that_are_wholly_empty() {
    let bench = Bench::new("360*10s:600*60s|average|0");
    bench.put(0, &[(HOUR + 30, 8.0, 0)]);
    bench.put(1, &[(HOUR, 8.0, 1), (HOUR + 60, 12.0, 4)]);
    bench.points.cut().unwrap();
    let next = "360*10s:60*600s|average|0".parse().unwrap();
    let next_id = bench.points.intern_policy(&next, NOW).unwrap();
    bench.points.cut().unwrap();
    bench.points.correct_policies(&[(METRIC, next_id)], NOW).unwrap();
    let view = View::open(&bench.points, (next_id, Arc::new(next)), vec![METRIC], (0, u32::MAX));
    let window = &view.read(0, SlotRange { start: HOUR, step: 10, len: 12 }).unwrap()[0];
    let there: Vec<(u32, f64)> = (0..12)
        .filter(|&at| !window.values[at].is_nan())
        .map(|at| (window.range.time(at) - HOUR, window.values[at]))
        .collect();
    // The first minute has its point; of the second only the average is left.
    assert_eq!(there, [(30, 8.0), (60, 3.0)]);
}
