//! `/internal/fsck`: checks the files of a store that is in use.

use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::care::answered;
use super::error::Failure;
use super::gate::Seen;

/// What a check of all files found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Metrics in the catalogue.
    pub metrics: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records of the log that are not in blocks yet.
    pub log_records: u64,
    /// Everything that is wrong, one line each.
    pub problems: Vec<String>,
    /// What is odd but harmless, one line each.
    pub remarks: Vec<String>,
    /// What `plumbago fsck --repair` has mended, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<String>,
}

/// `POST /internal/fsck`. Answers when every file was read.
pub(super) async fn check(Seen(api): Seen) -> Result<Response, Failure> {
    answered(api, |care| care.check_files().map(Some)).await
}
