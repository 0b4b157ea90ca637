//! What happens in a run: operations, and what goes wrong during them. All of it follows from a seed.

use std::fmt;

use crate::dice::Dice;
use crate::disk::Trouble;

/// Metrics that senders name. As many names more are those that a rename gives.
pub(crate) const METRICS: usize = 4;

/// One thing that is done to the store, or to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Points come in one batch. Metrics that are not there are created.
    Append(Vec<Sent>),
    /// The last batch comes once more, with other values.
    Again,
    Sync,
    Cut,
    Fill,
    Expire,
    Merge,
    Delete(usize),
    /// A metric gets its other name.
    Rename(usize),
    /// The points of some time go.
    Erase {
        name: usize,
        age: u32,
        secs: u32,
    },
    /// The rule of the metric that moves changes.
    Move,
    Query(usize),
    BackUp,
    /// The backup is brought back beside the store, and perhaps takes its place.
    Restore {
        adopt: bool,
    },
    /// The clock goes on, or back.
    Clock(i64),
    /// The process ends as it should, and starts again.
    Restart,
    /// The process dies, and perhaps the power goes.
    Crash {
        power: bool,
    },
}

/// A point of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) name: usize,
    /// Before now; a negative age is in the future.
    pub(crate) age: i64,
}

/// An operation, and what goes wrong during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) fault: Option<Fault>,
    /// Decides what a crash in this step leaves.
    pub(crate) dice: u64,
}

/// Something goes wrong after so many calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) trouble: Trouble,
    pub(crate) after: u32,
    /// If the machine stops, does the power go?
    pub(crate) power: bool,
    /// What goes wrong with the starts after that, one after the other.
    pub(crate) again: Vec<Again>,
}

/// What goes wrong with a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) trouble: Trouble,
    pub(crate) after: u32,
    pub(crate) power: bool,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    /// What goes wrong while the store is made.
    pub(crate) begin: Vec<Again>,
    pub(crate) steps: Vec<Step>,
    /// The places that the steps had in the seed's run.
    pub(crate) places: Vec<usize>,
}

impl Case {
    /// The run of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let begin = if dice.percent(20) { starts(&mut dice, 100) } else { Vec::new() };
        let steps: Vec<Step> = (0..dice.between(12, 48)).map(|_| step(&mut dice)).collect();
        Self { seed, begin, places: (0..steps.len()).collect(), steps }
    }

    /// The run that a replay line names.
    pub(crate) fn replay(line: &str) -> Option<Self> {
        let mut parts = line.trim().split(':');
        let whole = Self::new(parts.next()?.parse().ok()?);
        let Some(kept) = parts.next() else { return Some(whole) };
        let mut case = Self { steps: Vec::new(), places: Vec::new(), begin: Vec::new(), ..whole.clone() };
        for word in kept.split(',').filter(|word| !word.is_empty()) {
            if word == "begin" {
                case.begin.clone_from(&whole.begin);
                continue;
            }
            let place: usize = word.trim_end_matches('!').parse().ok()?;
            let mut step = whole.steps.get(place)?.clone();
            if !word.ends_with('!') {
                step.fault = None;
            }
            case.steps.push(step);
            case.places.push(place);
        }
        Some(case)
    }
}

/// The replay line: the seed, and the places of its steps, with `!` where a fault is kept.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = (!self.begin.is_empty()).then(|| "begin".to_owned());
        let steps = self.steps.iter().zip(&self.places);
        let steps =
            steps.map(|(step, place)| format!("{place}{}", if step.fault.is_some() { "!" } else { "" }));
        write!(f, "{}:{}", self.seed, begin.into_iter().chain(steps).collect::<Vec<_>>().join(","))
    }
}

fn step(dice: &mut Dice) -> Step {
    let op = op(dice);
    let fault = fault(dice, &op);
    Step { op, fault, dice: dice.roll() }
}

