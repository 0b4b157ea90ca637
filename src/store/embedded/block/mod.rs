//! Block files: the chunks of many metrics for one stage and one time partition, written once.
//!
//! A file is a header, pages of chunks in ascending order of metric, an index of the pages, and a trailer; a CRC-32C
//! covers every byte. It is written under a temporary name, synced and renamed, so a file under its final name is complete.
//! Later cuts go to new files, which override it. `docs/format/block.md` has the layout.
//!
//! [`BlockWriter`] writes, [`Block`] reads by metric, [`Cursor`] reads it all in order. A damaged page loses the metrics in
//! it and no others.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

mod cursor;
mod error;
mod layout;
mod page;
mod reader;
mod salvage;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use cursor::Cursor;
pub use error::BlockError;
pub use layout::{BlockMeta, FORMAT_VERSION};
pub use page::Page;
pub use reader::Block;
pub use salvage::{Salvaged, salvage};
pub use writer::BlockWriter;

use std::path::PathBuf;

/// What is known about a block file without reading its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub meta: BlockMeta,
    /// Bytes of the file.
    pub bytes: u64,
    /// Number of pages.
    pub pages: usize,
    /// Number of chunks; 0 is allowed, and then the bounds below are 0 too.
    pub chunks: u64,
    /// Lowest metric.
    pub first_metric: u32,
    /// Highest metric.
    pub last_metric: u32,
    /// Lowest slot of any chunk.
    pub first_slot: u32,
    /// Highest slot of any chunk.
    pub last_slot: u32,
}
