//! A cut being written: one block per partition it touches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{Block, BlockMeta, BlockWriter};
use super::codec::{Encoder, Partials};
use super::partition::{partition_secs, partition_start};
use super::points::{BlockStore, Change};
use super::state::method_tag;
use crate::store::{Column, Cut, Position, StoreError};
use plumbago_model::{Aggregator, MetricId, Stage, StageKind};

/// See the module documentation.
pub(super) struct BlockCut<'a> {
    store: &'a BlockStore,
    cut: u64,
    writers: BTreeMap<(Stage, u32), BlockWriter>,
    encoder: Encoder,
    slots: Vec<u32>,
    chunk: Vec<u8>,
    points: u64,
    /// Metrics that got something in stage 0.
    updated: Vec<MetricId>,
}

impl<'a> BlockCut<'a> {
    pub(super) fn new(store: &'a BlockStore) -> Self {
        let cut = store.state().position.cut + 1;
        Self {
            store,
            cut,
            writers: BTreeMap::new(),
            encoder: Encoder::new(),
            slots: Vec::new(),
            chunk: Vec::new(),
            points: 0,
            updated: Vec::new(),
        }
    }

    fn writer(&mut self, stage: Stage, start: u32) -> Result<&mut BlockWriter, StoreError> {
        use std::collections::btree_map::Entry;
        match self.writers.entry((stage, start)) {
            Entry::Occupied(writer) => Ok(writer.into_mut()),
            Entry::Vacant(vacant) => {
                let meta = BlockMeta {
                    stage,
                    partition_start: start,
                    partition_secs: partition_secs(stage),
                    cut_from: self.cut,
                    cut_to: self.cut,
                };
                let path = make_path(self.store, &meta)?;
                let writer =
                    BlockWriter::create(self.store.root.disk(), &path, meta).map_err(io("create", &path))?;
                Ok(vacant.insert(writer.of_store(self.store.tag)))
            }
        }
    }

    fn put_part(
        &mut self,
        stage: Stage,
        start: u32,
        metric: MetricId,
        method: Aggregator,
        (times, values, counts): (&[u32], &[f64], &[u32]),
    ) -> Result<(), StoreError> {
        self.slots.clear();
        self.slots.extend(times.iter().map(|t| (t - start) / stage.step_secs));
        let partials = Partials { method: method_tag(method), counts };
        let partials = (stage.kind == StageKind::Aggregated).then_some(partials);
        self.chunk.clear();
        let encoded = self.encoder.encode(&self.slots, values, partials, &mut self.chunk);
        encoded.map_err(|e| StoreError::Catalogue(format!("metric {} in {stage}: {e}", metric.0)))?;
        let chunk = std::mem::take(&mut self.chunk);
        let dir = self.store.partition_dir(stage, start);
        let put = self.writer(stage, start)?.put(metric.0, &chunk).map_err(io("write to", &dir));
        self.chunk = chunk;
        put
    }
}

impl Cut for BlockCut<'_> {
    fn put(
        &mut self,
        stage: Stage,
        metric: MetricId,
        method: Aggregator,
        column: &Column,
    ) -> Result<(), StoreError> {
        if stage.kind == StageKind::Raw {
            // An erased slot is no point.
            let points = column.values.iter().filter(|value| !value.is_nan()).count() as u64;
            self.points += points;
            if points > 0 {
                self.updated.push(metric);
            }
        }
        let mut at = 0;
        for part in column.times.chunk_by(|a, b| partition_start(stage, *a) == partition_start(stage, *b)) {
            let Some(&first) = part.first() else { continue };
            let slots = at..at + part.len();
            at = slots.end;
            let counts = column.counts.get(slots.clone()).unwrap_or(&[]);
            let part = (part, &column.values[slots], counts);
            self.put_part(stage, partition_start(stage, first), metric, method, part)?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>, position: Position) -> Result<(), StoreError> {
        let store = self.store;
        let (mut added, points, updated) = (Vec::new(), self.points, self.updated);
        for (key, writer) in self.writers {
            let dir = store.partition_dir(key.0, key.1);
            added.push(finish(store, writer, &dir)?);
        }
        store.replace(|state| {
            let paths = added.iter().map(|b| b.info().path.clone()).collect();
            added.into_iter().for_each(|block| state.add(block));
            let parcel = store.parcel(state, position.cut, points);
            state.parcels.extend(parcel.map(|parcel| (parcel.cut, parcel)));
            Some(Change { added: paths, position: Some(position), parcel, ..Change::default() })
        })?;
        store.note_updated(&updated);
        Ok(())
    }
}

/// Creates the partition's directory and names the block after its cuts.
pub(super) fn make_path(store: &BlockStore, meta: &BlockMeta) -> Result<PathBuf, StoreError> {
    let dir = store.partition_dir(meta.stage, meta.partition_start);
    let disk = store.root.disk();
    let mut durable = store.durable_dirs.lock();
    if !durable.contains(&dir) {
        disk.create_dirs(&dir).map_err(io("create", &dir))?;
        for parent in dir.ancestors().skip(1).take_while(|parent| parent.starts_with(store.root.path())) {
            disk.sync_dir(parent).map_err(io("sync", parent))?;
        }
        durable.insert(dir.clone());
    }
    Ok(dir.join(format!("{}-{}.blk", meta.cut_from, meta.cut_to)))
}

/// Completes a block and opens it for reading.
pub(super) fn finish(store: &BlockStore, writer: BlockWriter, dir: &Path) -> Result<Arc<Block>, StoreError> {
    let info = writer.finish().map_err(io("write a block in", dir))?;
    let disk = store.root.disk();
    disk.sync_dir(dir).map_err(io("sync", dir))?;
    let block = Block::open(&**disk, &info.path);
    block.map(Arc::new).map_err(|e| StoreError::Damaged { path: info.path, detail: e.to_string() })
}

pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}
