//! Reads a whole block in order, for merging.

use super::{Block, BlockError};

/// Points at one chunk of a block at a time, in ascending order of metric.
///
/// It starts before the first chunk: call [`Cursor::advance`] first.
pub struct Cursor<'a> {
    block: &'a Block,
    /// The next page to read.
    next_page: usize,
    page: Vec<u8>,
    /// Metric of each chunk in the page, and where in `page` its bytes are.
    chunks: Vec<(u32, std::ops::Range<usize>)>,
    /// The current one.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(block: &'a Block) -> Self {
        Self { block, next_page: 0, page: Vec::new(), chunks: Vec::new(), at: 0 }
    }

    /// The current metric and chunk: `None` before the first and after the last.
    pub fn current(&self) -> Option<(u32, &[u8])> {
        let (metric, range) = self.chunks.get(self.at)?;
        Some((*metric, self.page.get(range.clone())?))
    }

    /// Moves to the next chunk; false if there is none.
    ///
    /// An error means that a page cannot be read. Called again, it continues with the first chunk after that page.
    pub fn advance(&mut self) -> Result<bool, BlockError> {
        if self.at + 1 < self.chunks.len() {
            self.at += 1;
            return Ok(true);
        }
        self.chunks.clear();
        self.at = 0;
        if self.next_page == self.block.pages() {
            return Ok(false);
        }
        let number = self.next_page;
        self.next_page += 1;
        let loaded = self.load(number);
        if loaded.is_err() {
            self.chunks.clear();
        }
        loaded.map(|()| true)
    }

    fn load(&mut self, number: usize) -> Result<(), BlockError> {
        for entry in self.block.page(number, &mut self.page)? {
            let (metric, chunk) = entry.map_err(|detail| self.block.damaged_page(number, detail))?;
            self.chunks.push((metric, 0..chunk.len()));
        }
        // The chunks are at the end of the page, one after the other.
        let mut end = self.page.len();
        for (_, range) in self.chunks.iter_mut().rev() {
            *range = end - range.len()..end;
            end = range.start;
        }
        Ok(())
    }
}