fn op(dice: &mut Dice) -> Op {
    let any = |dice: &mut Dice| dice.below(2 * METRICS as u64) as usize;
    match dice.below(100) {
        0..36 => Op::Append(batch(dice)),
        36..40 => Op::Again,
        40..48 => Op::Sync,
        48..57 => Op::Cut,
        57..63 => Op::Fill,
        63..65 => Op::Expire,
        65..69 => Op::Merge,
        69..72 => Op::Delete(any(dice)),
        72..75 => Op::Rename(dice.below(METRICS as u64) as usize),
        75..78 => {
            Op::Erase { name: any(dice), age: age(dice).max(0) as u32, secs: dice.between(1, 4000) as u32 }
        }
        78..80 => Op::Move,
        80..84 => Op::Query(any(dice)),
        84..86 => Op::BackUp,
        86..87 => Op::Restore { adopt: dice.percent(50) },
        87..95 => Op::Clock(clock(dice)),
        95..96 => Op::Restart,
        _ => Op::Crash { power: dice.percent(60) },
    }
}

fn batch(dice: &mut Dice) -> Vec<Sent> {
    let metric = |dice: &mut Dice| match dice.below(10) {
        // One that is there by a rename, if it is.
        0 => METRICS + dice.below(METRICS as u64) as usize,
        _ => dice.below(METRICS as u64) as usize,
    };
    (0..dice.between(1, 6)).map(|_| Sent { name: metric(dice), age: age(dice) }).collect()
}

/// Ages near the edges of slots and stages, and others.
fn age(dice: &mut Dice) -> i64 {
    const EDGES: [i64; 8] = [60, 120, 600, 660, 3600, 7200, 28_800, 28_200];
    match dice.below(10) {
        0..2 => dice.below(20) as i64,
        2..4 => dice.below(120) as i64,
        4..6 => dice.below(700) as i64,
        6 => dice.below(4000) as i64,
        7 => dice.below(30_000) as i64,
        8 => dice.pick(&EDGES) + dice.below(4) as i64 - 2,
        _ => -(dice.below(100) as i64),
    }
}

fn clock(dice: &mut Dice) -> i64 {
    match dice.below(20) {
        0..9 => dice.between(1, 70) as i64,
        9..13 => dice.between(60, 900) as i64,
        13..15 => dice.pick(&[60, 600, 3600, 28_800]),
        15..18 => dice.between(3600, 30_000) as i64,
        18 => -(dice.between(1, 300) as i64),
        _ => -(dice.between(300, 20_000) as i64),
    }
}

/// Early calls are the most interesting ones, and the later ones are many.
fn after(dice: &mut Dice) -> u32 {
    let bound = dice.pick(&[3, 10, 30, 60]);
    dice.below(bound) as u32
}

fn fault(dice: &mut Dice, op: &Op) -> Option<Fault> {
    let trouble = match (dice.below(100), op) {
        (_, Op::Crash { .. }) => {
            let again = starts(dice, 30);
            return (!again.is_empty()).then_some(Fault {
                trouble: Trouble::Halt,
                after: 0,
                power: false,
                again,
            });
        }
        (0..12, _) => Trouble::Halt,
        (12..16, _) => Trouble::Broken(dice.between(1, 4) as u32),
        (16..20, _) => Trouble::Full(dice.between(1, 8) as u32),
        (20..22, _) | (22..40, Op::Query(_)) | (22..26, Op::Merge | Op::Cut) => {
            Trouble::Unreadable(dice.between(1, 3) as u32)
        }
        (40..60, Op::Query(_)) | (99, _) => Trouble::Short(dice.between(1, 30) as u32),
        _ => return None,
    };
    let again = if trouble == Trouble::Halt { starts(dice, 30) } else { Vec::new() };
    Some(Fault { trouble, after: after(dice), power: dice.percent(60), again })
}

/// What goes wrong with the starts: often nothing, and rarely two of them.
fn starts(dice: &mut Dice, chance: u64) -> Vec<Again> {
    let mut again = Vec::new();
    let mut chance = chance;
    while again.len() < 3 && dice.percent(chance) {
        let trouble = match dice.below(10) {
            0 => Trouble::Broken(dice.between(1, 3) as u32),
            1 => Trouble::Full(dice.between(1, 5) as u32),
            2 => Trouble::Short(dice.between(1, 30) as u32),
            3 => Trouble::Unreadable(dice.between(1, 4) as u32),
            _ => Trouble::Halt,
        };
        again.push(Again { trouble, after: after(dice), power: dice.percent(50) });
        chance = 30;
    }
    again
}
