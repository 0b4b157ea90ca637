//! The server: puts everything together. Apart from `cli` it is the only module that knows all others.

mod applied;
mod backend;
mod background;
mod backup;
mod browse;
mod bundles;
mod care;
mod catalog;
mod cluster;
mod confined;
mod copy;
mod disk;
mod engine;
mod erase;
mod events;
mod expiry;
mod fsck;
mod labelled;
mod local_metrics;
mod memos;
mod notify;
mod own_metrics;
mod recent;
mod rename;
mod repair;
mod retention;
mod run;
mod sink;
mod sockets;
mod source;
mod storage;
mod supervisor;
mod system;
mod tags;
mod top;
mod write;

pub use applied::{Applying, applying_quotas};
pub use cluster::{cluster_indexes, cluster_schema, cluster_settings};
pub use copy::CopyError;
pub use engine::{Engine, now};
pub use fsck::{check_files, repair_files};
pub use run::run;

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Logs why points are not accepted, but not for every batch.
fn complain(error: &dyn std::error::Error) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock();
    if last.is_none_or(|at| at.elapsed() > Duration::from_secs(5)) {
        *last = Some(Instant::now());
        tracing::error!(%error, "the server cannot take points now; senders are held back");
    }
}
