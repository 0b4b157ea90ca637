//! The configuration as the rest of the program sees it: every key has a value, every value was checked.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Auth, Cassandra, Ceres, Listen, PageOrigins, Quota, RetentionRules, machine};

/// Everything a server needs to know.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// `[listen]`
    pub listen: Listen,
    /// `[auth]`
    pub auth: Auth,
    /// `[store]`
    pub store: Store,
    /// `[store.cassandra]`
    pub cassandra: Cassandra,
    /// `[ingest]`
    pub ingest: Ingest,
    /// `[http]`
    pub http: Http,
    /// `[kairosdb]`, but for the retention, which is among the rules
    pub kairosdb: Kairosdb,
    /// `[ceres]`
    pub ceres: Ceres,
    /// `[query]`
    pub query: Query,
    /// `[[quota]]`, and after them those of `ingest.quotas_file`.
    pub quotas: Vec<Quota>,
    /// `[retention]`
    pub retention: RetentionRules,
    /// `[rules]`
    pub rules: NameRules,
    /// `[server]`
    pub server: Server,
    /// `[telemetry]`
    pub own_metrics: OwnMetrics,
}

impl Config {
    /// What somebody should know who lets others reach this server, if they may do more than they should.
    pub fn exposed(&self) -> Option<String> {
        let elsewhere = |address: Option<SocketAddr>| address.filter(|address| !address.ip().is_loopback());
        let (http, https) = (elsewhere(self.listen.http), elsewhere(self.listen.https));
        let open = http.or(https)?;
        if !self.auth.is_on() {
            let role = self.auth.anonymous();
            return Some(format!(
                "everybody who reaches {open} has the role {role} without a login; set up logins (docs/SECURITY-SETUP.md), or listen on 127.0.0.1"
            ));
        }
        let plain = http.filter(|_| self.auth.proxies.is_empty())?;
        Some(format!(
            "logins at {plain} (listen.http) are not encrypted; use listen.https, or a proxy that is in auth.proxies"
        ))
    }
}

/// The process.
#[derive(Clone, Debug)]
pub struct Server {
    /// How long the process goes on after one of its threads failed.
    pub failure_grace: Duration,
}

impl Default for Server {
    fn default() -> Self {
        Self { failure_grace: Duration::from_secs(10) }
    }
}

/// The server's own numbers as metrics.
#[derive(Clone, Debug)]
pub struct OwnMetrics {
    /// How often they are stored; zero means never.
    pub interval: Duration,
    /// Prefix of their names.
    pub prefix: String,
    /// The collector that spans go to.
    pub otlp_endpoint: Option<String>,
}

impl Default for OwnMetrics {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            prefix: "carbon.agents.{host}".to_owned(),
            otlp_endpoint: None,
        }
    }
}

/// Carbon's rules for incoming names. `None` means no such file.
#[derive(Clone, Debug)]
pub struct NameRules {
    /// Names to reject.
    pub blacklist: Option<PathBuf>,
    /// The only names to accept.
    pub whitelist: Option<PathBuf>,
    /// Names to change.
    pub rewrite: Option<PathBuf>,
    /// Metrics to build from others.
    pub aggregation: Option<PathBuf>,
    /// Are the points of an aggregate also stored?
    pub keep_originals: bool,
    /// Most open intervals at once.
    pub max_gathered: usize,
}

impl NameRules {
    /// The files that are configured.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.blacklist, &self.whitelist, &self.rewrite, &self.aggregation];
        all.into_iter().filter_map(|file| file.as_deref())
    }
}

impl Default for NameRules {
    fn default() -> Self {
        Self {
            blacklist: None,
            whitelist: None,
            rewrite: None,
            aggregation: None,
            keep_originals: true,
            max_gathered: 1_000_000,
        }
    }
}

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// On this machine's disk.
    Embedded,
    /// In a Cassandra cluster.
    Cassandra,
}

/// The store and the log in front of it.
#[derive(Clone, Debug)]
pub struct Store {
    /// Which one.
    pub kind: StoreKind,
    /// Data directory.
    pub path: PathBuf,
    /// The log is synced to disk this often; zero means after every batch.
    pub sync_interval: Duration,
    /// Points in memory are written to blocks at least this often.
    pub cut_interval: Duration,
    /// And as soon as there are this many of them.
    pub head_points: usize,
    /// Answer queries, and change nothing on the disk.
    pub read_only: bool,
    /// Free bytes to leave on the disk: below it new metrics are rejected, below half of it reading pauses.
    pub reserve_bytes: u64,
}

/// Limits on incoming data.
#[derive(Clone, Debug)]
pub struct Ingest {
    /// Also listen for plaintext on UDP.
    pub udp: bool,
    /// Longest plaintext line in bytes.
    pub max_line_bytes: usize,
    /// Longest pickle frame in bytes.
    pub max_frame_bytes: usize,
    /// Longest metric name in bytes.
    pub max_name_bytes: usize,
    /// Open carbon connections, plaintext and pickle together.
    pub max_connections: usize,
    /// A connection without traffic is closed after this; zero means never.
    pub idle_timeout: Duration,
    /// Bytes of unfinished lines and frames, over all connections.
    pub max_unfinished_bytes: usize,
    /// New metrics per second; 0 means no limit.
    pub max_creates_per_second: u64,
    /// Metrics in total; 0 means no limit.
    pub max_metrics: u64,
    /// Values of one tag; 0 means no limit.
    pub max_tag_values: u64,
    /// Points further ahead of the clock than this are rejected.
    pub max_future: Duration,
    /// Store `inf` and `-inf` values instead of dropping them.
    pub keep_infinite: bool,
    /// Longest event in bytes.
    pub max_event_bytes: usize,
    /// How long connections may keep sending after a stop was requested.
    pub drain_timeout: Duration,
}

