//! One test for each rule of the fitting.

use super::*;

const NOW: u32 = 1_000_000_000;

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

/// An archive of finished values at the given ages in slots; 1 is the slot before the present one.
fn archive(step_secs: u32, points: u32, values: &[(u32, f64)]) -> Archive {
    let mut slots: Vec<(u32, f64)> =
        values.iter().map(|&(age, value)| (NOW - NOW % step_secs - age * step_secs, value)).collect();
    slots.sort_by_key(|slot| slot.0);
    let column = Column {
        times: slots.iter().map(|s| s.0).collect(),
        values: slots.iter().map(|s| s.1).collect(),
        counts: Vec::new(),
    };
    Archive { step_secs, points, column }
}

fn bundle(policy_text: &str, archives: Vec<Archive>) -> Bundle {
    Bundle { name: "a".to_owned(), policy: policy(policy_text), archives }
}

/// What a reader sees of a column.
fn seen(column: &Column, policy: &Policy, level: usize) -> Vec<(u32, f64)> {
    let value = |at: usize| match column.counts.get(at) {
        None => Some(column.values[at]),
        Some(&count) => policy.aggregator.finish(
            Partial { value: column.values[at], count },
            policy.slots_at(level),
            policy.x_files_factor,
        ),
    };
    (0..column.times.len()).filter_map(|at| Some((column.times[at], value(at)?))).collect()
}

#[test]
fn an_archive_of_the_stages_own_step_is_taken_as_it_is() {
    // A coarse archive may say what no aggregate of the fine one says: whisper averages averages.
    let text = "60*10s:60*60s|average|0.5";
    let fine = archive(10, 60, &[(1, 1.0), (2, 2.0), (3, 0.1)]);
    let coarse = archive(60, 60, &[(0, 7.3), (1, 0.7), (30, 9.9)]);
    let columns = fit(&bundle(text, vec![coarse.clone(), fine.clone()]), &policy(text), NOW);
    assert_eq!(columns[0], fine.column);
    let expected: Vec<(u32, f64)> = coarse.column.times.iter().copied().zip(coarse.column.values).collect();
    assert_eq!(seen(&columns[1], &policy(text), 1), expected);
}

#[test]
fn a_count_is_that_of_the_points_where_they_are_known_and_full_elsewhere() {
    let text = "60*10s:600*60s|sum|0";
    let minute = NOW - NOW % 60;
    let fine = Archive {
        step_secs: 10,
        points: 60,
        column: Column { times: vec![minute - 60, minute - 40], values: vec![1.0, 2.0], counts: Vec::new() },
    };
    let coarse = archive(60, 600, &[(1, 3.0), (30, 9.0)]);
    let columns = fit(&bundle(text, vec![fine, coarse]), &policy(text), NOW);
    assert_eq!(columns[1].counts, [6, 2]);
}

#[test]
fn a_value_that_was_shown_is_shown_whatever_the_x_files_factor() {
    let text = "60*10s:60*60s|average|0.9";
    let fine = archive(10, 60, &[(7, 1.0)]);
    let minute = fine.column.times[0] - fine.column.times[0] % 60;
    let mut coarse = archive(60, 60, &[(1, 4.0)]);
    coarse.column.times = vec![minute];
    let columns = fit(&bundle(text, vec![fine, coarse]), &policy(text), NOW);
    assert_eq!(seen(&columns[1], &policy(text), 1), [(minute, 4.0)]);
}

#[test]
fn one_point_of_a_finer_archive_does_not_answer_for_a_slot() {
    let text = "60*10s:600*60s|sum|0.5";
    let fine = archive(10, 60, &[(13, 1.0)]);
    let coarse = archive(60, 600, &[(10, 6.0)]);
    let columns = fit(&bundle(text, vec![fine, coarse.clone()]), &policy(text), NOW);
    assert_eq!(columns[1].times.len(), 2);
    assert_eq!(seen(&columns[1], &policy(text), 1), [(coarse.column.times[0], 6.0)]);
}

#[test]
fn older_time_comes_from_the_coarser_archive() {
    // The stage keeps an hour where the file kept ten minutes.
    let fine = archive(10, 60, &[(1, 1.0), (50, 2.0)]);
    let coarse = archive(60, 600, &[(1, 100.0), (20, 5.0), (59, 6.0)]);
    let columns = fit(
        &bundle("60*10s:600*60s|average|0", vec![fine.clone(), coarse.clone()]),
        &policy("360*10s:600*60s|average|0"),
        NOW,
    );
    let mut expected: Vec<(u32, f64)> = fine.column.times.iter().copied().zip(fine.column.values).collect();
    // Not the minute of age 1: the fine archive reaches it.
    expected.extend(coarse.column.times.iter().copied().zip(coarse.column.values).take(2));
    expected.sort_by_key(|slot| slot.0);
    assert_eq!(seen(&columns[0], &policy("360*10s|average|0"), 0), expected);
}

