//! Sending cuts to the cluster, in order, until they have arrived.

use std::sync::Arc;

use super::Clustered;
use crate::store::StoreError;
use crate::store::cassandra::Sender;
use plumbago_model::Aggregator;

/// Sends what is in the outbox.
pub struct Shipper {
    store: Arc<Clustered>,
    sender: Sender,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Points of stage 0 in them.
    pub points: u64,
    /// Rows, those of aggregated stages included.
    pub rows: u64,
}

impl Shipper {
    /// From a store by a sender.
    pub fn new(store: Arc<Clustered>, sender: Sender) -> Self {
        Self { store, sender }
    }

    /// What sends.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Sends the oldest parcel under `shard`; `None` when there is none. After an error it is still there, and sending it
    /// again changes nothing that has arrived.
    pub fn ship_one(&self, shard: i16) -> Result<Option<Shipped>, StoreError> {
        self.store.set_shard(shard)?;
        let outbox = &self.store.outbox;
        let Some(parcel) = outbox.parcels().first().copied() else { return Ok(None) };
        let shipment = self.sender.begin(shard, parcel.cut_at_us);
        let sent = outbox.open(parcel.cut, &mut |content| {
            // A metric that was deleted meanwhile has no id, and its points are not missed.
            let Some(metric) = self.store.identities.get(content.metric) else { return Ok(()) };
            let method = content.method.unwrap_or(Aggregator::Average);
            shipment.put(content.stage, metric, method, content.column)
        });
        // What is in flight ends first, so that nothing of this attempt arrives during the next.
        let rows = shipment.finish();
        sent?;
        let rows = rows?;
        outbox.delivered(parcel.cut)?;
        Ok(Some(Shipped { points: parcel.points, rows }))
    }
}
