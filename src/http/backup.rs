//! `/internal/backup`: a copy of the store, in a directory of the server's machine.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::call::Call;
use super::care::required;
use super::error::Failure;
use super::find::to_json;
use super::gate::{Audit, Seen};
use super::reply;

/// A backup that was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BackedUp {
    /// Where it is.
    pub dir: PathBuf,
    /// How many backups were made in this place, with this one.
    pub number: u64,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that are hard links to those of the store.
    pub linked: u64,
    /// Files that were copied.
    pub copied: u64,
    /// Bytes that were copied.
    pub copied_bytes: u64,
    /// Files that were there already.
    pub kept: u64,
    /// Files of earlier backups that were removed.
    pub removed: u64,
    /// Blocks that the store lists but cannot read. They are not in the backup.
    pub lost: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// How far the backup is that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupState {
    /// Where it is made; nothing if none is.
    pub running: Option<PathBuf>,
    /// Files that are done.
    pub files: u64,
    /// All files; 0 while the points in memory are written to the store.
    pub all_files: u64,
    /// Bytes that are done.
    pub bytes: u64,
    /// All bytes.
    pub all_bytes: u64,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It cannot be done as it was asked for.
    #[error("{0}")]
    Refused(String),
    /// Another one is being made.
    #[error("a backup is being made in {0}; try again when it is done")]
    Busy(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// Making backups.
pub trait Backups {
    /// Makes a backup in a directory. Everything accepted before this call is in it.
    fn back_up(&self, dir: &Path) -> Result<BackedUp, BackupError>;

    /// How far it is.
    fn backup_state(&self) -> BackupState;
}

/// `POST /internal/backup`: `dir`. Answers when the backup is complete. It goes on if the caller does not wait.
pub(super) async fn make(Seen(api): Seen, audit: Audit, call: Call) -> Result<Response, Failure> {
    let dir = PathBuf::from(required(&call, "dir")?);
    if !dir.is_absolute() {
        let shown = dir.display();
        return Err(Failure::Invalid(format!(
            "`dir` is `{shown}`: write a whole path, from / on, of the machine that the server runs on"
        )));
    }
    let work = spawn_blocking(move || {
        let backups = api.backend.backups().ok_or_else(Failure::no_store)?;
        let made = backups.back_up(&dir).map_err(|error| match error {
            BackupError::Refused(text) => Failure::Refused(text),
            BackupError::Busy(_) => Failure::Conflict(error.to_string()),
            BackupError::Failed(text) => Failure::Store(text),
        })?;
        audit.note("backup", &dir.display().to_string(), made.files);
        Ok::<_, Failure>(made)
    });
    Ok(answer(&work.await.map_err(|_| Failure::Internal)??))
}

/// `GET /internal/backup`
pub(super) async fn state(Seen(api): Seen) -> Result<Response, Failure> {
    Ok(answer(&api.backend.backups().ok_or_else(Failure::no_store)?.backup_state()))
}

fn answer(found: &impl Serialize) -> Response {
    let mut response = reply::body(StatusCode::OK, "application/json", to_json(found));
    reply::never_cached(&mut response);
    response
}
