//! Counts what all who share a store have of some metrics in a stretch of time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::points::{Points, PointsError};
use super::view::View;
use plumbago_model::{MetricId, Policy, PolicyId, SlotRange, Stage, Stretch, Window};

/// Metrics that are read together, and slots of each.
const TOGETHER: usize = 64;
const PIECE_SLOTS: usize = 4000;
/// How far in the future points may be.
const FUTURE_SECS: u32 = 86_400;

/// What a metric has, or had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldSlots {
    /// Points of stage 0.
    pub points: u64,
    /// Aggregated slots, over all stages.
    pub aggregates: u64,
    /// Several policies may have the same stage.
    counted: Vec<Stage>,
}

impl Points {
    /// The slots that lie wholly inside, in every stage that a metric has or had, in the order of the ids. Points in memory are not
    /// counted.
    pub fn held_in(
        &self,
        ids: &[MetricId],
        stretch: Stretch,
        now: u32,
    ) -> Result<Vec<HeldSlots>, PointsError> {
        let mut held = vec![HeldSlots::default(); ids.len()];
        let mut alike: BTreeMap<PolicyId, Vec<usize>> = BTreeMap::new();
        for (nth, &id) in ids.iter().enumerate() {
            let Some((current, _)) = self.state(id) else { continue };
            for policy in [current].into_iter().chain(self.policies().earlier(id)) {
                alike.entry(policy).or_default().push(nth);
            }
        }
        for (policy_id, members) in alike {
            let Some(policy) = self.policies().get(policy_id) else { continue };
            for members in members.chunks(TOGETHER) {
                let metrics = members.iter().map(|&nth| ids[nth]).collect();
                let view = View::open_delivered(self, (policy_id, Arc::clone(&policy)), metrics);
                count(&view, &policy, (stretch, now), members, &mut held)?;
            }
        }
        Ok(held)
    }
}

/// Adds what the metrics of a view have. `members` says where each of them is in `held`.
fn count(
    view: &View<'_>,
    policy: &Policy,
    (stretch, now): (Stretch, u32),
    members: &[usize],
    held: &mut [HeldSlots],
) -> Result<(), PointsError> {
    for (level, &stage) in policy.retention.stages().iter().enumerate() {
        let is_new = |&at: &usize| !held[members[at]].counted.contains(&stage);
        let which: Vec<usize> = (0..members.len()).filter(is_new).collect();
        which.iter().for_each(|&at| held[members[at]].counted.push(stage));
        let Some((first, end)) = stretch.slots(stage).filter(|_| !which.is_empty()) else { continue };
        let kept = now.saturating_sub(u32::try_from(stage.span_secs()).unwrap_or(u32::MAX));
        let (first, end) = (first.max(stage.floor(kept)), end.min(now.saturating_add(FUTURE_SECS)));
        for piece in SlotRange::between(first, end, stage.step_secs).pieces(PIECE_SLOTS) {
            for (window, &at) in view.stored(level, piece, &which)?.iter().zip(&which) {
                let held = &mut held[members[at]];
                *if level == 0 { &mut held.points } else { &mut held.aggregates } += filled(window);
            }
        }
    }
    Ok(())
}

/// Slots that have something.
fn filled(window: &Window) -> u64 {
    (0..window.range.len).filter(|&at| window.partial(at).count() > 0).count() as u64
}
