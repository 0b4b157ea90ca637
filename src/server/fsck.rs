//! Checks all files of a data directory: of a store that nobody uses, or of the one that this server has open.

use std::path::{Path, PathBuf};

use super::engine::Engine;
use crate::disk::{self, Folder};
use crate::http::Checked;
use crate::log::{self, LogError, Replay};
use crate::store::embedded::inspect;
use crate::store::{Report, StoreError};
use plumbago_model::QueryError;

/// Checks a data directory that no server uses. `progress` is called with blocks done and blocks in all.
pub fn check_files(dir: &Path, progress: impl FnMut(u64, u64)) -> Result<Checked, StoreError> {
    let dir = Folder::from(dir);
    let mut report = inspect::fsck(&dir, progress)?;
    let log = dir.join("log");
    if !disk::exists(&**log.disk(), log.path()) {
        return Ok(checked(report, 0));
    }
    let end = log_end(&log, report.log_floor);
    let found = log::replay_of(&log, report.store, report.log_floor, |_| ());
    let log_records = note_log(found, &mut report, |path| Some(path) == end.as_deref(), true);
    Ok(checked(report, log_records))
}

/// Mends a data directory that no server uses, as far as that is possible, and checks it then.
pub fn repair_files(dir: &Path, progress: impl FnMut(u64, u64)) -> anyhow::Result<Checked> {
    let folder = Folder::from(dir);
    let (store, floor, mut mended) = inspect::repair(&folder)?;
    let log = folder.join("log");
    if disk::exists(&**log.disk(), log.path()) {
        mended.extend(log::mend(&log, store, floor)?);
    }
    Ok(Checked { mended, ..check_files(dir, progress)? })
}

impl Engine {
    /// The same for the store that is open here. It reads beside everything else, and one check runs at a time.
    pub(super) fn check_own_files(&self) -> Result<Checked, QueryError> {
        let headway = self.check.begin(&self.config.store.path).map_err(|_| {
            QueryError::Limit("the files are being checked already; try again when that is done".to_owned())
        })?;
        let _ends = self.check.ending();
        let mut report = self.store.points.verify(&headway)?;
        let floor = || self.store.points.snapshot().position().log_floor;
        loop {
            let began = floor();
            let end = log_end(&self.store.log_dir, began);
            let found = log::replay_of(&self.store.log_dir, report.store, began, |_| ());
            // A cut has removed segments meanwhile: what is left of the log is read again.
            if found.is_err() && floor() != began {
                continue;
            }
            // Half a record at the end is one that is being written at this moment.
            let is_end = |path: &Path| end.as_deref().is_none_or(|end| path >= end);
            let log_records = note_log(found, &mut report, is_end, false);
            return Ok(checked(report, log_records));
        }
    }
}

/// The last segment of the log.
fn log_end(log: &Folder, floor: u64) -> Option<PathBuf> {
    let segments = log::segments(log, floor).ok()?;
    segments.into_iter().next_back().map(|(_, path)| path)
}

/// Adds what was found in the log. After a crash its last segment may end in half a record, which was never acknowledged.
fn note_log(
    found: Result<Replay, LogError>,
    report: &mut Report,
    is_end: impl Fn(&Path) -> bool,
    remark_on_end: bool,
) -> u64 {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            report.problems.push(error.to_string());
            return 0;
        }
    };
    for damage in found.damage {
        let line = format!("{} at byte {}: {}", damage.path.display(), damage.offset, damage.detail);
        let is_torn_end = is_end(&damage.path) && damage.is_end;
        match (is_torn_end, remark_on_end) {
            (false, _) => report.problems.push(line),
            (true, true) => report.remarks.push(line),
            (true, false) => {}
        }
    }
    found.records
}

fn checked(report: Report, log_records: u64) -> Checked {
    let Report { metrics, blocks, bytes, problems, remarks, .. } = report;
    Checked { metrics, blocks, bytes, log_records, problems, remarks, mended: Vec::new() }
}
