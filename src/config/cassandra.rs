//! `[store.cassandra]` as the rest of the program sees it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The Cassandra cluster.
#[derive(Clone, Debug)]
pub struct Cassandra {
    /// `host:port` of the nodes to connect to first.
    pub nodes: Vec<String>,
    /// The data centre whose nodes are queried; `None` means all.
    pub datacenter: Option<String>,
    /// Keyspace of the points.
    pub keyspace: String,
    /// Keyspace of metrics and directories.
    pub keyspace_metadata: String,
    /// Make missing keyspaces, tables and indexes at a start.
    pub apply_schema: bool,
    /// How long the tables of points that are made remember deletions.
    pub gc_grace: Duration,
    /// How often nodes write what is in their memory of these tables to disk; zero means when memory is full.
    pub memtable_flush_period: Duration,
    /// The stretch of time that is compacted together in these tables; zero leaves it to the stage.
    pub compaction_window: Duration,
    /// Which of up to four servers that write the same points, 0 to 3.
    pub replica: u8,
    /// Writer number, 14 bits; `None` takes a free one.
    pub writer: Option<u16>,
    /// How often the server records that it uses its writer number.
    pub renew_interval: Duration,
    /// Consistency level of reading points.
    pub consistency_read: ConsistencyLevel,
    /// Consistency level of writing points.
    pub consistency_write: ConsistencyLevel,
    /// Consistency level of reading and writing names.
    pub consistency_metadata: ConsistencyLevel,
    /// Consistency level of background work.
    pub consistency_background: ConsistencyLevel,
    /// How long connecting to a node may take.
    pub connect_timeout: Duration,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// A read without an answer is also sent to a second node after this time; zero means never.
    pub speculative_delay: Duration,
    /// User to log in as.
    pub username: Option<String>,
    /// The password itself.
    pub password: Option<Secret>,
    /// Where the password is.
    pub password_file: Option<PathBuf>,
    /// How globs are looked up.
    pub index: CassandraIndex,
    /// Metrics whose data is past its retention are not found.
    pub hide_expired: bool,
    /// All names are reloaded this often; zero means never.
    pub reload_interval: Duration,
    /// Points are sent this often.
    pub flush_interval: Duration,
    /// Aggregated slots that are not over yet are sent this often; zero means never.
    pub running_interval: Duration,
    /// Most bytes that may wait to be sent.
    pub spool_bytes: u64,
    /// Most batches in flight.
    pub max_in_flight: usize,
    /// Most queries in flight.
    pub max_queries: usize,
    /// `[store.cassandra.tls]`
    pub tls: Tls,
}

/// How many replicas must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsistencyLevel {
    /// Any one.
    One,
    /// Any two.
    Two,
    /// Any three.
    Three,
    /// More than half of all.
    Quorum,
    /// Every one.
    All,
    /// One in the local data centre.
    LocalOne,
    /// More than half of those in the local data centre.
    LocalQuorum,
}

impl ConsistencyLevel {
    /// Every one.
    pub const ALL: [ConsistencyLevel; 7] = [
        ConsistencyLevel::One,
        ConsistencyLevel::Two,
        ConsistencyLevel::Three,
        ConsistencyLevel::Quorum,
        ConsistencyLevel::All,
        ConsistencyLevel::LocalOne,
        ConsistencyLevel::LocalQuorum,
    ];

    /// Its name in Cassandra and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            ConsistencyLevel::One => "ONE",
            ConsistencyLevel::Two => "TWO",
            ConsistencyLevel::Three => "THREE",
            ConsistencyLevel::Quorum => "QUORUM",
            ConsistencyLevel::All => "ALL",
            ConsistencyLevel::LocalOne => "LOCAL_ONE",
            ConsistencyLevel::LocalQuorum => "LOCAL_QUORUM",
        }
    }
}

/// A text that is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How globs are looked up in Cassandra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CassandraIndex {
    /// The hierarchy is held in this server's memory; the cluster needs no indexes.
    Memory,
    /// BigGraphite's SASI indexes.
    Sasi,
    /// Storage-attached indexes of Cassandra 5.
    Sai,
}

impl CassandraIndex {
    /// Every one.
    pub const ALL: [CassandraIndex; 3] = [CassandraIndex::Memory, CassandraIndex::Sasi, CassandraIndex::Sai];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            CassandraIndex::Memory => "memory",
            CassandraIndex::Sasi => "sasi",
            CassandraIndex::Sai => "sai",
        }
    }
}

/// Encryption towards Cassandra.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Use it.
    pub enabled: bool,
    /// Certificates to trust; `None` means those of the system.
    pub ca_file: Option<PathBuf>,
    /// Certificate to present.
    pub cert_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
    /// A node's certificate must name the address it is reached at.
    pub verify_address: bool,
}

impl Default for Cassandra {
    fn default() -> Self {
        Self {
            nodes: vec!["127.0.0.1:9042".to_owned()],
            datacenter: None,
            keyspace: "biggraphite".to_owned(),
            keyspace_metadata: "biggraphite_metadata".to_owned(),
            apply_schema: false,
            gc_grace: Duration::from_secs(86_400),
            memtable_flush_period: Duration::from_secs(900),
            compaction_window: Duration::ZERO,
            replica: 0,
            writer: None,
            renew_interval: Duration::from_secs(60),
            consistency_read: ConsistencyLevel::LocalOne,
            consistency_write: ConsistencyLevel::LocalOne,
            consistency_metadata: ConsistencyLevel::LocalQuorum,
            consistency_background: ConsistencyLevel::LocalQuorum,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
            speculative_delay: Duration::ZERO,
            username: None,
            password: None,
            password_file: None,
            index: CassandraIndex::Memory,
            hide_expired: true,
            reload_interval: Duration::from_secs(24 * 3600),
            flush_interval: Duration::from_secs(60),
            running_interval: Duration::from_secs(600),
            spool_bytes: 10 << 30,
            max_in_flight: 128,
            max_queries: 256,
            tls: Tls::default(),
        }
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self { enabled: false, ca_file: None, cert_file: None, key_file: None, verify_address: true }
    }
}
