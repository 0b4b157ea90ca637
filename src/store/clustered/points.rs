//! The slots: written to this machine's blocks, read from there and from the cluster.

use std::sync::Arc;

use super::Identities;
use super::reader::Reader;
use super::shard::Shard;
use crate::store::cassandra::Fetcher;
use crate::store::embedded::Spool;
use crate::store::{Cut, DiskUsage, Headway, PointStore, Report, Snapshot, StoreError};
use plumbago_model::{MetricId, Stage};

/// Aggregates are written at least this often; well within the time for which readers do not rely on them.
const FILL_SECS: u32 = 600;

/// See the module documentation.
pub(super) struct ClusteredPoints {
    pub(super) local: Arc<dyn PointStore>,
    pub(super) spool: Spool,
    pub(super) identities: Arc<Identities>,
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) shard: Arc<Shard>,
}

impl PointStore for ClusteredPoints {
    fn snapshot(&self) -> Box<dyn Snapshot> {
        self.local.snapshot()
    }

    fn reader(&self) -> Box<dyn Snapshot> {
        // The spool comes first: a parcel that arrives in between is then seen twice, and never not at all.
        let spooled = self.spool.snapshot();
        Box::new(Reader {
            spooled,
            local: self.local.snapshot(),
            identities: Arc::clone(&self.identities),
            fetcher: Arc::clone(&self.fetcher),
            shard: self.shard.get(),
        })
    }

    fn fill_slots(&self, stage: Stage) -> u32 {
        // Other readers see an aggregate when it is written, so it is not kept from them for long.
        (FILL_SECS / stage.step_secs).max(1)
    }

    fn begin(&self) -> Result<Box<dyn Cut + '_>, StoreError> {
        self.local.begin()
    }

    fn expire(&self, stage: Stage, before: u32) -> Result<u64, StoreError> {
        self.local.expire(stage, before)
    }

    fn tidy(&self) -> Result<u64, StoreError> {
        self.local.tidy()
    }

    fn delete(&self, metrics: &[MetricId]) -> Result<(), StoreError> {
        self.local.delete(metrics)
    }

    fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError> {
        self.local.chunk_bytes(metrics)
    }

    fn verify(&self, headway: &Headway) -> Result<Report, StoreError> {
        self.local.verify(headway)
    }

    fn disk_usage(&self) -> DiskUsage {
        self.local.disk_usage()
    }
}
