//! Merges the blocks of a partition: fewer files to read, longer chunks, and deleted metrics are dropped.
//!
//! A merge reads its blocks in step, metric by metric, and lets newer slots override older ones. It changes nothing until one
//! transaction replaces the old blocks with the new one; readers that hold a snapshot keep reading the old files. So a crash or
//! an error at any point leaves either the old blocks or the new one in use.

use std::sync::Arc;

use super::block::{Block, BlockError, BlockMeta, BlockWriter, Cursor};
use super::codec::{Chunk, Encoder, Partials, Samples};
use super::cut::{finish, io, make_path};
use super::partition::partition_secs;
use super::points::{BlockStore, Change};
use crate::planted::{Planted, is_planted};
use crate::store::StoreError;
use plumbago_model::Stage;

/// How many blocks a partition may have before some are merged.
const MANY: usize = 4;

/// Merges where it pays off. Returns the number of merges.
pub(super) fn tidy(store: &BlockStore) -> Result<u64, StoreError> {
    let mut merges = 0;
    while let Some((stage, start, blocks)) = next_merge(store) {
        merge(store, stage, start, &blocks)?;
        merges += 1;
    }
    Ok(merges)
}

/// The next partition to merge, and which of its newest blocks.
fn next_merge(store: &BlockStore) -> Option<(Stage, u32, Vec<Arc<Block>>)> {
    let state = store.state();
    let newest_cut = state.position.cut;
    for (&stage, partitions) in &state.stages {
        let current = partitions.keys().next_back().copied();
        for (&start, blocks) in partitions {
            // A damaged block stays as it is: its file is evidence, and what it hides in older ones must not come back.
            if blocks.iter().any(|block| block.has_damage()) {
                continue;
            }
            // A parcel in the spool must stay as it was cut.
            let delivered = blocks.partition_point(|b| !state.is_spooled(b.info().meta.cut_to));
            let blocks = &blocks[..delivered];
            // An older partition that was not written to lately will hardly change: one block is best.
            let settled = Some(start) != current
                && blocks.last().is_some_and(|b| b.info().meta.cut_to + MANY as u64 <= newest_cut);
            let from = if settled { 0 } else { suffix(blocks) };
            if blocks.len() - from >= 2 && (settled || blocks.len() - from >= MANY) {
                return Some((stage, start, blocks[from..].to_vec()));
            }
        }
    }
    None
}

/// The longest run of newest blocks in which no block outweighs all newer ones together by much: every byte is then
/// rewritten only a logarithmic number of times.
fn suffix(blocks: &[Arc<Block>]) -> usize {
    let mut newer = 0;
    for (at, block) in blocks.iter().enumerate().rev() {
        let bytes = block.info().bytes;
        if blocks.len() - at > MANY && bytes > 2 * newer {
            return at + 1;
        }
        newer += bytes;
    }
    0
}

fn merge(store: &BlockStore, stage: Stage, start: u32, blocks: &[Arc<Block>]) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
    // The new block says that it stands for all cuts of the old ones. By that a start after a crash sees which side is a leftover.
    let meta = BlockMeta {
        stage,
        partition_start: start,
        partition_secs: partition_secs(stage),
        cut_from: first.info().meta.cut_from,
        cut_to: last.info().meta.cut_to,
    };
    let path = make_path(store, &meta)?;
    let dir = store.partition_dir(stage, start);
    let writer = BlockWriter::create(store.root.disk(), &path, meta).map_err(io("create", &path))?;
    let mut writer = writer.of_store(store.tag);
    let deleted = Arc::clone(&store.state().deleted);
    // Without older blocks, there is nothing left that an erased slot would hide.
    let oldest =
        store.state().stages.get(&stage).and_then(|partitions| partitions.get(&start)?.first().cloned());
    let drops_erased = oldest.is_some_and(|oldest| Arc::ptr_eq(&oldest, first));
    let mut merger = Merger { drops_erased, ..Merger::default() };
    merger.run(blocks, |metric, chunk| {
        if deleted.contains(&metric) {
            Ok(())
        } else {
            writer.put(metric, chunk).map_err(io("write to", &dir))
        }
    })?;
    if blocks.iter().any(|block| block.has_damage()) {
        return Ok(());
    }
    let merged = finish(store, writer, &dir)?;
    let replaced = store.replace(|state| {
        let partition = state.stages.get_mut(&stage)?.get_mut(&start)?;
        // Partitions expire as a whole. If this one expired meanwhile, there is nothing to replace.
        let at = partition.iter().position(|b| Arc::ptr_eq(b, first))?;
        partition.splice(at..at + blocks.len(), [Arc::clone(&merged)]);
        let removed = blocks.iter().map(|b| b.info().path.clone()).collect();
        Some(Change { added: vec![merged.info().path.clone()], removed, ..Change::default() })
    })?;
    if !replaced {
        store.root.disk().remove(&path).map_err(io("remove", &path))?;
    }
    Ok(())
}

