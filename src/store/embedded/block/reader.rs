//! Reading block files by metric.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::{self, BadHeader, ENTRY_LEN, HEADER_LEN, PageAddress, TRAILER_LEN, Trailer};
use super::page::{self, Page};
use super::{BlockError, BlockInfo, Cursor};
use crate::disk::{Disk, DiskFile, Open};

/// An open block file. Keeps its index in memory, 16 bytes per page, and reads pages on demand.
///
/// The file stays readable after it has been unlinked.
#[derive(Debug)]
pub struct Block {
    file: Box<dyn DiskFile>,
    info: BlockInfo,
    index: Vec<PageAddress>,
    store: u32,
    has_damage: AtomicBool,
}

impl Block {
    /// Opens a file and checks its header, trailer and index; pages are checked when they are read.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<Self, BlockError> {
        let io = |action| move |source| BlockError::Io { action, path: path.to_owned(), source };
        let damaged = |detail: &str| BlockError::Damaged { path: path.to_owned(), detail: detail.to_owned() };
        let file = disk.open(path, Open::Read).map_err(io("open"))?;
        let bytes = file.about().map_err(io("open"))?.len;

        let mut header = [0; HEADER_LEN];
        // A file shorter than a header is still examined: it may not be a block at all, or be from another version.
        let (present, _) = header.split_at_mut(HEADER_LEN.min(usize::try_from(bytes).unwrap_or(HEADER_LEN)));
        file.read_exact_at(present, 0).map_err(io("read"))?;
        let meta = layout::read_header(present).map_err(|bad| match bad {
            BadHeader::Magic => BlockError::NotABlock { path: path.to_owned() },
            BadHeader::Version(found) => BlockError::Version { path: path.to_owned(), found },
            BadHeader::Damaged(detail) => damaged(detail),
        })?;

        let mut trailer = [0; TRAILER_LEN];
        let trailer_at = bytes.checked_sub(TRAILER_LEN as u64).filter(|&at| at >= HEADER_LEN as u64);
        let trailer_at = trailer_at.ok_or_else(|| damaged("it ends before its trailer"))?;
        file.read_exact_at(&mut trailer, trailer_at).map_err(io("read"))?;
        let Trailer { index_offset, pages, chunks, first_metric, last_metric, first_slot, last_slot, store } =
            layout::read_trailer(&trailer).map_err(damaged)?;

        let index_len = u64::from(pages) * ENTRY_LEN as u64 + 4;
        if index_offset < HEADER_LEN as u64 || index_offset.checked_add(index_len) != Some(trailer_at) {
            return Err(damaged("its length is not the one in its trailer; was it cut short?"));
        }
        let mut index = vec![0; index_len as usize];
        file.read_exact_at(&mut index, index_offset).map_err(io("read"))?;
        let index = layout::read_index(&index, index_offset).map_err(damaged)?;
        if index.last().is_some_and(|page| page.first_metric > last_metric) {
            return Err(damaged("its last page begins behind its last metric"));
        }

