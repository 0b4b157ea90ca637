//! What must be known to reach a cluster.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::Consistency;
use super::schema::TableOptions;

/// How to reach a cluster, and how to treat it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `host:port` of the nodes to connect to first; the others are discovered through them.
    pub nodes: Vec<String>,
    /// Query only nodes of this data centre.
    pub datacenter: Option<String>,
    /// Keyspace of the points.
    pub keyspace: String,
    /// Keyspace of metrics and directories.
    pub keyspace_metadata: String,
    /// How many replicas must answer.
    pub levels: Levels,
    /// How long connecting to a node may take.
    pub connect_timeout: Duration,
    /// How long a request may take, including retries.
    pub request_timeout: Duration,
    /// A read without an answer is also sent to a second node after this time.
    pub speculative_delay: Option<Duration>,
    /// Options of the tables of points that are made.
    pub table_options: TableOptions,
    /// The login.
    pub login: Option<Login>,
    /// Encryption.
    pub tls: Option<Tls>,
}

/// How many replicas must answer, by kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Reading points.
    pub read: Consistency,
    /// Writing points.
    pub write: Consistency,
    /// Reading and writing names.
    pub metadata: Consistency,
    /// Background work.
    pub background: Consistency,
}

/// A user and the password.
#[derive(Clone)]
pub struct Login {
    /// The user.
    pub username: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Encryption.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificates to trust, in PEM; `None` means those of the system.
    pub ca_file: Option<PathBuf>,
    /// Certificate to present, in PEM, followed by its intermediate certificates.
    pub cert_file: Option<PathBuf>,
    /// Its key, in PEM.
    pub key_file: Option<PathBuf>,
    /// A node's certificate must name the address it is reached at.
    pub verify_address: bool,
}

impl Settings {
    /// Nodes as one text.
    pub(super) fn nodes_text(&self) -> String {
        self.nodes.join(", ")
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: vec!["127.0.0.1:9042".to_owned()],
            datacenter: None,
            keyspace: "biggraphite".to_owned(),
            keyspace_metadata: "biggraphite_metadata".to_owned(),
            levels: Levels::default(),
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
            speculative_delay: None,
            table_options: TableOptions::default(),
            login: None,
            tls: None,
        }
    }
}

/// Any one replica is enough for points: a node that is down gets them later. Names are few, and a missing name hides all
/// points of its metric, so more than half of the replicas must agree on them.
impl Default for Levels {
    fn default() -> Self {
        Self {
            read: Consistency::LocalOne,
            write: Consistency::LocalOne,
            metadata: Consistency::LocalQuorum,
            background: Consistency::LocalQuorum,
        }
    }
}
