//! Moving metrics to other policies, while points come in.
//!
//! Points in memory that are too old for stage 0 name their stage by its level in the policy of their metric, so none may be
//! there when the policy changes. A move therefore writes everything first, and the little that came meanwhile once more while senders wait; then it changes
//! the policies of one batch of metrics, in the catalogue and in memory. A crash at any moment finds each metric wholly under
//! one policy: the log has no point that was accepted under another.

use super::head::Direct;
use super::points::{Points, PointsError, placed};
use super::view::Held;
use plumbago_model::{MetricId, PolicyId};

/// Metrics whose policy changes while senders wait.
const BATCH: usize = 50_000;

impl Points {
    /// Puts metrics under other policies, after filling in all that the old policies have not filled in yet. What is stored
    /// under the old policies stays readable.
    pub fn move_to(&self, changes: &[(MetricId, PolicyId)], now: u32) -> Result<(), PointsError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.cut()?;
        let mut left: Vec<PolicyId> =
            changes.iter().filter_map(|&(id, _)| self.state(id)).map(|(old, _)| old).collect();
        left.sort_unstable();
        left.dedup();
        for policy in left {
            self.settle(policy, now)?;
        }
        for batch in changes.chunks(BATCH) {
            // So that little is left to write while senders wait.
            self.cut()?;
            let _no_other_cut = self.cutting.lock();
            let mut log = self.log();
            self.cut_rest(&mut log)?;
            drop(self.put_policies(batch)?);
        }
        Ok(())
    }

    /// Puts metrics under the policies that they should have had from their creation on: what is in memory goes to the stages
    /// of the new ones.
    pub fn correct_policies(&self, changes: &[(MetricId, PolicyId)], now: u32) -> Result<(), PointsError> {
        if changes.is_empty() {
            return Ok(());
        }
        let _no_other_cut = self.cutting.lock();
        let mut log = self.log();
        self.cut_failed(&mut log)?;
        self.record_names()?;
        let mut memory = self.put_policies(changes)?;
        for &(id, policy) in changes {
            let Some(policy) = self.policies().get(policy) else { continue };
            for Direct { point, .. } in memory.live.take_direct(id) {
                match placed(&policy, point.timestamp, now) {
                    Some(0) => memory.live.push(id, point),
                    Some(level) => memory.live.push_direct(id, Direct { level, point }),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Changes policies in the catalogue and in memory. The caller holds the locks of cuts and of the log.
    fn put_policies(&self, changes: &[(MetricId, PolicyId)]) -> Result<Held<'_>, PointsError> {
        let changed: Vec<(MetricId, PolicyId, PolicyId)> = {
            let memory = self.memory();
            let state = |&(id, new)| memory.live.state(id).map(|state| (id, state.policy, new));
            changes.iter().filter_map(state).filter(|(_, old, new)| old != new).collect()
        };
        let history = |&(id, old, new): &(MetricId, PolicyId, PolicyId)| {
            let had = self.policies().earlier(id).into_iter().chain([old]).filter(|policy| *policy != new);
            (id, had.chain([new]).collect())
        };
        self.catalogue().set_policies(&changed.iter().map(history).collect::<Vec<_>>())?;
        let mut memory = self.memory();
        for (id, old, new) in changed {
            self.policies().remember(id, old);
            memory.live.set_policy(id, new);
        }
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, HOUR, METRIC};

    #[test]
    fn points_that_are_too_old_for_stage_0_find_their_stage_under_the_new_policy() {
        let bench = Bench::new("360*10s:600*60s|sum|0");
        let old = HOUR - 7200;
        bench.append(old, 3.0);
        // Under this policy stage 0 reaches the point.
        bench.correct("3600*10s:1000*60s|sum|0");
        assert_eq!(bench.slot(0, old), (3.0, 1));
        assert_eq!(bench.slot(1, old), (3.0, 1));
        bench.points.cut().unwrap();
        assert_eq!(bench.slot(0, old), (3.0, 1), "the cut changes nothing");
    }

    #[test]
    fn a_point_of_the_last_moment_is_written_under_the_old_policy() {
        let bench = Bench::new("360*10s:600*60s|sum|0");
        bench.append(HOUR, 1.0);
        bench.append(HOUR - 7200, 5.0);
        bench.move_to("360*10s:60*600s|sum|0");
        assert_eq!(bench.points.held(), 0);
        assert_eq!(bench.slot(0, HOUR), (1.0, 1));
        assert_eq!(bench.points.policies().earlier(METRIC).len(), 1);
    }
}
