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

mod cluster;
mod fault;
mod lease;
pub mod names;
mod purpose;
pub mod schema;
mod settings;
mod tls;

pub use cluster::Cluster;
pub use fault::{ClusterError, Fault};
pub use lease::{KEEP_SECS, Lease, RENEW_INTERVAL};
pub use purpose::Purpose;
pub use scylla::statement::Consistency;
pub use settings::{Levels, Login, Settings, Tls};
