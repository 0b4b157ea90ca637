//! Chunks: some slots of one metric in one stage within one time partition, packed into a few bytes.
//!
//! A chunk holds slot numbers (relative to the start of the partition, ascending), one `f64` per slot, and for aggregated
//! stages one `u32` count per slot and the tag of the aggregation method. Every part is stored in whichever way is
//! smallest for this chunk, and every value comes back bit for bit. `docs/format/chunk.md` has the layout.
//!
//! [`Encoder`] writes chunks; [`Chunk`] reads them, either densely into a window of slots or as [`Samples`]. A chunk has
//! no checksum of its own (the page of the block around it has), but no sequence of bytes makes the reader panic or
//! allocate beyond [`MAX_SLOTS`].

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

mod bits;
mod chunk;
mod counts;
mod decimal;
mod encode;
mod presence;
#[cfg(test)]
mod tests;
mod values;
pub(super) mod varint;
mod xor;

pub use chunk::{Chunk, Samples};
pub use encode::{Encoder, Partials};

/// Most slots a chunk can hold. Bounds what a damaged chunk can make a reader allocate.
pub const MAX_SLOTS: usize = 1 << 20;

/// Why a chunk could not be written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// The bytes are not a chunk.
    #[error("the chunk is malformed: {0}")]
    Malformed(&'static str),
    /// Counts were requested from a chunk of raw points.
    #[error("the chunk holds raw points, which have no counts")]
    NoCounts,
    /// A chunk cannot hold these slots.
    #[error("cannot write the chunk: {0}")]
    Unwritable(&'static str),
}
