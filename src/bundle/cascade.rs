//! From points, in order of time, to the slots of every stage of a policy.
//!
//! Each stage is made from the one before it, as a server makes them: so what comes out is what a server would hold that had received
//! these points. A stage keeps what it reaches, however old the points are that went through it, and that is all that is in memory.

use super::Archive;
use crate::store::Column;
use plumbago_model::{Partial, Policy, Stage};

/// See the module documentation.
pub struct Cascade {
    policy: Policy,
    now: u32,
    /// A slot of stage 0 in which several points meet: the first and the next give what it holds.
    meet: fn(f64, f64) -> f64,
    levels: Vec<Level>,
}

/// A stage while points go through.
struct Level {
    stage: Stage,
    column: Column,
    /// The slot that the last point went into.
    slot: Option<(u32, Partial)>,
}

impl Cascade {
    /// For a policy. Of several points in a slot of stage 0 the last one counts.
    pub fn new(policy: Policy, now: u32) -> Self {
        let level = |stage: &Stage| Level { stage: *stage, column: Column::default(), slot: None };
        let levels = policy.retention.stages().iter().map(level).collect();
        Self { policy, now, meet: |_, last| last, levels }
    }

    /// Points that meet in a slot of stage 0 make another value than the last one.
    #[must_use]
    pub fn meeting(self, meet: fn(f64, f64) -> f64) -> Self {
        Self { meet, ..self }
    }

    /// Adds a point. False if a later slot of stage 0 has begun, or if it is no number: then nothing changes.
    pub fn push(&mut self, time: u32, value: f64) -> bool {
        let Some(first) = self.levels.first_mut().filter(|_| !value.is_nan()) else { return false };
        let begin = first.stage.floor(time);
        match &mut first.slot {
            Some((slot, _)) if *slot > begin => return false,
            Some((slot, partial)) if *slot == begin => {
                partial.value = (self.meet)(partial.value, value);
                return true;
            }
            _ => {}
        }
        self.begin(0, begin, Partial::point(value));
        true
    }

    /// A slot of a stage has its value: the one before it goes on to the next stage.
    fn begin(&mut self, nth: usize, slot: u32, partial: Partial) {
        let mut next = Some((slot, partial));
        for nth in nth..self.levels.len() {
            let Some((time, partial)) = next.take() else { return };
            let Some(level) = self.levels.get_mut(nth) else { return };
            let begin = level.stage.floor(time);
            match &mut level.slot {
                Some((slot, whole)) if *slot == begin => {
                    *whole = self.policy.aggregator.merge(*whole, partial)
                }
                _ => {
                    let done = level.slot.replace((begin, partial));
                    next = done.inspect(|&done| keep(&mut level.column, nth, level.stage, done, self.now));
                }
            }
        }
    }

    /// The slots of each stage.
    pub fn finish(mut self) -> Vec<Archive> {
        for nth in 0..self.levels.len() {
            let Some(level) = self.levels.get_mut(nth) else { break };
            let Some(last) = level.slot.take() else { continue };
            keep(&mut level.column, nth, level.stage, last, self.now);
            self.begin(nth + 1, last.0, last.1);
        }
        let archive = |level: Level| Archive {
            step_secs: level.stage.step_secs,
            points: level.stage.points,
            column: level.column,
        };
        self.levels.into_iter().map(archive).collect()
    }
}

/// Adds a slot to a stage that reaches it.
fn keep(column: &mut Column, nth: usize, stage: Stage, (time, partial): (u32, Partial), now: u32) {
    if u64::from(now.saturating_sub(time)) > stage.span_secs() {
        return;
    }
    if nth == 0 {
        column.times.push(time);
        column.values.push(partial.value);
    } else {
        column.push_partial(time, partial);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Bundle, fit};
    use super::*;

    const NOW: u32 = 1_000_000;

    fn cascade(policy: &str, points: &[(u32, f64)]) -> Vec<Archive> {
        let mut cascade = Cascade::new(policy.parse().unwrap(), NOW);
        points.iter().for_each(|&(time, value)| assert!(cascade.push(time, value)));
        cascade.finish()
    }

    fn slots(archive: &Archive) -> Vec<(u32, f64, u32)> {
        let Column { times, values, counts } = &archive.column;
        let count = |at: usize| counts.get(at).copied().unwrap_or(1);
        times.iter().zip(values).enumerate().map(|(at, (&time, &value))| (time, value, count(at))).collect()
    }

    #[test]
    fn stages_are_made_one_from_the_other() {
        let points = [(NOW - 125, 1.0), (NOW - 124, 2.0), (NOW - 119, 3.0), (NOW - 50, 4.0)];
        let found = cascade("100*10s:100*60s|average|0", &points);
        // NOW is 40 s into its minute.
        assert_eq!(slots(&found[0]), [(NOW - 130, 2.0, 1), (NOW - 120, 3.0, 1), (NOW - 50, 4.0, 1)]);
        assert_eq!(slots(&found[1]), [(NOW - 160, 5.0, 2), (NOW - 100, 4.0, 1)]);
    }

    #[test]
    fn a_stage_keeps_what_it_reaches_of_points_that_are_older_than_the_finer_ones() {
        let found = cascade("6*10s:100*60s|sum|0", &[(NOW - 3000, 1.0), (NOW - 2990, 2.0), (NOW - 30, 4.0)]);
        assert_eq!(slots(&found[0]), [(NOW - 30, 4.0, 1)]);
        assert_eq!(slots(&found[1]).iter().map(|slot| slot.1).collect::<Vec<_>>(), [3.0, 4.0]);
        assert!(cascade("6*10s|sum|0", &[(NOW - 3000, 1.0)])[0].column.times.is_empty());
    }

    #[test]
    fn points_that_meet_in_a_slot_may_be_added_up_and_what_is_late_or_no_number_changes_nothing() {
        let mut cascade = Cascade::new("10*10s|sum|0".parse().unwrap(), NOW).meeting(|a, b| a + b);
        assert!(cascade.push(NOW - 20, 1.0) && cascade.push(NOW - 15, 2.0));
        assert!(!cascade.push(NOW - 21, 8.0) && !cascade.push(NOW, f64::NAN));
        assert_eq!(slots(&cascade.finish()[0]), [(NOW - 20, 3.0, 1)]);
    }

    proptest! {
        /// What a cascade gives is what the policy holds of it.
        #[test]
        fn a_policy_holds_exactly_this(
            gaps in proptest::collection::vec((1_u32..200, -5_i32..5), 1..80),
            method in proptest::sample::select(plumbago_model::Aggregator::ALL.to_vec()),
        ) {
            let policy: Policy = format!("200*1s:100*10s:100*60s|{method}|0").parse().unwrap();
            let mut time = NOW - gaps.iter().map(|(gap, _)| gap).sum::<u32>();
            let mut cascade = Cascade::new(policy.clone(), NOW);
            for (gap, value) in gaps {
                time += gap;
                cascade.push(time, f64::from(value));
            }
            let archives = cascade.finish();
            let columns: Vec<Column> = archives.iter().map(|archive| archive.column.clone()).collect();
            let bundle = Bundle { name: "a".to_owned(), policy: policy.clone(), archives };
            prop_assert_eq!(fit(&bundle, &policy, NOW), columns);
        }
    }
}