/// Reads several blocks in step, metric by metric.
#[derive(Default)]
struct Merger {
    encoder: Encoder,
    merged: Samples,
    one: Samples,
    next: Samples,
    chunk: Vec<u8>,
    /// Leave out slots that were erased.
    drops_erased: bool,
}

impl Merger {
    fn run(
        &mut self,
        blocks: &[Arc<Block>],
        mut put: impl FnMut(u32, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut cursors: Vec<Cursor<'_>> = blocks.iter().map(|b| b.cursor()).collect();
        for cursor in &mut cursors {
            step(cursor)?;
        }
        while let Some(metric) = cursors.iter().filter_map(|c| c.current().map(|(id, _)| id)).min() {
            let mut here: Vec<&mut Cursor<'_>> =
                cursors.iter_mut().filter(|c| c.current().is_some_and(|(id, _)| id == metric)).collect();
            match here.as_slice() {
                // The metric is in one of the blocks alone. Its chunk is copied as it is, without decoding.
                [only] => {
                    if let Some((_, chunk)) = only.current() {
                        put(metric, chunk)?;
                    }
                }
                several => {
                    if self.overlay(several) {
                        put(metric, &self.chunk)?;
                    }
                }
            }
            for cursor in &mut here {
                step(cursor)?;
            }
        }
        Ok(())
    }

    /// Combines the chunks of one metric; the last one wins. False when none could be read, or all was erased.
    fn overlay(&mut self, cursors: &[&mut Cursor<'_>]) -> bool {
        let mut method = None;
        self.merged = Samples::default();
        for (metric, bytes) in cursors.iter().filter_map(|c| c.current()) {
            let read =
                Chunk::parse(bytes).and_then(|chunk| chunk.decode(&mut self.one).map(|()| chunk.method()));
            match read {
                Ok(made_by) => {
                    method = made_by.or(method);
                    if is_planted(Planted::OlderSlotWins) {
                        std::mem::swap(&mut self.merged, &mut self.one);
                    }
                    overlay_samples(&self.merged, &self.one, &mut self.next);
                    std::mem::swap(&mut self.merged, &mut self.next);
                }
                Err(error) => tracing::error!(metric, %error, "unreadable chunk skipped in a merge"),
            }
        }
        if self.drops_erased {
            drop_erased(&mut self.merged);
        }
        self.chunk.clear();
        let counts = self.merged.counts.as_slice();
        let partials = method.map(|method| Partials { method, counts });
        self.encoder.encode(&self.merged.slots, &self.merged.values, partials, &mut self.chunk).is_ok()
    }
}

/// Moves to the next chunk. What is damaged is left out. What cannot be read now may be readable later: a merge without it would lose it.
fn step(cursor: &mut Cursor<'_>) -> Result<(), StoreError> {
    loop {
        match cursor.advance() {
            Ok(_) => return Ok(()),
            Err(BlockError::Io { action, path, source }) if !is_planted(Planted::UnreadableMerged) => {
                return Err(StoreError::Io { action, path, source });
            }
            Err(error) => tracing::error!(%error, "damaged page skipped"),
        }
    }
}

/// Moves to the next readable chunk; false at the end.
pub(super) fn advance(cursor: &mut Cursor<'_>) -> bool {
    loop {
        match cursor.advance() {
            Ok(more) => return more,
            Err(error) => tracing::error!(%error, "damaged page skipped"),
        }
    }
}

/// Leaves out slots without a value.
fn drop_erased(samples: &mut Samples) {
    if !samples.values.iter().any(|value| value.is_nan()) {
        return;
    }
    let kept: Vec<bool> = samples.values.iter().map(|value| !value.is_nan()).collect();
    let keeps = || {
        let mut kept = kept.iter();
        move || kept.next().copied().unwrap_or(true)
    };
    let (mut slots, mut values, mut counts) = (keeps(), keeps(), keeps());
    samples.slots.retain(|_| slots());
    samples.values.retain(|_| values());
    samples.counts.retain(|_| counts());
}

/// Combines both by slot; where both have a slot, `newer` wins.
fn overlay_samples(older: &Samples, newer: &Samples, out: &mut Samples) {
    out.slots.clear();
    out.values.clear();
    out.counts.clear();
    let mut push = |from: &Samples, at: usize| {
        out.slots.push(from.slots[at]);
        out.values.push(from.values[at]);
        if let Some(&count) = from.counts.get(at) {
            out.counts.push(count);
        }
    };
    let (mut a, mut b) = (0, 0);
    while a < older.slots.len() || b < newer.slots.len() {
        match (older.slots.get(a), newer.slots.get(b)) {
            (Some(x), Some(y)) if x < y => {
                push(older, a);
                a += 1;
            }
            (Some(x), Some(y)) => {
                a += usize::from(x == y);
                push(newer, b);
                b += 1;
            }
            (Some(_), None) => {
                push(older, a);
                a += 1;
            }
            (None, _) => {
                push(newer, b);
                b += 1;
            }
        }
    }
}
