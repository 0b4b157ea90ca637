//! One state of the store: which blocks are in use. It is never changed, only replaced: a snapshot is a pointer to one.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::block::{Block, BlockError};
use super::codec::{Chunk, ChunkError};
use super::partition::{partition_secs, partition_start};
use super::spool::Parcel;
use crate::store::{Position, Snapshot, StoreError};
use plumbago_model::{Aggregator, MetricId, Partial, SlotRange, Stage, StageKind, Window};

/// The blocks of one partition, oldest cut first: a later block overrides an earlier one.
pub(super) type Partition = Vec<Arc<Block>>;

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) position: Position,
    pub(super) stages: BTreeMap<Stage, BTreeMap<u32, Partition>>,
    /// Metrics whose slots are hidden, and dropped by the next merge.
    pub(super) deleted: Arc<HashSet<u32>>,
    /// The spool: cuts that have to be delivered, by their numbers. Empty in a store without one.
    pub(super) parcels: BTreeMap<u64, Parcel>,
}

impl State {
    /// Adds a block, in the order of cuts.
    pub(super) fn add(&mut self, block: Arc<Block>) {
        let meta = block.info().meta;
        let partition = self.stages.entry(meta.stage).or_default().entry(meta.partition_start).or_default();
        let at = partition.partition_point(|b| b.info().meta.cut_to < meta.cut_from);
        partition.insert(at, block);
    }

    /// Does a block up to this cut hold anything that has to be delivered still?
    pub(super) fn is_spooled(&self, cut_to: u64) -> bool {
        self.parcels.first_key_value().is_some_and(|(&oldest, _)| cut_to >= oldest)
    }

    /// Bytes of the blocks that have to be delivered still.
    pub(super) fn spool_bytes(&self) -> u64 {
        let spooled = self.blocks().filter(|block| self.is_spooled(block.info().meta.cut_to));
        spooled.map(|block| block.info().bytes).sum()
    }

    /// All blocks.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.stages.values().flat_map(BTreeMap::values).flatten()
    }
}

/// What a reader holds.
pub(super) struct StateSnapshot(pub(super) Arc<State>);

impl Snapshot for StateSnapshot {
    fn position(&self) -> &Position {
        &self.0.position
    }

    fn read(
        &self,
        stage: Stage,
        metrics: &[(MetricId, Aggregator)],
        range: SlotRange,
    ) -> Result<Vec<Window>, StoreError> {
        let aggregated = stage.kind == StageKind::Aggregated;
        let mut windows: Vec<Window> = metrics.iter().map(|_| Window::empty(range, aggregated)).collect();
        let Some(partitions) = self.0.stages.get(&stage).filter(|_| range.len > 0) else {
            return Ok(windows);
        };
        let mut wanted: Vec<(u32, usize)> =
            metrics.iter().enumerate().map(|(i, (id, _))| (id.0, i)).collect();
        wanted.retain(|(id, _)| !self.0.deleted.contains(id));
        wanted.sort_unstable();
        let ids: Vec<u32> = wanted.iter().map(|&(id, _)| id).collect();
        let mut buffer = Vec::new();
        let last = range.end() - range.step;
        for (&start, blocks) in partitions.range(partition_start(stage, range.start)..=last) {
            for block in blocks {
                let damaged = read_block(
                    block,
                    start,
                    &ids,
                    &mut buffer,
                    |at, first_slot, slots, chunk| {
                        let i = wanted[at].1;
                        overlay(chunk, metrics[i].1, first_slot, slots, &mut windows[i])
                    },
                    range,
                )?;
                for lost in damaged {
                    let hidden = wanted.iter().filter(|(id, _)| lost.contains(id));
                    hidden.for_each(|&(_, i)| hide(block, range, &mut windows[i]));
                }
            }
        }
        Ok(windows)
    }
}

/// Empties the slots of which a block may have had newer values that cannot be read: what older blocks have there may be outdated or
/// erased.
fn hide(block: &Block, range: SlotRange, window: &mut Window) {
    let info = block.info();
    let time = |slot: u32| u64::from(info.meta.partition_start) + u64::from(slot) * u64::from(range.step);
    let (first, last) = (time(info.first_slot), time(info.last_slot));
    let place = |time: u64| (time.saturating_sub(u64::from(range.start)) / u64::from(range.step)) as usize;
    let from = place(first).min(window.values.len());
    let until = if last < u64::from(range.start) { 0 } else { (place(last) + 1).min(window.values.len()) };
    if from < until {
        window.values[from..until].fill(f64::NAN);
        if let Some(counts) = window.counts.get_mut(from..until) {
            counts.fill(0);
        }
    }
}

