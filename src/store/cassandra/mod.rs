//! The store on a Cassandra cluster, in BigGraphite's tables.
//!
//! | file       | what it is for                                                      |
//! |------------|---------------------------------------------------------------------|
//! | `settings` | what must be known to reach a cluster                               |
//! | `cluster`  | the connection: one session, one runtime, statements prepared once  |
//! | `purpose`  | what a request is for, its consistency level and timeout            |
//! | `tls`      | certificates                                                        |
//! | `fault`    | what the driver reports, in words that say what to do               |
//! | `schema`   | the tables: required, existing, different, created                  |
//! | `lease`    | this server's writer number                                         |
//! | `flight`   | requests at the same time, but not too many                         |
//! | `names`    | metrics and directories: created, loaded, found, followed, cleaned  |
//! | `rows`     | which row of which table a slot is                                  |
//! | `sender`   | writing points                                                      |
//! | `fetch`    | reading points                                                      |
//! | `erase`    | deleting points                                                     |
//! | `events`   | writing and reading events                                          |
//! | `memos`    | keeping memos                                                       |
//! | `copier`   | copying points from one metric to another                           |
//! | `throttle` | how many batches may be in flight                                   |
//! | `usage`    | counting rows, and how large tables are                             |
//! | `kairosdb` | reading the tables of KairosDB                                      |

mod cluster;
mod copier;
mod erase;
mod events;
mod fault;
mod fetch;
mod flight;
mod kairosdb;
mod lease;
mod memos;
pub mod names;
mod purpose;
mod rows;
pub mod schema;
mod sender;
mod settings;
mod throttle;
mod tls;
mod usage;

pub use cluster::Cluster;
pub use copier::{Copied, Copier, CopyJob};
pub use erase::{erase, erase_stretch};
pub use events::Events;
pub use fault::{ClusterError, Fault};
pub use fetch::{Fetcher, UNSETTLED_SECS, Wanted};
pub use kairosdb::{KairosTables, Tags};
pub use lease::{KEEP_SECS, Lease, Writer, writers};
pub use memos::Memos;
pub use purpose::Purpose;
pub use scylla::statement::Consistency;
pub use sender::{Delivery, Sender};
pub use settings::{Levels, Login, Settings, Tls};
pub use usage::{
    Held, LARGE_PARTITION, TableSize, held, partition_bytes, partitions, row_bytes, sizes, tables,
};
