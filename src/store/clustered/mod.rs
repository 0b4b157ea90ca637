//! A store on a cluster, with this machine's disk in front of it.
//!
//! Everything this server accepts goes through its own log into its own blocks, as in the embedded store, and from there to
//! Cassandra, cut by cut. The blocks that have not arrived are the spool, one cut in it is a parcel, and the [`Deliverer`]
//! delivers parcel after parcel. So ingest never waits for the cluster, the spool takes two bytes a point, and this server's
//! part of every aggregate follows from its own blocks alone: it is written again as a whole, never added to, and nothing is
//! counted twice after a crash. Readers put together what the cluster has from all writers and what is still in the spool.
//!
//! Names go the same two ways. What this server creates is sent, what others create and delete is followed.
//!
//! | file            | what it is for                                                          |
//! |-----------------|-------------------------------------------------------------------------|
//! | `link`          | all parts put together, as the server sees them                         |
//! | `assembly`      | how each part is made                                                   |
//! | `points`        | the slots: written here, read from both sides                           |
//! | `reader`        | what all writers have, and what is still in the spool                   |
//! | `identities`    | the metrics' ids in the cluster                                         |
//! | `shard`         | the shard this directory writes under                                   |
//! | `deliverer`     | delivering parcels, in order, until they have arrived                   |
//! | `writer_number` | the number this server writes under, leased                             |
//! | `running`       | writing slots that are not over yet                                     |
//! | `remover`       | deleting metrics and stretches of their time for all servers            |
//! | `erasures`      | what of the spool was deleted by a stretch of time since it was cut     |
//! | `outdated`      | which metrics have new points since their running slots were written    |
//! | `name_sync`     | one round of all that keeps names the same                              |
//! | `name_sender`   | sending names that were created here                                    |
//! | `schema_watch`  | waiting until the cluster has the tables that are needed                |
//! | `follower`      | following what others create and delete                                 |
//! | `reloader`      | reading all names                                                       |
//! | `vanished`      | what a reload forgets, and what it creates again                        |
//! | `strays`        | metrics without metadata                                                |
//! | `adopted`       | which metrics came from the cluster                                     |
//! | `usage`         | marks of when metrics were written and read                             |
//! | `lookup`        | globs, while not all names are in memory                                |
//! | `tables`        | the tables of names as a trait                                          |
//! | `notes`         | what the data directory remembers of all this                           |
//! | `backoff`       | when to try again, and what to log                                      |

mod adopted;
mod assembly;
mod backoff;
mod deliverer;
mod erasures;
mod follower;
mod identities;
mod link;
mod lookup;
mod name_sender;
mod name_sync;
mod notes;
mod outdated;
mod points;
mod reader;
mod reloader;
mod remover;
mod running;
mod schema_watch;
mod shard;
mod strays;
mod tables;
#[cfg(test)]
mod testing;
mod usage;
mod vanished;
mod writer_number;

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use deliverer::{Delivered, Deliverer, RowDelivery, RowWriter};
pub use identities::Identities;
pub use link::{Link, LinkSettings};
pub use schema_watch::SchemaWatch;
pub use writer_number::WriterNumber;

use super::cassandra::{Cluster, Fetcher};
use super::embedded::{Embedded, Spool};
use super::{MetricStore, PointStore, StoreError};
use erasures::Erasures;
use shard::Shard;

/// Metrics sent or learnt in one go.
const BATCH: usize = 2000;

/// A data directory in front of a cluster.
pub struct Clustered {
    /// The directory.
    pub local: Embedded,
    /// What has to be delivered.
    pub spool: Spool,
    /// The metrics' ids in the cluster.
    pub identities: Arc<Identities>,
    /// The slots.
    pub points: Arc<dyn PointStore>,
    /// The names.
    pub metrics: Arc<dyn MetricStore>,
    shard: Arc<Shard>,
    erasures: Erasures,
}

impl Clustered {
    /// Opens `dir` in front of a cluster, which need not be there.
    pub fn open(dir: &Path, cluster: &Arc<Cluster>, max_queries: usize) -> Result<Self, StoreError> {
        let (local, spool) = Embedded::open_with_spool(dir)?;
        let shard = Arc::new(Shard::open(&local)?);
        let identities = Arc::new(Identities::default());
        let points: Arc<dyn PointStore> = Arc::new(points::ClusteredPoints {
            local: Arc::clone(&local.points),
            spool: spool.clone(),
            identities: Arc::clone(&identities),
            fetcher: Arc::new(Fetcher::new(Arc::clone(cluster), max_queries)),
            shard: Arc::clone(&shard),
        });
        let metrics: Arc<dyn MetricStore> =
            Arc::new(identities::Known::new(Arc::clone(&local.metrics), Arc::clone(&identities)));
        let erasures = Erasures::open(&local)?;
        Ok(Self { local, spool, identities, points, metrics, shard, erasures })
    }

    /// The shard this directory writes under, once it has one.
    pub fn shard(&self) -> Option<i16> {
        self.shard.get()
    }

    /// Decides the shard. That can be done once.
    pub fn set_shard(&self, shard: i16) -> Result<(), StoreError> {
        self.shard.set(shard, &self.local)
    }
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Seconds since 1970.
fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}
