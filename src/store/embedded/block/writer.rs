//! Writing block files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layout::{self, PageAddress, Trailer};
use super::page::PageBuilder;
use super::{BlockInfo, BlockMeta};
use crate::disk::{Disk, DiskFile, Open};
use crate::store::embedded::codec::Chunk;

/// Bytes collected before the file is opened and written.
const FLUSH_BYTES: usize = 256 << 10;

/// Writes one block file as `<name>.tmp`, and renames it when it is complete.
///
/// Between writes the file is closed, so a cut may have as many writers at once as it has partitions. If dropped
/// unfinished, it removes what it wrote.
pub struct BlockWriter {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    tmp: PathBuf,
    meta: BlockMeta,
    page: PageBuilder,
    pending: Vec<u8>,
    /// Bytes in the file; `pending` follows them.
    written: u64,
    index: Vec<PageAddress>,
    sums: Sums,
    store: u32,
    renamed: bool,
}

/// What the trailer says about the chunks.
#[derive(Default)]
struct Sums {
    chunks: u64,
    first_metric: u32,
    last_metric: u32,
    first_slot: u32,
    last_slot: u32,
}

impl BlockWriter {
    /// Starts a block that will be at `path`. Overwrites what an earlier attempt left.
    pub fn create(disk: &Arc<dyn Disk>, path: &Path, meta: BlockMeta) -> io::Result<Self> {
        let mut tmp = path.as_os_str().to_owned();
        tmp.push(".tmp");
        let tmp = PathBuf::from(tmp);
        disk.open(&tmp, Open::Fresh)?;
        let mut pending = Vec::new();
        layout::write_header(&meta, &mut pending);
        Ok(Self {
            disk: Arc::clone(disk),
            path: path.to_owned(),
            tmp,
            meta,
            page: PageBuilder::default(),
            pending,
            written: 0,
            index: Vec::new(),
            sums: Sums::default(),
            store: 0,
            renamed: false,
        })
    }

    /// Says of which store the block is.
    pub fn of_store(mut self, store: u32) -> Self {
        self.store = store;
        self
    }

    /// Adds the chunk of a metric. Metrics must ascend, and the chunk must be valid.
    pub fn put(&mut self, metric: u32, chunk: &[u8]) -> io::Result<()> {
        if self.sums.chunks > 0 && metric <= self.sums.last_metric {
            let last = self.sums.last_metric;
            let text = format!("metric {metric} after metric {last}: a block takes them in ascending order");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let parsed = Chunk::parse(chunk).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        if self.page.is_full_for(chunk) {
            self.end_page();
            if self.pending.len() >= FLUSH_BYTES {
                self.flush()?;
            }
        }
        self.page.push(metric, chunk);
        self.sums.add(metric, &parsed);
        Ok(())
    }

    fn end_page(&mut self) {
        let start = self.pending.len();
        if let Some(first_metric) = self.page.flush(&mut self.pending) {
            let len = (self.pending.len() - start) as u32;
            self.index.push(PageAddress { first_metric, len, offset: self.written + start as u64 });
        }
    }

    /// Writes what is pending. After a failure it can be retried: the same bytes go to the same place.
    fn flush(&mut self) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(&self.tmp, Open::Write)?;
        file.write_at(&self.pending, self.written)?;
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(file)
    }

    /// Writes the rest, syncs the file and gives it its name, replacing an earlier file of that name.
    ///
    /// The name itself is durable once the caller has synced the directory, once for all of its blocks.
    pub fn finish(mut self) -> io::Result<BlockInfo> {
        self.end_page();
        let index_offset = self.written + self.pending.len() as u64;
        layout::write_index(&self.index, &mut self.pending);
        let Sums { chunks, first_metric, last_metric, first_slot, last_slot } = self.sums;
        let pages = self.index.len() as u32;
        let store = self.store;
        let trailer =
            Trailer { index_offset, pages, chunks, first_metric, last_metric, first_slot, last_slot, store };
        layout::write_trailer(&trailer, &mut self.pending);
        self.flush()?.sync_all()?;
        self.disk.rename(&self.tmp, &self.path)?;
        self.renamed = true;
        Ok(BlockInfo {
            path: self.path.clone(),
            meta: self.meta,
            bytes: self.written,
            pages: self.index.len(),
            chunks,
            first_metric,
            last_metric,
            first_slot,
            last_slot,
        })
    }
}

impl Sums {
    fn add(&mut self, metric: u32, chunk: &Chunk<'_>) {
        if self.chunks == 0 {
            (self.first_metric, self.first_slot) = (metric, chunk.first_slot());
        }
        self.chunks += 1;
        self.last_metric = metric;
        self.first_slot = self.first_slot.min(chunk.first_slot());
        self.last_slot = self.last_slot.max(chunk.last_slot());
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        if !self.renamed {
            // There is nobody to report an error to. A leftover file is overwritten, or removed at the next start.
            let _ = self.disk.remove(&self.tmp);
        }
    }
}