        let (path, pages) = (path.to_owned(), index.len());
        let info =
            BlockInfo { path, meta, bytes, pages, chunks, first_metric, last_metric, first_slot, last_slot };
        Ok(Self { file, info, index, store, has_damage: AtomicBool::new(false) })
    }

    /// Fails if another release wrote the file; whatever else may be wrong with it.
    pub fn check_format(disk: &dyn Disk, path: &Path) -> Result<(), BlockError> {
        let mut header = [0; HEADER_LEN];
        let read = disk.open(path, Open::Read).and_then(|file| file.read_exact_at(&mut header, 0));
        match read.map(|()| layout::read_header(&header)) {
            Ok(Err(BadHeader::Version(found))) => Err(BlockError::Version { path: path.to_owned(), found }),
            _ => Ok(()),
        }
    }

    /// What is known without reading pages.
    pub fn info(&self) -> &BlockInfo {
        &self.info
    }

    /// Of which store it is; 0 if it does not say.
    pub fn store(&self) -> u32 {
        self.store
    }

    /// Was a page of it found damaged since it was opened?
    pub fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Relaxed)
    }

    /// The file itself, for those who copy it as a whole.
    pub fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// The chunk of one metric, by one read of its page into `buf`.
    pub fn chunk<'b>(&self, metric: u32, buf: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>, BlockError> {
        let Some(number) = self.page_of(metric) else { return Ok(None) };
        for entry in self.page(number, buf)? {
            let (found, chunk) = entry.map_err(|detail| self.damaged_page(number, detail))?;
            if found == metric {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// The chunks of many metrics, which must be in ascending order: visits each one that exists with its position in
    /// `metrics`. Reads each page once, into `buf`.
    ///
    /// Unreadable pages are skipped: the error lists all of them, and every other chunk was visited.
    pub fn chunks(
        &self,
        metrics: &[u32],
        buf: &mut Vec<u8>,
        mut visit: impl FnMut(usize, &[u8]),
    ) -> Result<(), Vec<BlockError>> {
        debug_assert!(metrics.is_sorted());
        let mut errors = Vec::new();
        let mut at = 0;
        while let Some(&metric) = metrics.get(at) {
            let Some(number) = self.page_of(metric) else {
                if metric > self.info.last_metric {
                    break;
                }
                at += 1;
                continue;
            };
            let last = self.last_metric_of(number);
            let end = at + metrics.get(at..).unwrap_or_default().partition_point(|&metric| metric <= last);
            if let Err(error) =
                self.visit_page(number, metrics.get(..end).unwrap_or(metrics), at, buf, &mut visit)
            {
                errors.push(error);
            }
            at = end;
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Visits those of `metrics` from position `at` on that are in the page.
    fn visit_page(
        &self,
        number: usize,
        metrics: &[u32],
        mut at: usize,
        buf: &mut Vec<u8>,
        visit: &mut impl FnMut(usize, &[u8]),
    ) -> Result<(), BlockError> {
        for entry in self.page(number, buf)? {
            let (found, chunk) = entry.map_err(|detail| self.damaged_page(number, detail))?;
            while metrics.get(at).is_some_and(|&metric| metric < found) {
                at += 1;
            }
            while metrics.get(at) == Some(&found) {
                visit(at, chunk);
                at += 1;
            }
            if at == metrics.len() {
                break;
            }
        }
        Ok(())
    }

    /// All chunks in ascending order of metric.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self)
    }

    pub(super) fn pages(&self) -> usize {
        self.index.len()
    }

    /// The page that holds the metric, if any does.
    fn page_of(&self, metric: u32) -> Option<usize> {
        if metric > self.info.last_metric {
            return None;
        }
        self.index.partition_point(|page| page.first_metric <= metric).checked_sub(1)
    }

    fn last_metric_of(&self, number: usize) -> u32 {
        self.index.get(number + 1).map_or(self.info.last_metric, |next| next.first_metric - 1)
    }

    /// Reads a page and checks that it is the one in the index.
    pub(super) fn page<'b>(&self, number: usize, buf: &'b mut Vec<u8>) -> Result<Page<'b>, BlockError> {
        let Some(&entry) = self.index.get(number) else {
            return Err(self.damaged_page(number, "the index does not have it"));
        };
        buf.clear();
        buf.resize(entry.len as usize, 0);
        self.file.read_exact_at(buf, entry.offset).map_err(|source| BlockError::Io {
            action: "read",
            path: self.info.path.clone(),
            source,
        })?;
        let page = page::unframe(buf).and_then(Page::parse).and_then(|page| match page.clone().next() {
            Some(Ok((first, _))) if first == entry.first_metric => Ok(page),
            _ => Err("it does not begin with the metric that the index names"),
        });
        page.map_err(|detail| self.damaged_page(number, detail))
    }

    pub(super) fn damaged_page(&self, page: usize, detail: impl Into<String>) -> BlockError {
        self.has_damage.store(true, Ordering::Relaxed);
        BlockError::DamagedPage {
            path: self.info.path.clone(),
            page,
            first_metric: self.index.get(page).map_or(0, |entry| entry.first_metric),
            last_metric: self.last_metric_of(page),
            detail: detail.into(),
        }
    }
}
