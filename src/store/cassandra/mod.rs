//! The store on a Cassandra cluster, in BigGraphite's tables.
//!
//! | file       | what it is for                                                      |
//! |------------|---------------------------------------------------------------------|
//! | `settings` | what must be known to reach a cluster                               |
//! | `cluster`  | the connection: one session, one runtime, statements prepared once  |
//! | `purpose`  | what a request is for, and the consistency and patience it gets     |
//! | `tls`      | certificates                                                        |
//! | `fault`    | what the driver reports, in words that say what to do               |
//! | `schema`   | the tables: needed, there, different, made                          |
//! | `lease`    | this server's writer number                                         |
//! | `names`    | metrics and directories: made, loaded, found, followed, cleaned     |
//! | `rows`     | which row of which table a slot is                                  |
//! | `sender`   | writing points                                                      |
//! | `fetch`    | reading points                                                      |
//! | `erase`    | deleting points                                                     |

mod cluster;
mod erase;
mod fault;
mod fetch;
mod lease;
pub mod names;
mod purpose;
mod rows;
pub mod schema;
mod sender;
mod settings;
mod tls;

pub use cluster::Cluster;
pub use erase::erase;
pub use fault::{ClusterError, Fault};
pub use fetch::{Fetcher, Wanted};
pub use lease::{KEEP_SECS, Lease, RENEW_INTERVAL};
pub use purpose::Purpose;
pub use scylla::statement::Consistency;
pub use sender::{Sender, Shipment};
pub use settings::{Levels, Login, Settings, Tls};
