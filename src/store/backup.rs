//! What a backup is asked for and what it tells, whatever store makes it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::telemetry::Counter;

/// How far a backup or a restore is. It is read while the work goes on.
#[derive(Debug, Default)]
pub struct Headway {
    /// Files that are done.
    pub files: Counter,
    /// All files.
    pub all_files: Counter,
    /// Bytes that are done.
    pub bytes: Counter,
    /// All bytes.
    pub all_bytes: Counter,
    stopped: AtomicBool,
}

impl Headway {
    /// Asks for an end soon. The work fails, and what is done so far stays for the next attempt.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Was an end asked for?
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Begins again at nothing of so many.
    pub fn begin(&self, files: u64, bytes: u64) {
        self.files.set(0);
        self.bytes.set(0);
        self.all_files.set(files);
        self.all_bytes.set(bytes);
    }
}

/// A backup that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// How many backups were made in this place, with this one.
    pub number: u64,
    /// Files of the backup.
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
}
