//! The spool: what a store in front of a cluster still has to deliver, oldest first.
//!
//! In a store with a spool each commit also records its cut as a [`Parcel`], in the same transaction. Until the parcel is
//! delivered its blocks are neither merged nor dropped, so it can be read again exactly as it was cut.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roaring::RoaringBitmap;

use super::block::{Block, Cursor};
use super::codec::{Chunk, Samples};
use super::points::BlockStore;
use super::state::{State, StateSnapshot, method_of};
use crate::store::{Column, Snapshot, StoreError};
use plumbago_model::{Aggregator, MetricId, Stage};

/// Rows that follow from all cuts up to one carry the time of that cut and this much more. So they replace the rows of that cut,
/// and the rows of the next cut replace them, whatever the clock does in between.
pub const AFTER_CUT_US: i64 = 1;

/// One cut that has to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Number of the cut.
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
pub struct Spool {
    blocks: Arc<BlockStore>,
}

impl Spool {
    pub(super) fn new(blocks: Arc<BlockStore>) -> Self {
        Self { blocks }
    }

    /// The parcel that has to be delivered next.
    pub fn oldest(&self) -> Option<Parcel> {
        self.blocks.state().parcels.values().next().copied()
    }

    /// All parcels, oldest first.
    pub fn parcels(&self) -> Vec<Parcel> {
        self.blocks.state().parcels.values().copied().collect()
    }

    /// When the last cut was made, delivered or not, in microseconds since the epoch; 0 before the first.
    pub fn last_cut_us(&self) -> i64 {
        self.blocks.last_cut_us()
    }

    /// Was everything delivered?
    pub fn is_empty(&self) -> bool {
        self.blocks.state().parcels.is_empty()
    }

    /// Points of stage 0 in all parcels.
    pub fn points(&self) -> u64 {
        self.blocks.state().parcels.values().map(|parcel| parcel.points).sum()
    }

    /// Bytes of the blocks of all parcels.
    pub fn bytes(&self) -> u64 {
        self.blocks.state().spool_bytes()
    }

    /// Opens a parcel for reading.
    pub fn open(&self, parcel: Parcel) -> OpenParcel {
        OpenParcel { state: self.blocks.state(), cut: parcel.cut }
    }

    /// Records that a parcel was delivered; it leaves the spool.
    pub fn remove(&self, parcel: Parcel) -> Result<(), StoreError> {
        self.blocks.remove_parcel(parcel.cut)
    }

    /// The store as if it held only what is in the spool.
    pub fn snapshot(&self) -> Box<dyn Snapshot> {
        let state = self.blocks.state();
        let mut spooled = State {
            position: state.position.clone(),
            deleted: Arc::clone(&state.deleted),
            ..State::default()
        };
        let of_parcels = |block: &&Arc<Block>| state.is_spooled(block.info().meta.cut_to);
        for block in state.blocks().filter(of_parcels) {
            spooled.add(Arc::clone(block));
        }
        Box::new(StateSnapshot(Arc::new(spooled)))
    }
}

/// A parcel with its blocks held open.
pub struct OpenParcel {
    state: Arc<State>,
    cut: u64,
}

impl OpenParcel {
    /// Reads all that is in it, metric by metric within a block.
    pub fn contents(&self) -> Contents<'_> {
        let blocks = self.state.blocks().filter(|b| b.info().meta.cut_from == self.cut);
        Contents {
            state: &self.state,
            blocks: blocks.map(Arc::as_ref).collect::<Vec<_>>().into_iter(),
            open: None,
            samples: Samples::default(),
            column: Column::default(),
        }
    }

    /// The metrics that have something in it.
    pub fn metrics(&self) -> RoaringBitmap {
        let mut metrics = RoaringBitmap::new();
        for block in self.state.blocks().filter(|b| b.info().meta.cut_from == self.cut) {
            let mut cursor = block.cursor();
            while super::merge::advance(&mut cursor) {
                metrics.extend(cursor.current().map(|(metric, _)| metric));
            }
        }
        metrics.into_iter().filter(|metric| !self.state.deleted.contains(metric)).collect()
    }
}

/// Reads a parcel from its beginning to its end.
pub struct Contents<'a> {
    state: &'a State,
    blocks: std::vec::IntoIter<&'a Block>,
    open: Option<(&'a Block, Cursor<'a>)>,
    samples: Samples,
    column: Column,
}

impl Contents<'_> {
    /// The next slots, or `None` at the end. Damaged parts are left out and named in the log.
    pub fn read_next(&mut self) -> Option<Content<'_>> {
        loop {
            if self.open.is_none() {
                let block = self.blocks.next()?;
                self.open = Some((block, block.cursor()));
            }
            let Some((block, cursor)) = &mut self.open else { continue };
            if !super::merge::advance(cursor) {
                self.open = None;
                continue;
            }
            let Some((metric, bytes)) = cursor.current() else { continue };
            if self.state.deleted.contains(&metric) {
                continue;
            }
            let samples = &mut self.samples;
            let method = match Chunk::parse(bytes).and_then(|c| c.decode(samples).map(|()| c.method())) {
                Ok(method) => method.and_then(method_of),
                Err(error) => {
                    let block = block.info().path.display();
                    tracing::error!(metric, %error, %block, "unreadable chunk not delivered");
                    continue;
                }
            };
            let meta = block.info().meta;
            unpack(samples, meta.stage, meta.partition_start, &mut self.column);
            let (stage, metric) = (meta.stage, MetricId(metric));
            return Some(Content { stage, metric, method, column: &self.column });
        }
    }
}

fn unpack(samples: &Samples, stage: Stage, partition_start: u32, column: &mut Column) {
    column.clear();
    column.times.extend(samples.slots.iter().map(|slot| partition_start + slot * stage.step_secs));
    column.values.extend_from_slice(&samples.values);
    column.counts.extend_from_slice(&samples.counts);
}

/// When the last cut was made: that of the last parcel, or the last one that was delivered.
pub(super) fn last_cut_us(parcels: &BTreeMap<u64, Parcel>, delivered_us: i64) -> i64 {
    parcels.values().next_back().map_or(delivered_us, |parcel| parcel.cut_at_us.max(delivered_us))
}

/// The next parcel after a cut at `last_us`.
pub(super) fn next_parcel(cut: u64, points: u64, last_us: i64, now: Duration) -> Parcel {
    let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    Parcel { cut, points, cut_at_us: now.max(last_us + AFTER_CUT_US + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_leave_room_between_them_even_while_the_clock_is_set_back() {
        let now = Duration::from_secs(1_700_000_000);
        let now_us = next_parcel(1, 0, 0, now).cut_at_us;
        let ahead_us = now_us + 3_600_000_000;
        let next_us = next_parcel(2, 0, ahead_us, now).cut_at_us;
        assert!(ahead_us + AFTER_CUT_US < next_us, "{ahead_us} {next_us}");
        assert!(next_parcel(2, 0, now_us, now).cut_at_us < ahead_us, "otherwise the clock counts");
    }
}
