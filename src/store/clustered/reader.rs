//! What all writers have in the cluster, and what of ours is still here.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use super::Identities;
use crate::store::cassandra::{Fetcher, UNSETTLED_SECS, Wanted};
use crate::store::{Position, Snapshot, StoreError};
use plumbago_model::{Aggregator, MetricId, SlotRange, Stage, StageKind, Window};

/// See the module documentation.
pub(super) struct Reader {
    /// Our parcels, which have not arrived.
    pub(super) spooled: Box<dyn Snapshot>,
    /// All our cuts.
    pub(super) local: Box<dyn Snapshot>,
    pub(super) identities: Arc<Identities>,
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) shard: Option<i16>,
}

impl Snapshot for Reader {
    fn position(&self) -> &Position {
        self.local.position()
    }

    fn settled_until(&self) -> u32 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        u32::try_from(now.saturating_sub(u64::from(UNSETTLED_SECS))).unwrap_or(u32::MAX)
    }

    fn read(
        &self,
        stage: Stage,
        metrics: &[(MetricId, Aggregator)],
        range: SlotRange,
    ) -> Result<Vec<Window>, StoreError> {
        let ours = match stage.kind {
            StageKind::Raw => self.spooled.read(stage, metrics, range)?,
            StageKind::Aggregated => self.local.read(stage, metrics, range)?,
        };
        let is_raw = stage.kind == StageKind::Raw;
        let wanted = metrics.iter().zip(&ours).map(|(&(id, method), own)| Wanted {
            // A metric that the cluster cannot know has no rows there.
            metric: self.identities.get(id).unwrap_or(Uuid::nil()),
            method,
            own: (!is_raw).then_some(own),
        });
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        let mut windows = self.fetcher.read(stage, &wanted, range, self.shard)?;
        if is_raw {
            for (window, own) in windows.iter_mut().zip(&ours) {
                for (value, own) in window.values.iter_mut().zip(&own.values) {
                    if !own.is_nan() {
                        *value = *own;
                    }
                }
            }
        }
        Ok(windows)
    }
}
