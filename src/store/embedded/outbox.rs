//! What a store in front of a cluster still has to send: its cuts, oldest first.
//!
//! With an outbox a commit also notes, in the same transaction, that its cut has to go somewhere else. Until it is
//! delivered its blocks are neither merged nor dropped, so that they can be read out again exactly as they were cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::block::Block;
use super::codec::{Chunk, Samples};
use super::points::BlockStore;
use super::state::{State, StateSnapshot, method_of};
use crate::store::{Column, Snapshot, StoreError};
use plumbago_model::{Aggregator, MetricId, Stage};

/// A cut that has to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Its number.
    pub cut: u64,
    /// Points of stage 0 in it.
    pub points: u64,
    /// When it was cut, in microseconds since the epoch; grows with every cut, whatever the clock does.
    pub cut_at_us: i64,
}

/// Some slots of one metric in a parcel.
#[derive(Debug)]
pub struct Content<'a> {
    /// Which stage.
    pub stage: Stage,
    /// Which metric.
    pub metric: MetricId,
    /// How partials of an aggregated stage were made.
    pub method: Option<Aggregator>,
    /// The slots.
    pub column: &'a Column,
}

/// See the module documentation.
#[derive(Clone)]
pub struct Outbox {
    blocks: Arc<BlockStore>,
}

impl Outbox {
    pub(super) fn new(blocks: Arc<BlockStore>) -> Self {
        Self { blocks }
    }

    /// What has to be sent, oldest first.
    pub fn parcels(&self) -> Vec<Parcel> {
        self.blocks.state().parcels.values().copied().collect()
    }

    /// Points of stage 0 that have to be sent.
    pub fn points(&self) -> u64 {
        self.blocks.state().parcels.values().map(|parcel| parcel.points).sum()
    }

    /// Bytes of the blocks that have to be sent.
    pub fn bytes(&self) -> u64 {
        let state = self.blocks.state();
        let pending = state.blocks().filter(|b| state.is_pending(b.info().meta.cut_to));
        pending.map(|b| b.info().bytes).sum()
    }

    /// Visits all that is in a parcel, metric by metric within a block. Damaged parts are named in the log and left out.
    pub fn open(
        &self,
        cut: u64,
        visit: &mut dyn FnMut(Content<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let state = self.blocks.state();
        let (mut samples, mut column) = (Samples::default(), Column::default());
        for block in state.blocks().filter(|b| b.info().meta.cut_from == cut) {
            let meta = block.info().meta;
            let mut cursor = block.cursor();
            while super::merge::advance(&mut cursor) {
                let Some((metric, bytes)) = cursor.current() else { break };
                if state.deleted.contains(&metric) {
                    continue;
                }
                let read = Chunk::parse(bytes).and_then(|c| c.decode(&mut samples).map(|()| c.method()));
                let method = match read {
                    Ok(method) => method.and_then(method_of),
                    Err(error) => {
                        tracing::error!(metric, %error, block = %block.info().path.display(), "unreadable chunk not sent");
                        continue;
                    }
                };
                unpack(&samples, meta.stage, meta.partition_start, &mut column);
                visit(Content { stage: meta.stage, metric: MetricId(metric), method, column: &column })?;
            }
        }
        Ok(())
    }

    /// A parcel has arrived: it need not be sent again.
    pub fn delivered(&self, cut: u64) -> Result<(), StoreError> {
        self.blocks.deliver(cut)
    }

    /// The store as if it held only what has to be sent.
    pub fn pending(&self) -> Box<dyn Snapshot> {
        let state = self.blocks.state();
        let mut pending = State {
            position: state.position.clone(),
            deleted: Arc::clone(&state.deleted),
            ..State::default()
        };
        let of_parcels = |block: &&Arc<Block>| state.is_pending(block.info().meta.cut_to);
        for block in state.blocks().filter(of_parcels) {
            pending.add(Arc::clone(block));
        }
        Box::new(StateSnapshot(Arc::new(pending)))
    }
}

fn unpack(samples: &Samples, stage: Stage, partition_start: u32, column: &mut Column) {
    column.clear();
    column.times.extend(samples.slots.iter().map(|slot| partition_start + slot * stage.step_secs));
    column.values.extend_from_slice(&samples.values);
    column.counts.extend_from_slice(&samples.counts);
}

/// What the next parcel says, given those before it.
pub(super) fn next_parcel(cut: u64, points: u64, parcels: &BTreeMap<u64, Parcel>, last_us: i64) -> Parcel {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    let before = parcels.values().next_back().map_or(last_us, |parcel| parcel.cut_at_us.max(last_us));
    Parcel { cut, points, cut_at_us: now.max(before + 1) }
}