/// HTTP options.
#[derive(Clone, Debug)]
pub struct Http {
    /// Are answers compressed for clients that accept it?
    pub compress: bool,
    /// Pages of these origins may read answers.
    pub allow_origins: PageOrigins,
    /// Open connections.
    pub max_connections: usize,
    /// How long a connection may have no request; zero means for ever.
    pub idle_timeout: Duration,
    /// How long browsers are to remember that there is TLS; zero means not at all.
    pub hsts: Duration,
    /// Most bytes of bundles in one call.
    pub max_import_bytes: usize,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            compress: true,
            allow_origins: PageOrigins::default(),
            max_connections: 10_000,
            idle_timeout: Duration::from_secs(120),
            hsts: Duration::ZERO,
            max_import_bytes: 64 << 20,
        }
    }
}

/// The doors of KairosDB, OpenTSDB and Ceres.
#[derive(Clone, Debug)]
pub struct Kairosdb {
    /// Longest body, as it is sent and as it is unpacked.
    pub max_body_bytes: usize,
    /// Most errors in one answer.
    pub max_errors: usize,
    /// Most values of metadata, for each tenant.
    pub max_metadata: usize,
    /// Longest one, with its names.
    pub max_metadata_bytes: usize,
}

impl Default for Kairosdb {
    fn default() -> Self {
        Self { max_body_bytes: 64 << 20, max_errors: 100, max_metadata: 10_000, max_metadata_bytes: 16 << 10 }
    }
}

/// Limits on queries.
#[derive(Clone, Debug)]
pub struct Query {
    /// Time zone of `from`, `until` and CSV when the request names none.
    pub timezone: String,
    /// Most names one find may return.
    pub max_find_hits: usize,
    /// Longest time one find may take.
    pub find_timeout: Duration,
    /// How long the metric browser searches by words before it shows what it has found.
    pub search_timeout: Duration,
    /// Most series one render may fetch.
    pub max_series: usize,
    /// Most points one render may fetch, over all series.
    pub max_points: usize,
    /// Tags or values that are offered for completion when the request has no limit.
    pub tag_completions: usize,
    /// Most events in one answer.
    pub max_events: usize,
    /// Longest time one render may take.
    pub render_timeout: Duration,
    /// Most renders and finds that run at once; others wait.
    pub max_concurrent: usize,
    /// Most of these of one user.
    pub max_concurrent_each: usize,
    /// Most of these that read series.
    pub max_renders: usize,
    /// Most of those of one user.
    pub max_renders_each: usize,
    /// Cores that queries may use; 0 means all.
    pub cores: usize,
    /// How far their threads step back.
    pub niceness: u8,
    /// Bytes that all queries together may use.
    pub memory: usize,
    /// Bytes that one query may use.
    pub memory_each: usize,
    /// How long a query waits for memory that others use.
    pub memory_wait: Duration,
    /// Most font files of the system that are read.
    pub max_fonts: usize,
    /// Most bytes of them.
    pub max_font_bytes: u64,
    /// Queries that take longer are logged; 0 means none.
    pub slow: Duration,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            kind: StoreKind::Embedded,
            path: PathBuf::from("plumbago-data"),
            sync_interval: Duration::from_millis(200),
            cut_interval: Duration::from_secs(600),
            head_points: 12_000_000,
            read_only: false,
            reserve_bytes: 1 << 30,
        }
    }
}

impl Default for Ingest {
    fn default() -> Self {
        Self {
            udp: true,
            max_line_bytes: 64 * 1024,
            max_frame_bytes: 1024 * 1024,
            max_name_bytes: 4096,
            max_connections: 10_000,
            idle_timeout: Duration::from_secs(600),
            max_unfinished_bytes: 64 << 20,
            max_creates_per_second: 0,
            max_metrics: 0,
            max_tag_values: 0,
            max_future: Duration::from_secs(86_400),
            keep_infinite: true,
            max_event_bytes: 64 * 1024,
            drain_timeout: Duration::from_secs(5),
        }
    }
}

impl Default for Query {
    fn default() -> Self {
        Self {
            timezone: "UTC".to_owned(),
            max_find_hits: 200_000,
            find_timeout: Duration::from_secs(10),
            search_timeout: Duration::from_secs(1),
            max_series: 50_000,
            max_points: 50_000_000,
            tag_completions: 100,
            max_events: 10_000,
            render_timeout: Duration::from_secs(60),
            max_concurrent: 64,
            max_concurrent_each: 32,
            max_renders: machine::renders(),
            max_renders_each: machine::renders().div_ceil(2),
            cores: 0,
            niceness: 5,
            memory: usize::try_from(machine::share(25)).unwrap_or(usize::MAX),
            memory_each: 256 << 20,
            memory_wait: Duration::from_secs(5),
            max_fonts: 16,
            max_font_bytes: 64 << 20,
            slow: Duration::from_secs(1),
        }
    }
}
