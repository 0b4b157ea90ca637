//! The one list of keys. It makes the serde structs the values are read into, and the table in [`super::keys`].
//!
//! Adding a key: a line here, a field in [`super::resolved`], a line in `Raw::resolve` (`load.rs`), then
//! `UPDATE_DOCS=1 cargo test --lib config::reference`.

use serde::Deserialize;

use super::keys::{Key, Section};
use super::kinds::{
    ConsistencyChoice, FilePath, IndexChoice, Keyspace, Kind, Listener, MaybePath, MaybeSecret, MaybeText,
    Number, OriginList, Retentions, RuleTables, Size, StoreChoice, Switch, Text, TextList, Time, WriterId,
};

/// A number that may be anything.
type AnyNumber = Number<0, { i64::MAX as u64 }>;
/// A number that must not be 0.
type Positive = Number<1, { i64::MAX as u64 }>;

macro_rules! sections {
    ($($field:ident: $section:ident $path:literal $about:literal {
        $($key:ident: $kind:ty = $default:literal, $help:literal;)*
    })*) => {
        /// Every section, with a value for every key.
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Raw {
            $(#[serde(rename = $path)] pub(super) $field: $section,)*
        }

        $(
            // `rule` is read where its lines are still known, in `inline_rule.rs`, and stands here for the table.
            #[allow(dead_code)]
            #[derive(Debug, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub(super) struct $section {
                $(pub(super) $key: $kind,)*
            }
        )*

        /// Every section, in the order of the documentation.
        pub(super) const SECTIONS: &[Section] = &[$(Section { name: $path, help: $about },)*];

        /// Every key, in the order of the documentation.
        pub const KEYS: &[Key] = &[$($(Key {
            section: $path,
            name: stringify!($key),
            kind: <$kind as Kind>::NAME,
            default: $default,
            help: $help,
            is_path: <$kind as Kind>::IS_PATH,
            is_secret: <$kind as Kind>::IS_SECRET,
            canonical: <$kind as Kind>::canonical,
        },)*)*];
    };
}

