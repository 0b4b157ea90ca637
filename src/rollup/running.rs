//! Slots that are not filled in yet, as they are now.
//!
//! An aggregated slot gets into the store when it is over. Readers that look at the tables of a cluster alone, as BigGraphite's do,
//! would not see today's value of a daily stage before midnight. What is computed here is for them: exactly what a fill would
//! write if the slots ended now. It must not get into this server's own store, where everything behind a mark is aggregated again
//! when it is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fill::{BATCH, PIECE_SLOTS, each_column};
use super::points::Points;
use super::view::View;
use crate::store::{RunningVisitor, StoreError};
use plumbago_model::{MetricId, Policy, PolicyId, SlotRange, Span};

impl Points {
    /// Visits the slots behind the marks of some metrics, up to and with those of `now`, in stages with slots of at least
    /// `least_step_secs`. As in a fill, points in memory are left out.
    pub fn visit_running(
        &self,
        metrics: &[MetricId],
        least_step_secs: u32,
        now: u32,
        visit: &mut RunningVisitor<'_>,
    ) -> Result<(), StoreError> {
        for (id, alike) in self.by_policy(metrics) {
            let Some(policy) = self.policies().get(id) else { continue };
            for (level, stage) in policy.retention.stages().iter().enumerate().skip(1) {
                if stage.step_secs >= least_step_secs {
                    self.visit_stage((id, &policy), level, &alike, now, visit)?;
                }
            }
        }
        Ok(())
    }

    fn by_policy(&self, metrics: &[MetricId]) -> BTreeMap<PolicyId, Vec<(MetricId, Span)>> {
        let memory = self.memory();
        let mut alike: BTreeMap<PolicyId, Vec<(MetricId, Span)>> = BTreeMap::new();
        for &metric in metrics {
            if let Some(state) = memory.live.state(metric) {
                alike.entry(state.policy).or_default().push((metric, state.span));
            }
        }
        alike
    }

    fn visit_stage(
        &self,
        (id, policy): (PolicyId, &Arc<Policy>),
        level: usize,
        alike: &[(MetricId, Span)],
        now: u32,
        visit: &mut RunningVisitor<'_>,
    ) -> Result<(), StoreError> {
        let stage = policy.retention.stages()[level];
        let end = stage.floor(now).saturating_add(stage.step_secs);
        // After a long stop the fill brings the earlier ones.
        let earliest = end.saturating_sub(stage.step_secs.saturating_mul(PIECE_SLOTS));
        let range = SlotRange::between(self.mark(id, level).max(earliest), end, stage.step_secs);
        if range.len == 0 {
            return Ok(());
        }
        let written = alike.iter().filter(|(_, span)| span.last >= range.start);
        let written: Vec<MetricId> = written.map(|&(metric, _)| metric).collect();
        for batch in written.chunks(BATCH) {
            let view = View::open_stored(self, (id, Arc::clone(policy)), batch.to_vec(), true);
            each_column(&view, level, range, &mut |metric, column| {
                visit(stage, metric, policy.aggregator, column)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, HOUR, METRIC, NOW};
    use super::*;
    use crate::store::StoreError;

    const POLICY: &str = "360*10s:600*60s:48*3600s|sum|0";

    /// Step, time, value and count of each slot.
    type Slots = Vec<(u32, u32, f64, u32)>;

    fn visit(bench: &Bench, least_step_secs: u32, now: u32) -> Slots {
        let mut slots = Slots::new();
        let take = |slots: &mut Slots, stage: plumbago_model::Stage, column: &crate::store::Column| {
            for (at, &time) in column.times.iter().enumerate() {
                slots.push((stage.step_secs, time, column.values[at], column.counts[at]));
            }
        };
        let mut visit = |stage, metric, _, column: &_| -> Result<(), StoreError> {
            assert_eq!(metric, METRIC);
            take(&mut slots, stage, column);
            Ok(())
        };
        let metrics = [METRIC, MetricId(1)];
        bench.points.visit_running(&metrics, least_step_secs, now, &mut visit).unwrap();
        slots
    }

    #[test]
    fn slots_behind_the_mark_are_visited_as_they_follow_from_the_store() {
        let bench = Bench::new(POLICY);
        bench.put(0, &[(HOUR, 1.0, 0), (HOUR + 1790, 2.0, 0)]);
        bench.mark(1, HOUR);
        bench.mark(2, HOUR);
        bench.append(HOUR + 20, 4.0);
        let minutes = [(60, HOUR, 1.0, 1), (60, HOUR + 1740, 2.0, 1)];
        assert_eq!(visit(&bench, 0, NOW - 1), [&minutes[..], &[(3600, HOUR, 3.0, 2)]].concat());
        assert_eq!(visit(&bench, 600, NOW), [(3600, HOUR, 3.0, 2)], "a point in memory is left out");
        bench.points.cut().unwrap();
        assert_eq!(visit(&bench, 600, NOW), [(3600, HOUR, 7.0, 3)]);
    }

    #[test]
    fn a_slot_that_is_over_is_visited_until_it_is_filled_in() {
        let bench = Bench::new(POLICY);
        bench.mark(2, HOUR);
        bench.append(HOUR, 1.0);
        bench.points.cut().unwrap();
        let next = HOUR + 3600;
        assert_eq!(visit(&bench, 600, next), [(3600, HOUR, 1.0, 1)]);
        bench.mark(2, next);
        assert_eq!(visit(&bench, 600, next), []);
    }

    #[test]
    fn nothing_is_visited_of_a_metric_without_points_or_of_one_that_is_gone() {
        let bench = Bench::new(POLICY);
        bench.mark(2, HOUR);
        assert_eq!(visit(&bench, 600, NOW), []);
        bench.append(HOUR, 1.0);
        bench.points.cut().unwrap();
        assert_eq!(visit(&bench, 600, NOW).len(), 1);
        bench.points.delete(&[METRIC]).unwrap();
        assert_eq!(visit(&bench, 600, NOW), []);
    }

    #[test]
    fn a_running_slot_is_what_a_fill_writes_when_the_slot_ends() {
        let bench = Bench::new(POLICY);
        bench.mark(2, HOUR - 3600);
        // Late ones, a second value for a slot, and one that is too old for stage 0 and enters the minutes.
        for (age, value) in [(0, 1.0), (90, 2.0), (90, 4.0), (2000, 8.0), (4000, 16.0)] {
            bench.append(NOW - age, value);
        }
        bench.points.cut().unwrap();
        let direct = 2 | plumbago_model::Partial::DIRECT;
        let slots = [(3600, HOUR - 3600, 24.0, direct), (3600, HOUR, 5.0, 2)];
        assert_eq!(visit(&bench, 3600, NOW), slots);
        bench.points.settle(super::super::testing::POLICY, NOW).unwrap();
        let mark = bench.points.mark(super::super::testing::POLICY, 2);
        assert_eq!((bench.slot(2, HOUR - 3600), bench.slot(2, HOUR)), ((24.0, 2), (5.0, 2)));
        assert_eq!((mark, visit(&bench, 3600, NOW)), (HOUR + 3600, Slots::new()));
    }
}