#[test]
fn time_after_the_last_slot_of_an_archive_comes_from_the_finer_one() {
    let text = "60*10s:600*60s|sum|0";
    let minute = NOW - NOW % 60;
    let fine = archive(10, 60, &(1..40).map(|age| (age, 1.0)).collect::<Vec<_>>());
    let mut coarse = archive(60, 600, &[]);
    coarse.column.times.push(minute - 240);
    coarse.column.values.push(50.0);
    let columns = fit(&bundle(text, vec![fine, coarse]), &policy(text), NOW);
    let slots = seen(&columns[1], &policy(text), 1);
    assert_eq!(
        slots[..4],
        [(minute - 240, 50.0), (minute - 180, 6.0), (minute - 120, 6.0), (minute - 60, 6.0)]
    );
}

#[test]
fn a_stage_without_an_archive_of_its_step_counts_every_point_once() {
    let fine = archive(10, 360, &(0..=360).map(|age| (age, 1.0)).collect::<Vec<_>>());
    let coarse = archive(60, 1440, &(0..1400).map(|age| (age, 6.0)).collect::<Vec<_>>());
    let to = policy("360*10s:2000*300s|sum|0");
    let columns = fit(&bundle("360*10s:1440*60s|sum|0", vec![fine, coarse]), &to, NOW);
    let slots = seen(&columns[1], &to, 1);
    // A full slot of five minutes has thirty points, from whichever archive, and at the joint of the archives too.
    for (time, value) in &slots[1..slots.len() - 1] {
        assert_eq!(*value, 30.0, "at {time}");
    }
    assert!(slots.len() >= 280);
}

#[test]
fn a_coarser_archive_fills_a_gap_of_the_finer_one() {
    let fine = archive(10, 360, &[(1, 1.0)]);
    let coarse = archive(60, 1440, &[(10, 8.0)]);
    let to = policy("360*10s:300*300s|max|0");
    let columns = fit(&bundle("360*10s:1440*60s|max|0", vec![fine, coarse.clone()]), &to, NOW);
    let begin = coarse.column.times[0] - coarse.column.times[0] % 300;
    assert!(seen(&columns[1], &to, 1).contains(&(begin, 8.0)));
}

#[test]
fn an_archive_finer_than_stage_0_is_aggregated_into_it() {
    let fine = archive(1, 600, &[(11, 1.0), (12, 2.0), (13, 6.0)]);
    let times = fine.column.times.clone();
    let to = policy("600*10s:600*60s|sum|0");
    let columns = fit(&bundle("600*1s|sum|0", vec![fine]), &to, NOW);
    assert_eq!(columns[0].values.iter().sum::<f64>(), 9.0);
    assert!(columns[0].times.iter().all(|time| time % 10 == 0 && *time <= times[0]));
    assert_eq!(seen(&columns[1], &to, 1).iter().map(|slot| slot.1).sum::<f64>(), 9.0);
}

#[test]
fn partials_keep_their_counts_and_flags() {
    let text = "60*10s:600*60s|average|0.5";
    let minute = NOW - NOW % 60;
    let column = Column { times: vec![minute - 6000], values: vec![12.0], counts: vec![3 | Partial::DIRECT] };
    let archives = vec![Archive { step_secs: 60, points: 600, column: column.clone() }];
    assert_eq!(fit(&bundle(text, archives.clone()), &policy(text), NOW)[1], column);
    // Another method takes the finished value, with its weight.
    let to = policy("60*10s:600*60s|max|0");
    let columns = fit(&bundle(text, archives), &to, NOW);
    assert_eq!((columns[1].values[0], columns[1].counts[0]), (4.0, 3));
}

#[test]
fn what_lies_in_the_future_or_beyond_the_retention_is_left_out() {
    let mut fine = archive(10, 1000, &[(1, 1.0), (100, 2.0)]);
    fine.column.times.push(NOW + 100);
    fine.column.values.push(3.0);
    let to = policy("60*10s|last|0");
    assert_eq!(fit(&bundle("1000*10s|last|0", vec![fine]), &to, NOW)[0].values, [1.0]);
}