/// Visits the chunks of `ids` in a block with the part of the window they fall into. Gives the metrics whose pages are damaged.
fn read_block(
    block: &Block,
    start: u32,
    ids: &[u32],
    buffer: &mut Vec<u8>,
    mut visit: impl FnMut(usize, u32, std::ops::Range<usize>, &Chunk<'_>) -> Result<(), ChunkError>,
    range: SlotRange,
) -> Result<Vec<RangeInclusive<u32>>, StoreError> {
    let mut lost = Vec::new();
    let meta = block.info().meta;
    let begin = range.start.max(start);
    let end = u64::from(range.end()).min(u64::from(start) + u64::from(partition_secs(meta.stage)));
    if u64::from(begin) >= end {
        return Ok(lost);
    }
    let from = ((begin - range.start) / range.step) as usize;
    let until = ((end - u64::from(range.start)) / u64::from(range.step)) as usize;
    let first_slot = (begin - start) / range.step;
    let info = block.info();
    if info.last_slot < first_slot
        || u64::from(info.first_slot) >= u64::from(first_slot) + (until - from) as u64
    {
        return Ok(lost);
    }
    let result = block.chunks(ids, buffer, |at, bytes| {
        let read = Chunk::parse(bytes).and_then(|chunk| visit(at, first_slot, from..until, &chunk));
        if let Err(error) = read {
            tracing::error!(block = %block.info().path.display(), metric = ids[at], %error, "unreadable chunk skipped");
        }
    });
    for error in result.err().unwrap_or_default() {
        match error {
            BlockError::Io { action, path, source } => return Err(StoreError::Io { action, path, source }),
            damaged => {
                tracing::error!(error = %damaged, "damaged page skipped; run `plumbago fsck`");
                if let BlockError::DamagedPage { first_metric, last_metric, .. } = damaged {
                    lost.push(first_metric..=last_metric);
                }
            }
        }
    }
    Ok(lost)
}

/// Marks a slot that a chunk does not have. An erased slot, which it has without a value, is another NaN.
const ABSENT: f64 = f64::from_bits(0x7ff8_0000_0ab5_e270);

/// Writes a chunk over a part of a window.
fn overlay(
    chunk: &Chunk<'_>,
    method: Aggregator,
    first_slot: u32,
    slots: std::ops::Range<usize>,
    window: &mut Window,
) -> Result<(), ChunkError> {
    let counts = window.counts.get_mut(slots.clone());
    let Some(values) = window.values.get_mut(slots) else { return Ok(()) };
    let foreign = chunk.method().and_then(method_of).filter(|&made_by| made_by != method);
    match (foreign, counts) {
        (Some(made_by), Some(counts)) => {
            let mut theirs = (vec![ABSENT; values.len()], vec![0; values.len()]);
            chunk.decode_window(first_slot, &mut theirs.0, Some(&mut theirs.1))?;
            for (at, (&value, &count)) in theirs.0.iter().zip(&theirs.1).enumerate() {
                if value.to_bits() == ABSENT.to_bits() {
                    continue;
                }
                let partial = converted(Partial { value, count }, made_by, method).unwrap_or(Partial::EMPTY);
                (values[at], counts[at]) = (partial.value, partial.count);
            }
            Ok(())
        }
        (_, counts) => chunk.decode_window(first_slot, values, counts),
    }
}

/// Converts a partial of one method to a partial of another that gives the same final value.
fn converted(partial: Partial, made_by: Aggregator, method: Aggregator) -> Option<Partial> {
    let shown = made_by.finish(partial, partial.count(), 0.0)?;
    let count = partial.count();
    let value = match method {
        Aggregator::Average | Aggregator::AvgZero => shown * f64::from(count),
        _ => shown,
    };
    Some(Partial { value, count: partial.count })
}

/// The tag a method has in chunks. Part of the format: never renumbered.
pub(super) fn method_tag(method: Aggregator) -> u8 {
    match method {
        Aggregator::Average => 0,
        Aggregator::Sum => 1,
        Aggregator::Last => 2,
        Aggregator::Max => 3,
        Aggregator::Min => 4,
        Aggregator::AvgZero => 5,
        Aggregator::AbsMax => 6,
        Aggregator::AbsMin => 7,
    }
}

pub(super) fn method_of(tag: u8) -> Option<Aggregator> {
    Aggregator::ALL.into_iter().find(|&m| method_tag(m) == tag)
}
