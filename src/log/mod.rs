//! Step 5: the write-ahead log, which [`crate::rollup`] owns. What is in it survives a kill of the process, and after a sync also
//! a loss of power.
//!
//! The log is a sequence of segment files. Points, new metrics, new policies and deletions are appended as checksummed
//! [`Record`]s before anyone can see them. A cut ([`crate::rollup`]) moves the points into the store; then the segments before
//! the cut are removed.
//!
//! Nothing here knows what a record means. The recovery in [`crate::rollup`] decides which points are still needed and how
//! records fit with what is stored.
//!
//! The layout is in `docs/format/log.md`.

mod dump;
mod mend;
mod record;
mod segment;
mod writer;

pub use dump::dump;
pub use mend::mend;
pub use record::{
    Origin, Record, encode_deleted, encode_metrics, encode_owned, encode_points, encode_policies,
    encode_renamed,
};
pub use segment::{Damage, Replay, check_formats, replay, replay_of, segments, size_bytes};
pub use writer::{Log, Syncer};

/// Why the log failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A file could not be written or read.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A segment from a newer version.
    #[error("{path} has log format {found}; this build reads format {known}: upgrade, or let the newer version finish its log first. If no newer version was ever used here, move the file away: its records are lost", path = path.display(), known = segment::VERSION)]
    Version {
        /// Which file.
        path: std::path::PathBuf,
        /// Its version.
        found: u32,
    },
}

impl LogError {
    fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> LogError {
        let path = path.to_owned();
        move |source| LogError::Io { action, path, source }
    }
}