sections! {
    listen: Listen "listen" "Where to listen. Each is an `IP:port`; `\"off\"` or `\"\"` switches a listener off." {
        http: Listener = r#""127.0.0.1:8080""#, "The Graphite HTTP API, health and counters.";
        carbon: Listener = r#""127.0.0.1:2003""#, "Carbon plaintext over TCP, and over UDP unless `ingest.udp` is false.";
        pickle: Listener = r#""127.0.0.1:2004""#, "Carbon pickle over TCP.";
        carbon_tls: Listener = r#""off""#, "Carbon plaintext over TLS, with the certificate of `[listen.tls]`.";
        pickle_tls: Listener = r#""off""#, "Carbon pickle over TLS.";
        cache_query: Listener = r#""off""#, "Carbon's cache queries, for graphite-web's `CARBONLINK_HOSTS`; carbon's own port is 7002.";
    }

    listen_tls: ListenTls "listen.tls" "The certificate for `listen.carbon_tls` and `listen.pickle_tls`. The files are read again when they change." {
        cert_file: MaybePath = r#""""#, "Certificate to show to senders, in PEM, with those between it and the root.";
        key_file: MaybePath = r#""""#, "Key of that certificate, in PEM, without a password.";
        client_ca_file: MaybePath = r#""""#, "Senders must show a certificate that one of these signed; `\"\"` asks for none.";
        handshake_timeout: Time<1> = r#""10s""#, "Longest time a sender may take to agree on keys.";
    }

    store: Store "store" "Where data lives." {
        kind: StoreChoice = r#""embedded""#, "Which store: `\"embedded\"` keeps everything in `store.path`, `\"cassandra\"` in a cluster.";
        path: FilePath = r#""plumbago-data""#, "The data directory; made when it does not exist. In front of a cluster it is the spool.";
        sync_interval: Time<0> = r#""200ms""#, "How often the log is synced to disk; 0 means after every batch.";
        cut_interval: Time<1> = r#""10m""#, "Points in memory are written to blocks at least this often.";
        head_points: Positive = "12_000_000", "Points in memory are written to blocks as soon as there are this many.";
        reserve_bytes: Size<0> = r#""1GiB""#, "Free space to leave on the disk: below it new metrics are refused, below half of it reading from senders pauses.";
    }

    cassandra: Cassandra "store.cassandra" "The Cassandra store, in BigGraphite's tables. Used when `store.kind` is `\"cassandra\"`." {
        nodes: TextList = r#"["127.0.0.1:9042"]"#, "Nodes to begin with; the others are found through them.";
        datacenter: MaybeText = r#""""#, "Ask only nodes of this data centre; `\"\"` asks all, which is right for a cluster in one place.";
        keyspace: Keyspace = r#""biggraphite""#, "Keyspace of the points.";
        keyspace_metadata: Keyspace = r#""biggraphite_metadata""#, "Keyspace of the metrics and directories.";
        apply_schema: Switch = "false", "Make missing keyspaces, tables and indexes at a start, as `plumbago schema apply --create-keyspaces` does: a keyspace gets three replicas, or as many as there are nodes. With false the server says what is missing, and points wait on disk.";
        replica: Number<0, 3> = "0", "Which replica of a pair of servers this one is, 0 to 3.";
        writer: WriterId = r#""auto""#, "This server's writer number, 0 to 16382; `\"auto\"` takes a free one.";
        consistency_read: ConsistencyChoice = r#""LOCAL_ONE""#, "Consistency level of reading points.";
        consistency_write: ConsistencyChoice = r#""LOCAL_ONE""#, "Consistency level of writing points; a node that is away gets them later, by hints and repair.";
        consistency_metadata: ConsistencyChoice = r#""LOCAL_QUORUM""#, "Consistency level of reading and writing names: few, and a lost one hides its points.";
        consistency_background: ConsistencyChoice = r#""LOCAL_QUORUM""#, "Consistency level of work nobody waits for: loading all names, cleaning, repairing.";
        connect_timeout: Time<1> = r#""5s""#, "Longest time to connect to a node.";
        request_timeout: Time<1> = r#""10s""#, "Longest time to wait for an answer, retries included.";
        speculative_delay: Time<0> = r#""0s""#, "A read without an answer is sent to a second node after this; 0 means never.";
        username: MaybeText = r#""""#, "User to log in as; `\"\"` means no login.";
        password: MaybeSecret = r#""""#, "The password. Better given by `password_file`, or by the environment.";
        password_file: MaybePath = r#""""#, "File that holds the password; a line end after it does not count.";
        index: IndexChoice = r#""memory""#, "How globs are looked up.";
        hide_expired: Switch = "true", "With the index in memory: metrics that were not written to for longer than they are kept are not found any more. They come back with their next point.";
        reload_interval: Time<0> = r#""24h""#, "With `index = \"memory\"` all names are read again this often, to forget those that expired, and those that others removed from the tables, as BigGraphite's tools do; 0 means never.";
        flush_interval: Time<1> = r#""1m""#, "Points are sent to the cluster this often, or later while it is slow: longer means fewer, fuller writes. Other servers see them then; this one at once.";
        spool_bytes: Size<1> = r#""10GiB""#, "Points that wait for the cluster may take this much disk (about two bytes a point); then reading from senders pauses.";
        max_in_flight: Positive = "128", "Most batches on their way to the cluster at a time; fewer while it is slow.";
        max_queries: Positive = "256", "Most queries to the cluster at a time, over all readers.";
    }

    tls: Tls "store.cassandra.tls" "Encryption between this server and Cassandra." {
        enabled: Switch = "false", "Use TLS.";
        ca_file: MaybePath = r#""""#, "Certificates to trust; `\"\"` means those of the system.";
        cert_file: MaybePath = r#""""#, "Certificate to show to the cluster.";
        key_file: MaybePath = r#""""#, "Key of that certificate.";
        verify_address: Switch = "true", "A node's certificate must name the IP address it is reached by; with false any certificate signed by the trusted ones will do.";
    }

    ingest: Ingest "ingest" "Limits on what comes in." {
        udp: Switch = "true", "Also listen for plaintext on UDP, on the address of `listen.carbon`.";
        max_line_bytes: Size<64> = r#""64KiB""#, "Longest plaintext line; a longer one is dropped, the connection stays.";
        max_frame_bytes: Size<64> = r#""1MiB""#, "Longest pickle frame; a longer one closes the connection, as in carbon.";
        max_name_bytes: Size<1> = r#""4KiB""#, "Longest metric name, tags included.";
        max_connections: Positive = "10_000", "Open carbon connections, plaintext and pickle together.";
        idle_timeout: Time<0> = r#""10m""#, "A connection without traffic is closed after this; 0 means never.";
        max_creates_per_second: AnyNumber = "0", "New metrics per second; 0 means no limit.";
        max_metrics: AnyNumber = "0", "Metrics in total; 0 means no limit.";
        max_future: Time<0> = r#""1d""#, "Points further ahead of the clock than this are refused.";
        keep_infinite: Switch = "true", "Store `inf` and `-inf` values instead of dropping them.";
        max_event_bytes: Size<64> = r#""64KiB""#, "Longest event that is taken at `/events/`: its texts together.";
        drain_timeout: Time<0> = r#""5s""#, "How long connections may go on sending after a stop was asked for.";
    }

    http: Http "http" "How HTTP is spoken." {
        compress: Switch = "true", "Compress answers with gzip for clients that accept it.";
        allow_origins: OriginList = "[]", "Pages of these origins, such as `\"https://grafana.example\"`, may read answers in the browser (CORS); `\"*\"` allows all.";
    }

    query: Query "query" "Limits on what is asked." {
        timezone: Text = r#""UTC""#, "Time zone of `from`, `until` and CSV when the request names none.";
        max_find_hits: Positive = "200_000", "Most names one find may return.";
        find_timeout: Time<1> = r#""10s""#, "Longest time one find may take.";
        search_timeout: Time<1> = r#""1s""#, "How long the metric browser searches by words before it shows what it has found.";
        max_series: Positive = "50_000", "Most series one render may fetch.";
        max_points: Positive = "50_000_000", "Most points one render may fetch, over all series.";
        tag_completions: Positive = "100", "Tags or values that `/tags/autoComplete` gives when the request has no `limit`.";
        max_events: Positive = "10_000", "Most events in one answer of `/events/get_data`, and most that one `events()` may count.";
        render_timeout: Time<1> = r#""1m""#, "Longest time one render may take.";
        max_concurrent: Positive = "64", "Renders and finds running at once; more wait.";
    }

    retention: RetentionKeys "retention" "How long points are kept and how they are rolled up." {
        schemas: MaybePath = r#""storage-schemas.conf""#, "Carbon's retention file. May be missing unless it is set here; `\"\"` reads none.";
        aggregation: MaybePath = r#""storage-aggregation.conf""#, "Carbon's aggregation file. May be missing unless it is set here; `\"\"` reads none.";
        default: Retentions = r#""10s:1d,1m:30d,1h:2y""#, "Retention of names that no rule matches.";
        rule: RuleTables = "[]", "Rules without an extra file, as `[[retention.rule]]` tables.";
    }

    telemetry: OwnMetrics "telemetry" "This server's own numbers. Those for Prometheus are at `/internal/metrics`, always." {
        carbon_interval: Time<0> = r#""1m""#, "How often they are also stored as metrics, under carbon's names; 0 means never.";
        carbon_prefix: Text = r#""carbon.agents.{host}""#, "What these metrics begin with; `{host}` is the name of this machine, with `_` for its dots.";
    }

    rules: NameRules "rules" "Carbon's rules for names on their way in. The files are read again when they change; one that cannot be used leaves the old rules in force." {
        blacklist: MaybePath = r#""""#, "`blacklist.conf`: regular expressions, one a line; points of a name in which one is found are refused.";
        whitelist: MaybePath = r#""""#, "`whitelist.conf`: the same; points of a name in which none is found are refused, unless the file has no expression.";
        rewrite: MaybePath = r#""""#, "`rewrite-rules.conf`: `pattern = replacement` in the sections `[pre]` and `[post]`, before and after aggregation.";
        aggregation: MaybePath = r#""""#, "`aggregation-rules.conf`: `output (seconds) = method input`.";
        keep_originals: Switch = "true", "Store the points that go into an aggregate, too.";
        max_gathered: Positive = "1_000_000", "Most intervals of aggregates that are gathered at a time; points of more are left out of their aggregates, and counted.";
    }
}
