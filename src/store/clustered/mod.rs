//! A store on a cluster, with this machine's disk in front of it.
//!
//! Everything this server accepts goes through its own log into its own blocks, as in the embedded store, and from there
//! to Cassandra, cut by cut ([`Shipper`]). So ingest never waits for the cluster, the spool takes two bytes a point, and
//! this server's part of every aggregate follows from its own blocks alone: it is written anew as a whole, never added
//! to, and nothing is counted twice after a crash. Readers put together what the cluster has from all writers and what is
//! still on its way there ([`Reader`]).
//!
//! | file         | what it is for                                                  |
//! |--------------|-----------------------------------------------------------------|
//! | `identities` | the metrics' ids in the cluster                                 |
//! | `shipper`    | sending cuts, in order, until they have arrived                 |
//! | `schema_watch` | waiting until the cluster has the tables that are needed        |
//! | `reader`     | what all writers have, and what is still here                   |

mod identities;
mod reader;
mod schema_watch;
mod shipper;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

pub use identities::Identities;
pub use schema_watch::SchemaWatch;
pub use shipper::{Shipped, Shipper};

use super::cassandra::{Cluster, Fetcher};
use super::embedded::{Embedded, Outbox};
use super::{Cut, MetricStore, PointStore, Snapshot, StoreError};
use plumbago_model::{MetricId, Stage};
use reader::Reader;

/// No shard is known yet: nothing was ever sent.
const NO_SHARD: i32 = i32::MIN;
/// Aggregates are written at least this often; well within the time for which readers do not rely on them.
const FILL_SECS: u32 = 600;
/// Under which name the directory remembers the shard it writes under.
const SHARD_NOTE: &str = "shard";

/// A data directory in front of a cluster.
pub struct Clustered {
    /// The directory.
    pub local: Embedded,
    /// What has to be sent.
    pub outbox: Outbox,
    /// The metrics' ids in the cluster.
    pub identities: Arc<Identities>,
    /// The slots.
    pub points: Arc<dyn PointStore>,
    /// The names.
    pub metrics: Arc<dyn MetricStore>,
    shard: Arc<Shard>,
}

/// The shard this directory writes under, once it has one. It never changes: what was sent under it must be replaced under
/// it.
struct Shard(AtomicI32);

impl Shard {
    fn get(&self) -> Option<i16> {
        i16::try_from(self.0.load(Ordering::Acquire)).ok()
    }
}

impl Clustered {
    /// Opens `dir` in front of a cluster, which need not be there.
    pub fn open(dir: &Path, cluster: &Arc<Cluster>, max_queries: usize) -> Result<Self, StoreError> {
        let (local, outbox) = Embedded::open_with_outbox(dir)?;
        let remembered = local.note(SHARD_NOTE)?.and_then(|text| text.parse::<i16>().ok());
        let shard = Arc::new(Shard(AtomicI32::new(remembered.map_or(NO_SHARD, i32::from))));
        let identities = Arc::new(Identities::default());
        let fetcher = Arc::new(Fetcher::new(Arc::clone(cluster), max_queries));
        let points: Arc<dyn PointStore> = Arc::new(ClusteredPoints {
            local: Arc::clone(&local.points),
            outbox: outbox.clone(),
            identities: Arc::clone(&identities),
            fetcher,
            shard: Arc::clone(&shard),
        });
        let metrics: Arc<dyn MetricStore> =
            Arc::new(identities::Known::new(Arc::clone(&local.metrics), Arc::clone(&identities)));
        Ok(Self { local, outbox, identities, points, metrics, shard })
    }

    /// The shard this directory writes under, once it has one.
    pub fn shard(&self) -> Option<i16> {
        self.shard.get()
    }

    /// Decides the shard. It can be decided once.
    pub fn set_shard(&self, shard: i16) -> Result<(), StoreError> {
        match self.shard.get() {
            Some(known) if known == shard => Ok(()),
            Some(known) => Err(StoreError::Catalogue(format!(
                "this directory has written as replica {} writer {} and cannot go on as replica {} writer {}: set \
                 store.cassandra.replica and store.cassandra.writer back, or begin with another store.path",
                known.cast_unsigned() >> 14,
                known & 0x3fff,
                shard.cast_unsigned() >> 14,
                shard & 0x3fff,
            ))),
            None => {
                self.local.set_note(SHARD_NOTE, &shard.to_string())?;
                self.shard.0.store(i32::from(shard), Ordering::Release);
                Ok(())
            }
        }
    }
}

struct ClusteredPoints {
    local: Arc<dyn PointStore>,
    outbox: Outbox,
    identities: Arc<Identities>,
    fetcher: Arc<Fetcher>,
    shard: Arc<Shard>,
}

impl PointStore for ClusteredPoints {
    fn snapshot(&self) -> Box<dyn Snapshot> {
        self.local.snapshot()
    }

    fn reader(&self) -> Box<dyn Snapshot> {
        // What is pending is taken first: a parcel that arrives in between is then seen twice, and never not at all.
        let pending = self.outbox.pending();
        Box::new(Reader {
            pending,
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

    fn size_bytes(&self) -> u64 {
        self.local.size_bytes()
    }
}
