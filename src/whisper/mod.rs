//! Graphite's whisper files: read, written, found in a directory, and named.
//!
//! Carbon keeps one file for each metric, with one ring of points for each resolution. go-carbon has a second format, which
//! compresses the points. [`Reader`] reads both and decides by the first bytes which one it is; [`write()`] writes carbon's.
//! `docs/format/whisper.md` describes both.
//!
//! * [`Reader`], [`parse`]: a file becomes a [`Series`]: its [`Header`], and the live points of every [`Archive`].
//! * [`Series::stretches`]: the archives without the points that would count twice.
//! * [`Tree`]: all files below a directory, in order. [`name`]: which metric is this file?
//! * [`write()`]: a file that whisper, carbon and go-carbon read.
//!
//! Bytes and paths come in, values go out: nothing here knows a store, an index or a server.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

mod archive;
pub mod compressed;
mod error;
mod fields;
mod header;
mod input;
mod merge;
mod method;
pub mod name;
mod reader;
mod ring;
#[cfg(test)]
mod tests;
mod tree;
mod writer;

pub use archive::Archive;
pub use error::{FileError, ReadError, WriteError};
pub use header::{Format, Header};
pub use merge::Stretch;
pub use method::Method;
pub use reader::{Reader, Series, parse};
pub use tree::{Found, Skip, Skipped, Tree};
pub use writer::{encode, file_bytes, write};

/// Bytes of a point in a ring or a buffer: time stamp and value.
const POINT_BYTES: usize = 12;
