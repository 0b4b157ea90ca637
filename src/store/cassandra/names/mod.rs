//! Names on the cluster: which metrics there are, and under which policies.
//!
//! | file          | what it is for                                                                 |
//! |---------------|--------------------------------------------------------------------------------|
//! | `identity`    | what a name is in the tables: components, parent, id                           |
//! | `config`      | a policy in the tables                                                         |
//! | `statement`   | the statements, and running them                                               |
//! | `stamp`       | timestamps that identify their server                                          |
//! | `directories` | directories before what is in them, and none that are empty                    |
//! | `writer`      | creating, deleting and touching metrics                                        |
//! | `ring`        | reading a whole table by parallel ranges                                       |
//! | `loader`      | all metrics                                                                    |
//! | `feed`        | what other servers created and deleted                                         |
//! | `plan`        | a glob as queries                                                              |
//! | `walk`        | a glob step by step, where directories are few                                 |
//! | `find`        | the metrics and directories that match a glob                                  |
//! | `survey`      | what is wrong or outdated in the tables                                        |
//! | `record`      | all that is recorded about some metrics                                        |
//! | `repair`      | repairs it                                                                     |
//!
//! The tables are BigGraphite's, and everything here may happen while its servers and ours write to them. Two rules make that
//! safe without locks. Rows are written in an order in which each is useful only once the next exists: directories, `metrics`,
//! `metrics_metadata`, the feed. And a creator checks the directories again *after* it has written the metric, while a remover
//! checks for metrics again *after* it has removed the directory: whichever comes second sees the other.

mod config;
mod directories;
mod feed;
mod find;
pub mod identity;
mod loader;
mod plan;
mod record;
mod repair;
mod ring;
mod stamp;
mod statement;
mod survey;
mod walk;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use crate::store::Hit;
pub use config::{decode as decode_config, encode as encode_config};
pub use feed::{Change, Cursor};
pub use find::{LookupError, LookupLimits};
pub use loader::{Listed, StrayWalk};
pub use record::Record;
pub use repair::{Cleaned, Repaired};
pub use ring::Progress;
pub use survey::{Counts, Orphan};
pub use writer::{Creation, NewMetric, Outcome};

use super::schema::{self, Indexes};
use super::{Cluster, ClusterError, flight};
use directories::KnownDirectories;
use find::Shapes;
use stamp::Stamps;
use statement::Statements;
use writer::Pace;

/// Requests at the same time for one call, unless the caller says otherwise.
const IN_FLIGHT: usize = 64;

/// The names of a cluster. Clones are the same; calls block, and do their requests concurrently inside.
#[derive(Clone)]
pub struct Names {
    shared: Arc<Shared>,
}

struct Shared {
    cluster: Arc<Cluster>,
    indexes: Indexes,
    statements: Statements,
    known: KnownDirectories,
    stamps: Stamps,
    pace: Pace,
    shapes: Shapes,
    /// Metrics created through this.
    created: AtomicU64,
}

impl Names {
    /// The names in the metadata keyspace of a cluster, which has these indexes.
    pub fn new(cluster: Arc<Cluster>, indexes: Indexes) -> Self {
        let statements = Statements::new(&cluster.settings().keyspace_metadata, indexes);
        let shared = Shared {
            cluster,
            indexes,
            statements,
            known: KnownDirectories::default(),
            stamps: Stamps::new(),
            pace: Pace::default(),
            shapes: Shapes::default(),
            created: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The cluster they are on.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.shared.cluster
    }

    fn statements(&self) -> &Statements {
        &self.shared.statements
    }

    /// Is there an index on a column? One that this server would not make may be there all the same.
    async fn has_index(&self, table: &str, column: &str) -> Result<bool, ClusterError> {
        if self.shared.indexes != Indexes::None {
            return Ok(true);
        }
        let keyspace = &self.shared.cluster.settings().keyspace_metadata;
        schema::has_index(&self.shared.cluster, keyspace, table, column).await
    }

    fn block_on<R>(&self, work: impl Future<Output = Result<R, ClusterError>>) -> Result<R, ClusterError> {
        self.shared.cluster.block_on(work)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keyspace = &self.shared.cluster.settings().keyspace_metadata;
        f.debug_struct("Names").field("keyspace", keyspace).field("indexes", &self.shared.indexes).finish()
    }
}
