//! The shortest runs that have failed. Each is run with many dice, so that the disk leaves other parts of what was not synced.

use crate::campaign::try_case;
use crate::disk::Trouble;
use crate::operation::{Again, Case, Fault, Op, Sent, Step};

fn holds(begin: &[Again], ops: &[Op]) {
    for dice in 0..150 {
        let step = |op: &Op| Step { op: op.clone(), fault: None, dice };
        let steps: Vec<Step> = ops.iter().map(step).collect();
        let places = (0..steps.len()).collect();
        let case = Case { seed: dice, begin: begin.to_vec(), steps, places };
        if let Err(wrong) = try_case(&case, None) {
            panic!("dice {dice}: {wrong}");
        }
    }
}

/// The same, with something that goes wrong during one of the operations, at any of so many calls.
fn holds_with(trouble: Trouble, calls: u32, during: usize, ops: &[Op]) {
    for dice in 0..calls * 4 {
        let fault = Fault { trouble, after: dice / 4, power: true, again: Vec::new() };
        let step = |(nth, op): (usize, &Op)| Step {
            op: op.clone(),
            fault: (nth == during).then(|| fault.clone()),
            dice: dice.into(),
        };
        let steps: Vec<Step> = ops.iter().enumerate().map(step).collect();
        let places = (0..steps.len()).collect();
        let case = Case { seed: dice.into(), begin: Vec::new(), steps, places };
        if let Err(wrong) = try_case(&case, None) {
            panic!("dice {dice}: {wrong}");
        }
    }
}

fn append(names: &[usize]) -> Op {
    Op::Append(names.iter().map(|&name| Sent { name, age: 5 }).collect())
}

/// Nobody had synced the directory that has log and catalogue in it, nor the one above.
#[test]
fn a_new_store_survives_a_loss_of_power() {
    holds(&[], &[append(&[0]), Op::Sync, Op::Crash { power: true }, append(&[1])]);
}

/// A first start that was interrupted left a catalogue that no later start could open.
#[test]
fn a_first_start_may_be_interrupted_at_any_call() {
    for after in 0..40 {
        let again = |power| Again { trouble: Trouble::Halt, after, power };
        holds_once(&[again(true)], after.into());
        holds_once(&[again(false), again(true)], after.into());
    }
}

fn holds_once(begin: &[Again], dice: u64) {
    for dice in dice * 8..dice * 8 + 8 {
        let case = Case { seed: dice, begin: begin.to_vec(), steps: Vec::new(), places: Vec::new() };
        if let Err(wrong) = try_case(&case, None) {
            panic!("{begin:?}, dice {dice}: {wrong}");
        }
    }
}

/// The catalogue had the deletion, and the log still had the metric: it came back, and a restart later its points were gone.
#[test]
fn a_metric_that_no_cut_has_recorded_stays_deleted() {
    holds(&[], &[append(&[0, 1]), Op::Sync, Op::Delete(0), Op::Crash { power: true }, Op::Restart]);
}

/// A policy whose record was lost left a gap in their numbers, which was filled in from 1970 on.
#[test]
fn a_policy_that_is_lost_costs_nothing() {
    let crash = Op::Crash { power: true };
    holds(
        &[],
        &[append(&[0]), append(&[1]), append(&[2, 3]), crash, Op::Clock(9000), append(&[0, 1, 2]), Op::Fill],
    );
}

/// The database library hid that the disk had failed while it closed the copy, and dropped what it could not sync.
#[test]
fn a_backup_whose_catalogue_could_not_be_synced_does_not_count() {
    holds_with(Trouble::Broken(1), 40, 0, &[Op::BackUp, Op::Crash { power: true }]);
}

/// The same with a full disk: the last write of the copy had failed, so that nothing was synced.
#[test]
fn a_backup_that_the_disk_had_no_room_for_does_not_count() {
    holds_with(Trouble::Full(1), 40, 0, &[Op::BackUp, append(&[3]), Op::Crash { power: true }]);
}

/// A start went on without a block that it could not read, and showed older values, or none.
#[test]
fn a_start_that_cannot_read_a_block_does_not_go_on_without_it() {
    holds_with(Trouble::Unreadable(4), 60, 2, &[append(&[0]), Op::Cut, Op::Restart, Op::Merge, Op::Restart]);
}

/// A commit of a fill failed, and was there all the same. The next cut gave its block the name of one that the commit had listed.
#[test]
fn a_commit_that_failed_keeps_its_blocks() {
    let late = |age| Op::Append(vec![Sent { name: 0, age }]);
    let ops = [late(1825), Op::Clock(847), late(92), Op::Cut, Op::Fill, late(3108), Op::Cut, Op::Restart];
    holds_with(Trouble::Broken(3), 40, 4, &ops);
}

/// The power went before the mark of a restore was synced. The file had its length and no content, and no backup fitted it.
#[test]
fn a_restore_whose_mark_was_lost_begins_again() {
    holds_with(Trouble::Halt, 12, 1, &[Op::BackUp, Op::Restore { adopt: true }]);
    holds_with(Trouble::Halt, 12, 2, &[Op::BackUp, Op::Sync, Op::Restore { adopt: true }]);
}
