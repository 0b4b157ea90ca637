//! Why a block file could not be read.

use std::io;
use std::path::PathBuf;

use super::layout::FORMAT_VERSION;

/// Why a block file, or a part of it, could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The system could not read the file.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not start like a block file.
    #[error("{path} is not a block file", path = path.display())]
    NotABlock {
        /// Which file.
        path: PathBuf,
    },
    /// Another release wrote the file.
    #[error("{path} was written by format version {found}; this build reads {FORMAT_VERSION}; upgrade", path = path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// The version it has.
        found: u32,
    },
    /// The header, the index or the trailer is damaged: nothing in the file can be trusted.
    #[error("{path} is damaged: {detail}", path = path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// One page is damaged: its metrics are lost, all others are not.
    #[error("{path} is damaged: page {page} (metrics {first_metric} to {last_metric}): {detail}", path = path.display())]
    DamagedPage {
        /// Which file.
        path: PathBuf,
        /// Which page, counted from 0.
        page: usize,
        /// Lowest metric the page can hold.
        first_metric: u32,
        /// Highest metric the page can hold.
        last_metric: u32,
        /// What is wrong with it.
        detail: String,
    },
}
