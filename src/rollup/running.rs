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
