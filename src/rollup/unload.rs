//! Unloading: all that a metric has, stage by stage, as [`Points::load`] takes it.

use super::points::Points;
use super::view::View;
use crate::store::{Column, StoreError};
use plumbago_model::{MetricId, SlotRange, Span, StageKind};

/// Slots read at a time.
const PIECE_SLOTS: usize = 65_536;
/// How far in the future points may be.
const FUTURE_SECS: u32 = 86_400;

impl Points {
    /// The slots of a metric that start in `from..until`, one column per stage of its policy; `None` for a metric that is gone.
    ///
    /// Aggregated slots come as partials, and with what is still in memory.
    pub fn unload(
        &self,
        id: MetricId,
        (from, until): (u32, u32),
        now: u32,
    ) -> Result<Option<Vec<Column>>, StoreError> {
        let Some((policy_id, span)) = self.state(id) else { return Ok(None) };
        let Some(policy) = self.policies().get(policy_id) else { return Ok(None) };
        let span =
            if self.is_shared() { Span { first: 0, last: now.saturating_add(FUTURE_SECS) } } else { span };
        let until = until.min(span.last.saturating_add(1));
        let mut columns = Vec::new();
        for (level, stage) in policy.retention.stages().iter().enumerate() {
            let kept = u32::try_from(stage.span_secs()).unwrap_or(u32::MAX);
            let oldest = from.max(now.saturating_sub(kept)).max(stage.floor(span.first));
            let mut column = Column::default();
            for piece in SlotRange::between(oldest, until, stage.step_secs).pieces(PIECE_SLOTS) {
                let bounds = (piece.start, piece.end());
                let view = View::open_shared(self, (policy_id, policy.clone()), vec![id], bounds);
                for window in view.read(level, piece)? {
                    for at in (0..piece.len).filter(|&at| window.partial(at).count() > 0) {
                        let partial = window.partial(at);
                        column.times.push(piece.time(at));
                        column.values.push(partial.value);
                        column.counts.extend((stage.kind == StageKind::Aggregated).then_some(partial.count));
                    }
                }
            }
            columns.push(column);
        }
        Ok(Some(columns))
    }

    /// Do others write to the store, too? Then a span says only when this server has data.
    pub(super) fn is_shared(&self) -> bool {
        self.store().reader().settled_until() < u32::MAX
    }
}
