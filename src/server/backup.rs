//! Backups of the store: a cut, so that everything accepted is in it, and then the copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::engine::{Engine, now};
use crate::http::{self, BackupError, BackupState, Backups};
use crate::store::{BackedUp, Headway, StoreError};
use plumbago_model::count;

/// The backup that is being made, if one is, or another long work that is done once at a time.
#[derive(Default)]
pub(super) struct Current(Mutex<Option<(PathBuf, Arc<Headway>)>>);

impl Current {
    /// Begins one, unless there is one.
    pub(super) fn begin(&self, dir: &Path) -> Result<Arc<Headway>, BackupError> {
        let mut current = self.0.lock();
        if let Some((other, _)) = &*current {
            return Err(BackupError::Busy(other.display().to_string()));
        }
        let headway = Arc::new(Headway::default());
        *current = Some((dir.to_owned(), Arc::clone(&headway)));
        Ok(headway)
    }

    /// Makes room for the next one when it is dropped.
    pub(super) fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    /// Makes it fail soon: the server stops. What it has done is there for the next one.
    pub(super) fn stop(&self) {
        if let Some((_, headway)) = &*self.0.lock() {
            headway.stop();
        }
    }
}

/// Makes room for the next one, however this one ends.
pub(super) struct Ending<'a>(&'a Current);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}

impl Backups for Engine {
    fn back_up(&self, dir: &Path) -> Result<http::BackedUp, BackupError> {
        let headway = self.backup.begin(dir)?;
        let _ends = self.backup.ending();
        let began = Instant::now();
        let made = self.make_backup(dir, &headway);
        let seconds = began.elapsed().as_secs_f64();
        match made {
            Ok(made) => {
                self.telemetry.backups.add(1);
                self.telemetry.backup_time.set(u64::from(now()));
                self.telemetry.backup_duration.set(seconds.round() as u64);
                tracing::info!(dir = %dir.display(), files = made.files, bytes = made.bytes, seconds, "a backup was made");
                Ok(told(dir, made, seconds))
            }
            Err(error) => {
                self.telemetry.backup_failures.add(1);
                tracing::warn!(dir = %dir.display(), %error, "a backup failed");
                Err(error)
            }
        }
    }

    fn backup_state(&self) -> BackupState {
        let Some((dir, headway)) = self.backup.0.lock().clone() else { return BackupState::default() };
        BackupState {
            running: Some(dir),
            files: headway.files.get(),
            all_files: headway.all_files.get(),
            bytes: headway.bytes.get(),
            all_bytes: headway.all_bytes.get(),
        }
    }
}

impl Engine {
    fn make_backup(&self, dir: &Path, headway: &Headway) -> Result<BackedUp, BackupError> {
        self.points.cut_all().map_err(|error| {
            BackupError::Failed(format!("writing the points in memory to the store failed: {error}"))
        })?;
        self.store.upstream.back_up(dir, headway).map_err(|error| match error {
            StoreError::Refused(text) => BackupError::Refused(text),
            other => BackupError::Failed(format!(
                "the backup failed after {} of {}: {other}; an earlier backup in {} is as it was, and the next attempt \
                 goes on from here",
                headway.files.get(),
                count(headway.all_files.get(), "file"),
                dir.display()
            )),
        })
    }
}

fn told(dir: &Path, made: BackedUp, seconds: f64) -> http::BackedUp {
    let BackedUp { number, files, bytes, linked, copied, copied_bytes, kept, removed, lost } = made;
    let dir = dir.to_owned();
    http::BackedUp { dir, number, files, bytes, linked, copied, copied_bytes, kept, removed, lost, seconds }
}
