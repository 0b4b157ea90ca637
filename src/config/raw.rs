//! The one list of keys. It makes the serde structs the values are read into, and the table in [`super::keys`].
//!
//! Adding a key: a line here, a field in [`super::resolved`], a line in `Raw::resolve` (`load.rs`), then
//! `UPDATE_DOCS=1 cargo test --lib config::reference`.

use serde::Deserialize;

use super::keys::{Key, Section};
use super::kinds::{
    AddressList, ConsistencyChoice, FilePath, ForgetTime, IndexChoice, Keyspace, Kind, Listener, MaybePath,
    MaybeSecret, MaybeText, Memory, Number, OriginList, Retentions, RoleChoice, RuleTables, Size,
    StoreChoice, Switch, Text, TextList, Time, WriterId,
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
        #[allow(dead_code, reason = "quotas are read where their lines are known, in `inline_quota.rs`")]
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
    top: Top "" "What stands above all sections." {
        quota: RuleTables = "[]", "Quotas in this file, as `[[quota]]` tables.";
    }

    listen: Listen "listen" "Where to listen. Each is an `IP:port`; `\"off\"` or `\"\"` switches a listener off." {
        http: Listener = r#""127.0.0.1:8080""#, "The Graphite HTTP API, health and counters.";
        https: Listener = r#""off""#, "The same over TLS, HTTP/1.1 and HTTP/2, with the certificate of `[listen.tls]`.";
        carbon: Listener = r#""127.0.0.1:2003""#, "Carbon plaintext over TCP, and over UDP unless `ingest.udp` is false.";
        pickle: Listener = r#""127.0.0.1:2004""#, "Carbon pickle over TCP.";
        carbon_tls: Listener = r#""off""#, "Carbon plaintext over TLS, with the certificate of `[listen.tls]`.";
        pickle_tls: Listener = r#""off""#, "Carbon pickle over TLS.";
        cache_query: Listener = r#""off""#, "Carbon's cache queries, for graphite-web's `CARBONLINK_HOSTS`; carbon's own port is 7002.";
        kairosdb_telnet: Listener = r#""off""#, "KairosDB's and OpenTSDB's lines, `put cpu.load 1700000000 0.5 host=a`, over TCP; their own port is 4242.";
        allow: AddressList = "[]", "Addresses and networks, such as `\"10.0.0.0/8\"`, that may send points and cache queries: carbon, pickle, both over TLS, and UDP; `[]` allows all. It does not apply to HTTP.";
    }

    listen_tls: ListenTls "listen.tls" "The certificate for `listen.https`, `listen.carbon_tls` and `listen.pickle_tls`. The files are reloaded when they change." {
        cert_file: MaybePath = r#""""#, "Certificate to present to clients, in PEM, followed by its intermediate certificates.";
        key_file: MaybePath = r#""""#, "Private key of that certificate, in PEM, without a passphrase.";
        client_ca_file: MaybePath = r#""""#, "Senders must present a certificate signed by one of these, and clients of `listen.https` may; `\"\"` asks for none.";
        handshake_timeout: Time<1> = r#""10s""#, "How long a TLS handshake may take.";
    }

    store: Store "store" "Where data lives." {
        kind: StoreChoice = r#""embedded""#, "Which store: `\"embedded\"` keeps everything in `store.path`, `\"cassandra\"` in a cluster.";
        path: FilePath = r#""plumbago-data""#, "The data directory; created if it does not exist. With a cluster it holds the spool.";
        sync_interval: Time<0> = r#""200ms""#, "How often to sync the log to disk; 0 means after every batch.";
        cut_interval: Time<1> = r#""10m""#, "Write the points in memory to blocks at least this often.";
        head_points: Positive = "12_000_000", "Write the points in memory to blocks as soon as there are this many.";
        read_only: Switch = "false", "For rescue, with the embedded store: answer queries, take no points, and change nothing on the disk. `plumbago serve --read-only` sets it.";
        reserve_bytes: Size<0> = r#""1GiB""#, "Free space to leave on the disk. Below it new metrics are rejected; below half of it the server stops reading from senders.";
    }

    cassandra: Cassandra "store.cassandra" "The Cassandra store, in BigGraphite's tables. Used when `store.kind` is `\"cassandra\"`." {
        nodes: TextList = r#"["127.0.0.1:9042"]"#, "Nodes to connect to first; the others are discovered through them.";
        datacenter: MaybeText = r#""""#, "Query only nodes of this data centre; `\"\"` queries all, which is right for a cluster in one place.";
        keyspace: Keyspace = r#""biggraphite""#, "Keyspace of the points.";
        keyspace_metadata: Keyspace = r#""biggraphite_metadata""#, "Keyspace of the metrics and directories.";
        apply_schema: Switch = "false", "Make missing keyspaces, tables and indexes at a start, as `plumbago schema apply --create-keyspaces` does: a keyspace gets three replicas, or as many as there are nodes. With false the server says what is missing, and points wait on disk.";
        gc_grace: Time<0> = r#""1d""#, "For tables of points that are made: how long Cassandra remembers deletions. A node that was down for longer may bring deleted points back.";
        memtable_flush_period: Time<0> = r#""15m""#, "For tables of points that are made: how often a node writes what is in its memory to disk; 0 means when memory is full.";
        compaction_window: Time<0> = r#""0s""#, "For tables of points that are made: the stretch of time whose files are compacted into one, in full minutes; 0 means by the stage, as BigGraphite chooses it.";
        replica: Number<0, 3> = "0", "Which replica of a pair of servers this one is, 0 to 3.";
        writer: WriterId = r#""auto""#, "This server's writer number, 0 to 16382; `\"auto\"` takes a free one.";
        renew_interval: Time<1> = r#""1m""#, "How often the server records in the cluster that it uses its writer number; the same for all servers. Once it has not done so for ten times as long, another server that is configured with this number may take it.";
        consistency_read: ConsistencyChoice = r#""LOCAL_ONE""#, "Consistency level for reading points.";
        consistency_write: ConsistencyChoice = r#""LOCAL_ONE""#, "Consistency level for writing points; a node that is down gets them later, by hints and repair.";
        consistency_metadata: ConsistencyChoice = r#""LOCAL_QUORUM""#, "Consistency level for reading and writing names: there are few of them, and losing one hides its points.";
        consistency_background: ConsistencyChoice = r#""LOCAL_QUORUM""#, "Consistency level for background work: loading all names, cleaning, repairing.";
        connect_timeout: Time<1> = r#""5s""#, "How long connecting to a node may take.";
        request_timeout: Time<1> = r#""10s""#, "How long to wait for an answer, including retries.";
        speculative_delay: Time<0> = r#""0s""#, "Also send a read to a second node if it has no answer after this time; 0 means never.";
        username: MaybeText = r#""""#, "User to log in as; `\"\"` means no login.";
        password: MaybeSecret = r#""""#, "The password. Prefer `password_file` or the environment.";
        password_file: MaybePath = r#""""#, "File that contains the password; a trailing newline is ignored.";
        index: IndexChoice = r#""memory""#, "How to look up globs: `\"memory\"` in this server's memory, which needs no indexes in the cluster; `\"sasi\"` or `\"sai\"` by indexes there.";
        hide_expired: Switch = "true", "With the index in memory: hide metrics that were not written to for longer than their retention. They come back with their next point.";
        reload_interval: Time<0> = r#""24h""#, "With `index = \"memory\"`: how often to reload all names, to forget those that expired and those that others, such as BigGraphite's tools, removed from the tables; 0 means never.";
        flush_interval: Time<1> = r#""1m""#, "How often to send points to the cluster; less often while it is slow. Longer means fewer, fuller writes. Other servers see points after this time, this one at once.";
        running_interval: Time<0> = r#""10m""#, "How often to send the aggregated slots that are not over yet, such as today's of a daily stage, so that BigGraphite's readers see them too. They are also sent at a stop. 0 means never: a slot is then sent when it ends.";
        spool_bytes: Size<1> = r#""10GiB""#, "Most disk that points waiting for the cluster may use (about two bytes a point); beyond it the server stops reading from senders.";
        max_in_flight: Positive = "128", "Most batches in flight to the cluster at once; fewer while it is slow.";
        max_queries: Positive = "256", "Most queries to the cluster at once, over all readers.";
    }

    tls: Tls "store.cassandra.tls" "Encryption between this server and Cassandra." {
        enabled: Switch = "false", "Use TLS.";
        ca_file: MaybePath = r#""""#, "Certificates to trust; `\"\"` means the system's.";
        cert_file: MaybePath = r#""""#, "Certificate to present to the cluster.";
        key_file: MaybePath = r#""""#, "Private key of that certificate.";
        verify_address: Switch = "true", "Require a node's certificate to name the IP address it is reached at; with false, any certificate signed by a trusted one is accepted.";
    }

    ingest: Ingest "ingest" "Limits on incoming data." {
        udp: Switch = "true", "Also listen for plaintext on UDP, on the address of `listen.carbon`.";
        max_line_bytes: Size<64> = r#""64KiB""#, "Longest plaintext line; a longer one is dropped, and the connection stays open.";
        max_frame_bytes: Size<64> = r#""1MiB""#, "Longest pickle frame; a longer one closes the connection, as in carbon.";
        max_name_bytes: Size<1> = r#""4KiB""#, "Longest metric name, including tags.";
        max_connections: Positive = "10_000", "Open carbon connections, plaintext and pickle together.";
        idle_timeout: Time<0> = r#""10m""#, "Close a connection after this long without traffic; 0 means never.";
        max_unfinished_bytes: Size<65_536> = r#""64MiB""#, "Memory for lines and frames whose end has not arrived, over all connections, beyond 4 KiB for each; a connection that needs more is closed.";
        max_creates_per_second: AnyNumber = "0", "New metrics per second; 0 means no limit.";
        max_metrics: AnyNumber = "0", "Metrics in total; 0 means no limit.";
        max_tag_values: AnyNumber = "0", "Most values that one tag may have; new metrics with another value of it are rejected. 0 means no limit.";
        quotas_file: MaybePath = r#""""#, "go-carbon's `storage-quotas.conf`, read beside `[[quota]]`; `\"\"` reads none.";
        max_future: Time<0> = r#""1d""#, "Reject points further ahead of the clock than this.";
        keep_infinite: Switch = "true", "Store `inf` and `-inf` values instead of dropping them.";
        max_event_bytes: Size<64> = r#""64KiB""#, "Longest event that `/events/` accepts, all of its text together.";
        drain_timeout: Time<0> = r#""5s""#, "How long connections may keep sending after the server is asked to stop. In front of Cassandra, also how long the stop may then take to send slots that are not over yet.";
    }

    auth: Auth "auth" "Who may call over HTTP; docs/SECURITY-SETUP.md goes through it. Without any way to log in, programs on this machine may do everything, and others what `anonymous` allows. The files are reloaded when they change; `plumbago user` writes them." {
        users_file: MaybePath = r#""""#, "Users with their roles and scopes. Needed as soon as there is a way to log in.";
        tokens_file: MaybePath = r#""""#, "Hashes of tokens, for `Authorization: Bearer`.";
        htpasswd_file: MaybePath = r#""""#, "Hashes of passwords, bcrypt or argon2, as `htpasswd -B` writes them, for `Authorization: Basic` and the login page.";
        certificates: Switch = "false", "The common name in a client's certificate is the name of a user, at `listen.https` and for senders over TLS. Needs `listen.tls.client_ca_file`.";
        proxy_header: MaybeText = r#""""#, "The header in which a proxy names the user, such as `X-Forwarded-User`; only what comes from `proxies` is believed.";
        proxies: AddressList = "[]", "The addresses of these proxies.";
        anonymous: RoleChoice = r#""auto""#, "What callers without a login may do: `\"none\"`, `\"read\"`, `\"write\"` or `\"admin\"`. `\"auto\"` means `\"none\"` where one can log in, and `\"read\"` where not.";
        session: Time<1> = r#""12h""#, "How long a login on the page lasts.";
        max_failures: Number<1, 1_000_000> = "10", "Wrong logins that one address may try in a minute; then it gets 429 until the minute is over. What was right before goes on working.";
    }

    tenants: Tenants "tenants" "Several parties on one server, each with metrics of its own; docs/TENANTS.md goes through it." {
        enabled: Switch = "false", "Every request is for one tenant, named by the header `X-Tenant`, by the parameter `tenant`, or by the login; only the role admin may go without. With false only users who are bound to a tenant are confined to it.";
        directory: Text = r#""tenants""#, "Metrics without tags are in this directory, under the name of their tenant. Tenants do not see it.";
        tag: Text = r#""tenant""#, "Metrics with tags have this one more. Tenants do not see it.";
        default: MaybeText = r#""""#, "The tenant of requests that name none, and of what comes to the ports of carbon without TLS; `\"\"`: such requests are refused, and the ports are the operator's.";
    }

    http: Http "http" "HTTP options." {
        compress: Switch = "true", "Compress answers with gzip for clients that accept it.";
        max_connections: Positive = "10_000", "Open HTTP connections; one more is closed at once. When three quarters are taken, those without a request stay for two seconds only.";
        idle_timeout: Time<0> = r#""2m""#, "Close a connection that has no request under way for this long; a request counts once its head is complete. 0 means never.";
        hsts: Time<0> = r#""0s""#, "Tell browsers over TLS to reach this host by TLS alone for this long (`Strict-Transport-Security`); 0 means not to. It holds for every port of the host name: other programs there, such as a Grafana without TLS, become unreachable for these browsers.";
        max_import_bytes: Size<1024> = r#""64MiB""#, "Most bytes that one call of `/internal/import` may bring, or one of `/internal/export` may answer.";
        allow_origins: OriginList = "[]", "Pages of these origins, such as `\"https://grafana.example\"`, may read answers in the browser (CORS); `\"*\"` allows all.";
    }

    kairosdb: Kairosdb "kairosdb" "The doors of KairosDB, OpenTSDB and Ceres: docs/KAIROSDB.md." {
        retention: Retentions = r#""1s:7d,1m:30d,1h:2y""#, "Retention of metrics that first come in through these doors, if no retention rule matches. A point per second is kept, and an aggregate is shown if it has any point. A `ttl` that was sent drops the coarse stages that it does not need.";
        max_body_bytes: Size<1024> = r#""64MiB""#, "Longest body that is taken, as it is sent and as it is unpacked.";
        max_errors: Positive = "100", "Most errors that one answer lists; the last one says how many there are besides.";
        max_metadata: Positive = "10_000", "Most values that clients may keep under `/api/v1/metadata`, graphs that people save in the browser among them; each tenant may keep as many.";
        max_metadata_bytes: Size<64> = r#""16KiB""#, "Longest value of metadata, together with the names it is kept under; and longest saved graph. Bodies of more than 2 MiB are never read.";
    }

    ceres: Ceres "ceres" "Aggregates for Ceres' clients: docs/CERES.md. Their granularities are the coarser stages of `kairosdb.retention`." {
        extremes: Switch = "true", "Also keep the smallest and the largest value of each slot of metrics that come in as Ceres', in series beside them whose names end in `_min` and `_max`.";
        counter_suffixes: TextList = r#"["reads", "writes", "bytes"]"#, "Metrics whose names end in one of these are counters: only their sum matters, and nothing is kept beside them.";
        settle: Time<0> = r#""0s""#, "Answer an aggregated slot only when it ended this long ago, so that late points are in it; 0 answers it from its first point on. A point that is later still changes the slot.";
        slot_width: Time<0> = r#""0s""#, "How much time settles together: a multiple of every granularity. 0 means the coarsest of them.";
    }

    query: Query "query" "Limits on queries." {
        timezone: Text = r#""UTC""#, "Time zone of `from`, `until` and CSV if the request names none.";
        max_find_hits: Positive = "200_000", "Most names one find may return.";
        find_timeout: Time<1> = r#""10s""#, "How long one find may take.";
        search_timeout: Time<1> = r#""1s""#, "How long the metric browser searches by words before it shows what it has found.";
        max_series: Positive = "50_000", "Most series one render may fetch.";
        max_points: Positive = "50_000_000", "Most points one render may fetch, over all series.";
        tag_completions: Positive = "100", "How many tags or values `/tags/autoComplete` returns if the request has no `limit`.";
        max_events: Positive = "10_000", "Most events in one answer of `/events/get_data`, and most that one `events()` may count.";
        render_timeout: Time<1> = r#""1m""#, "How long one render may take.";
        max_concurrent: Positive = "64", "Most renders and finds that run at once; others wait.";
        max_concurrent_each: Positive = "32", "Most renders and finds that one user runs at once, or one address without a login; others wait for ten seconds and then get 429 with `Retry-After`.";
        max_renders: AnyNumber = "0", "Most renders that run at once; others wait for up to `query.render_timeout`. 0 means four for each core and at least eight; with Cassandra, for which they mostly wait, `query.max_concurrent`.";
        max_renders_each: AnyNumber = "0", "Most of these of one user, or one address without a login; the answer of those that wait for too long is 429 with `Retry-After`. 0 means half of them.";
        cores: AnyNumber = "0", "Cores that queries may use, on Linux; 0 means all. Points always have all.";
        niceness: Number<0, 19> = "5", "How far the threads of queries step back, on Linux, when a core is wanted for points too: from 0 (not at all) to 19.";
        memory: Memory = r#""25%""#, "Memory that all queries together may use: a size, or a share of this machine's memory (of the container's, if that is less).";
        memory_each: Size<1_048_576> = r#""256MiB""#, "Memory that one query may use.";
        memory_wait: Time<0> = r#""5s""#, "How long a query waits while the others use all of `query.memory`; then it is answered with 503.";
        max_fonts: AnyNumber = "16", "Most font files of the system that are read for letters that the program does not have, such as Chinese; 0 reads none. They are looked for when a picture needs the first one.";
        max_font_bytes: Size<0> = r#""64MiB""#, "Most bytes of all these files together.";
        slow: Time<0> = r#""1s""#, "Log queries that take longer, with what they asked for and where the time went; 0 means none.";
    }

    retention: RetentionKeys "retention" "How long points are kept and how they are rolled up." {
        schemas: MaybePath = r#""storage-schemas.conf""#, "Carbon's retention file. May be missing unless it is set here; `\"\"` reads none.";
        aggregation: MaybePath = r#""storage-aggregation.conf""#, "Carbon's aggregation file. May be missing unless it is set here; `\"\"` reads none.";
        default: Retentions = r#""10s:1d,1m:30d,1h:2y""#, "Retention of names that no rule matches.";
        forget_after: ForgetTime = r#""retention""#, "With the embedded store: forget a metric, its name, tags and points, when its last point is older than this. `\"retention\"` means its own longest retention, `\"off\"` never. It comes back with its next point.";
        forget_interval: Time<1> = r#""1h""#, "How often to look for metrics to forget; the first time a minute after the start, or sooner if this is shorter.";
        rule: RuleTables = "[]", "Rules in this file, as `[[retention.rule]]` tables.";
    }

    server: Server "server" "The process itself." {
        failure_grace: Time<0> = r#""10s""#, "How long the server keeps running after one of its threads has failed, with `/health/ready` at 503; then it exits with code 1.";
    }

    telemetry: OwnMetrics "telemetry" "This server's own numbers. Prometheus can always read them at `/internal/metrics`." {
        carbon_interval: Time<0> = r#""1m""#, "How often to also store them as metrics, under carbon's names; 0 means never.";
        carbon_prefix: Text = r#""carbon.agents.{host}""#, "Prefix of these metrics; `{host}` is the host name, with `_` in place of dots.";
        otlp_endpoint: MaybeText = r#""""#, "The OpenTelemetry collector to send spans to, such as `\"http://127.0.0.1:4318\"`; `\"\"` leaves it to `OTEL_EXPORTER_OTLP_ENDPOINT`. Needs a server that was built with the feature `otlp`.";
    }

    rules: NameRules "rules" "Carbon's rules for incoming names. The files are reloaded when they change; if one is invalid, the old rules stay in force." {
        blacklist: MaybePath = r#""""#, "`blacklist.conf`: regular expressions, one per line; points whose name matches any of them are rejected.";
        whitelist: MaybePath = r#""""#, "`whitelist.conf`: the same, but points whose name matches none of them are rejected, unless the file is empty.";
        rewrite: MaybePath = r#""""#, "`rewrite-rules.conf`: `pattern = replacement` in the sections `[pre]` and `[post]`, before and after aggregation.";
        aggregation: MaybePath = r#""""#, "`aggregation-rules.conf`: `output (seconds) = method input`.";
        keep_originals: Switch = "true", "Also store the points that go into an aggregate.";
        max_gathered: Positive = "1_000_000", "Most aggregation intervals that are open at once; points beyond that are left out of their aggregates, and counted.";
    }
}
