//! What the data directory takes up, and how much room is left for it.

use std::path::Path;

use super::engine::Engine;
use crate::log;
use crate::store::embedded::stage_dir;
use crate::telemetry::Disk;

impl Engine {
    /// The sizes as of now. This is cheap: the sizes of blocks are in memory, and the others are a few calls of `stat`.
    pub(super) fn disk(&self) -> Disk {
        let usage = self.store.points.disk_usage();
        Disk {
            stages: usage.stages.into_iter().map(|(stage, bytes)| (stage_dir(stage), bytes)).collect(),
            spool: usage.spool,
            catalogue: usage.catalogue,
            log: log::size_bytes(&self.store.log_dir).unwrap_or(0),
            free: free_bytes(&self.config.store.path).ok(),
        }
    }
}

/// Bytes that this process may still write on the volume of `path`.
pub(super) fn free_bytes(path: &Path) -> rustix::io::Result<u64> {
    let volume = rustix::fs::statvfs(path)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}
