//! The number under which this server writes, leased from the cluster and renewed while points are delivered.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::SchemaWatch;
use super::link::LinkSettings;
use crate::store::StoreError;
use crate::store::cassandra::{Cluster, Lease};

/// An owner that did not renew its number for so many intervals is dead.
const MISSED_RENEWALS: u32 = 10;

/// Where a deliverer has its writer number from.
pub trait WriterNumber: Send + Sync {
    /// Does this server have a number?
    fn is_held(&self) -> bool;

    /// Replica and writer number as they stand in the tables. Makes sure that the number is still ours where that was not done for a
    /// while, which may be because the whole process stood still.
    fn shard(&self) -> Result<i16, StoreError>;

    /// Tells the other servers that this one is gone.
    fn release(&self);
}

/// A number leased from the cluster.
pub(super) struct LeasedNumber {
    cluster: Arc<Cluster>,
    /// No number is given before the tables are there.
    schema: Arc<SchemaWatch>,
    replica: u8,
    wanted: Option<u16>,
    renew_interval: Duration,
    /// Where the number is remembered.
    file: PathBuf,
    /// The lease, and when it was renewed.
    lease: Mutex<Option<(Lease, Instant)>>,
}

impl LeasedNumber {
    pub(super) fn new(cluster: Arc<Cluster>, schema: Arc<SchemaWatch>, settings: &LinkSettings) -> Self {
        Self {
            cluster,
            schema,
            replica: settings.replica,
            wanted: settings.writer,
            renew_interval: settings.renew_interval,
            file: settings.writer_file.clone(),
            lease: Mutex::new(None),
        }
    }
}

impl WriterNumber for LeasedNumber {
    fn is_held(&self) -> bool {
        self.lease.lock().is_some()
    }

    fn shard(&self) -> Result<i16, StoreError> {
        self.schema.pass()?;
        let mut held = self.lease.lock();
        if let Some((lease, renewed)) = &mut *held {
            if renewed.elapsed() >= self.renew_interval {
                lease.renew(&self.cluster)?;
                *renewed = Instant::now();
            }
            return Ok(lease.shard());
        }
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let dead_after = self.renew_interval.saturating_mul(MISSED_RENEWALS);
        let (cluster, replica) = (&self.cluster, self.replica);
        let lease = Lease::take(cluster, replica, self.wanted, &self.file, name.trim(), dead_after)?;
        tracing::info!(replica = self.replica, writer = lease.writer(), "writing to the cluster");
        let shard = lease.shard();
        *held = Some((lease, Instant::now()));
        Ok(shard)
    }

    fn release(&self) {
        if let Some((lease, _)) = self.lease.lock().take()
            && let Err(error) = lease.release(&self.cluster)
        {
            tracing::debug!(%error, "the writer number was not given back; it stays reserved for this server");
        }
    }
}
