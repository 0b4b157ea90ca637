//! Loading: the layers in order, then carbon's files, then one checked [`Config`].

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::kinds::{MaybePath, StoreChoice};
use super::raw::{self, Raw};
use super::resolved::{
    Config, Http, Ingest, Kairosdb, NameRules, OwnMetrics, Query, Server, Store, StoreKind,
};
use super::retention_rules::{DEFAULT_AGGREGATION, Forgetting, RetentionRules};
use super::{
    Auth, Cassandra, Ceres, ConfigError, Listen, ListenTls, Origin, Quota, Settings, Sources, Tenancy, Tls,
    document, machine, read_storage_quotas, storage_aggregation, storage_schemas,
};

/// A configuration and where it came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration in force.
    pub config: Config,
    /// Every key with its value and where it was set.
    pub settings: Settings,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// What was skipped, with file and line. These are not errors, because carbon accepts them too.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Reads and checks everything: flags over environment over file over defaults.
    pub fn new(sources: &Sources) -> Result<Self, ConfigError> {
        let mut settings = Settings::defaults(sources.file.as_deref().and_then(Path::parent));
        if let Some(path) = &sources.file {
            let text = read_file(path)?;
            document::apply(&mut settings, &Arc::from(path.as_path()), &text)?;
        }
        sources.apply_environment(&mut settings)?;
        sources.apply_flags(&mut settings)?;

        let raw = settings.to_raw();
        let mut warnings = Vec::new();
        let retention = retention_rules(&raw, &mut settings, &mut warnings)?;
        let quotas = quotas(&raw.ingest.quotas_file, &mut settings, &mut warnings)?;
        let config = Config { quotas, ..resolve(raw, retention, &settings)? };
        refuse_shared_address(&config.listen, &settings)?;
        Ok(Self { config, settings, file: sources.file.clone(), warnings })
    }
}

fn read_file(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })
}

/// Two listeners on one address would fail later, with a less helpful error.
fn refuse_shared_address(listen: &Listen, settings: &Settings) -> Result<(), ConfigError> {
    let mut taken: HashMap<SocketAddr, &str> = HashMap::new();
    // Port 0 asks the system for a free one each time.
    for (key, address) in listen.addresses().filter(|(_, address)| address.port() != 0) {
        if let Some(first) = taken.insert(address, key) {
            let message = format!("{address} is taken by {first}; give each listener an address of its own");
            return Err(ConfigError::BadValue { at: settings.origin(key), key: key.to_owned(), message });
        }
    }
    Ok(())
}

/// A TLS listener needs a certificate.
fn listen(raw: raw::Listen, tls: raw::ListenTls, settings: &Settings) -> Result<Listen, ConfigError> {
    let mut listen = Listen {
        http: raw.http.0,
        https: raw.https.0,
        carbon: raw.carbon.0,
        pickle: raw.pickle.0,
        carbon_tls: raw.carbon_tls.0,
        pickle_tls: raw.pickle_tls.0,
        cache_query: raw.cache_query.0,
        kairosdb_telnet: raw.kairosdb_telnet.0,
        allow: raw.allow.0,
        tls: None,
    };
    if listen.https.or(listen.carbon_tls).or(listen.pickle_tls).is_none() {
        return Ok(listen);
    }
    let needed = |key: &str, path: MaybePath| {
        path.0.ok_or_else(|| ConfigError::BadValue {
            at: settings.origin(key),
            key: key.to_owned(),
            message:
                "listen.https, listen.carbon_tls and listen.pickle_tls need a certificate and its key: name both files"
                    .to_owned(),
        })
    };
    listen.tls = Some(ListenTls {
        cert_file: needed("listen.tls.cert_file", tls.cert_file)?,
        key_file: needed("listen.tls.key_file", tls.key_file)?,
        client_ca_file: tls.client_ca_file.0,
        handshake_timeout: tls.handshake_timeout.0,
    });
    Ok(listen)
}

/// A login needs a user, and who vouches for one must be known.
fn resolve_auth(raw: raw::Auth, listen: &Listen, settings: &Settings) -> Result<Auth, ConfigError> {
    let auth = Auth {
        users_file: raw.users_file.0,
        tokens_file: raw.tokens_file.0,
        htpasswd_file: raw.htpasswd_file.0,
        certificates: raw.certificates.0,
        proxy_header: raw.proxy_header.0,
        proxies: raw.proxies.0,
        anonymous: raw.anonymous.0,
        session: raw.session.0,
        max_failures: u32::try_from(raw.max_failures.0).expect("its kind allows up to a million"),
        tenancy: Tenancy::default(),
    };
    let asks = listen.tls.as_ref().is_some_and(|tls| tls.client_ca_file.is_some());
    let missing = [
        (
            auth.is_on() && auth.users_file.is_none(),
            "auth.users_file",
            "name the file that gives users their roles; `plumbago user add` writes it",
        ),
        (
            auth.proxy_header.is_some() && auth.proxies.is_empty(),
            "auth.proxies",
            "auth.proxy_header needs the addresses of the proxies that are to be believed",
        ),
        (
            auth.certificates && !asks,
            "auth.certificates",
            "set a listener with TLS and listen.tls.client_ca_file, which says who signs the certificates of clients",
        ),
    ];
    match missing.into_iter().find(|(is_missing, ..)| *is_missing) {
        None => Ok(auth),
        Some((_, key, message)) => {
            let (key, message) = (key.to_owned(), message.to_owned());
            Err(ConfigError::BadValue { at: settings.origin(&key), key, message })
        }
    }
}

/// Inline rules come first: they are more specific, and can override a file that is shared with carbon.
fn retention_rules(
    all: &Raw,
    settings: &mut Settings,
    warnings: &mut Vec<String>,
) -> Result<RetentionRules, ConfigError> {
    let raw = &all.retention;
    let mut schemas = settings.rules.retention.clone();
    if let Some((path, text)) = carbon_file("retention.schemas", &raw.schemas, settings)? {
        schemas.extend(storage_schemas::read(&path, &text, warnings)?);
    }
    let mut aggregation = settings.rules.aggregation.clone();
    if let Some((path, text)) = carbon_file("retention.aggregation", &raw.aggregation, settings)? {
        aggregation.extend(storage_aggregation::read(&path, &text, warnings)?);
    }
    Ok(RetentionRules {
        schemas,
        aggregation,
        default_retention: raw.default.parsed.clone(),
        default_aggregation: DEFAULT_AGGREGATION,
        labelled_retention: all.kairosdb.retention.parsed.clone(),
        forgetting: Forgetting { after: raw.forget_after.0, interval: raw.forget_interval.0 },
    })
}

/// Our own quotas, and then go-carbon's. Counters go by name, so a name that is taken by ours is an error.
fn quotas(
    file: &MaybePath,
    settings: &mut Settings,
    warnings: &mut Vec<String>,
) -> Result<Vec<Quota>, ConfigError> {
    const KEY: &str = "ingest.quotas_file";
    let mut quotas = settings.quotas.clone();
    let Some((path, text)) = carbon_file(KEY, file, settings)? else { return Ok(quotas) };
    for quota in read_storage_quotas(&path, &text, warnings)? {
        if let Some(own) = settings.quotas.iter().find(|own| own.name == quota.name) {
            let message = format!(
                "the quota `{}` at {} has the same name as that at {}; rename yours",
                quota.name, quota.origin, own.origin
            );
            return Err(ConfigError::BadValue { at: settings.origin(KEY), key: KEY.to_owned(), message });
        }
        quotas.push(quota);
    }
    Ok(quotas)
}

/// The text of a rule file. Only a default file may be missing.
fn carbon_file(
    key: &str,
    path: &MaybePath,
    settings: &mut Settings,
) -> Result<Option<(Arc<Path>, String)>, ConfigError> {
    let Some(path) = path.0.as_deref() else { return Ok(None) };
    match read_file(path) {
        Ok(text) => Ok(Some((Arc::from(path), text))),
        Err(ConfigError::Read { source, .. })
            if settings.origin(key) == Origin::Default && source.kind() == io::ErrorKind::NotFound =>
        {
            settings.mark_absent(key, path);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn resolve(raw: Raw, retention: RetentionRules, settings: &Settings) -> Result<Config, ConfigError> {
    let listen = listen(raw.listen, raw.listen_tls, settings)?;
    let is_clustered = matches!(raw.store.kind, StoreChoice::Cassandra);
    Ok(Config {
        auth: Auth {
            tenancy: Tenancy::resolve(raw.tenants, settings)?,
            ..resolve_auth(raw.auth, &listen, settings)?
        },
        listen,
        store: resolve_store(raw.store, settings)?,
        cassandra: resolve_cassandra(raw.cassandra, raw.tls),
        ingest: resolve_ingest(raw.ingest),
        http: resolve_http(raw.http),
        ceres: Ceres::resolve(raw.ceres, &raw.kairosdb.retention.parsed, settings)?,
        kairosdb: resolve_kairosdb(&raw.kairosdb),
        query: resolve_query(raw.query, is_clustered),
        retention,
        rules: resolve_name_rules(raw.rules),
        server: Server { failure_grace: raw.server.failure_grace.0 },
        quotas: Vec::new(),
        own_metrics: OwnMetrics {
            interval: raw.telemetry.carbon_interval.0,
            prefix: raw.telemetry.carbon_prefix.0,
            otlp_endpoint: raw.telemetry.otlp_endpoint.0,
        },
    })
}

fn resolve_store(raw: raw::Store, settings: &Settings) -> Result<Store, ConfigError> {
    const READ_ONLY: &str = "store.read_only";
    if raw.read_only.0 && matches!(raw.kind, StoreChoice::Cassandra) {
        let message =
            "a server in front of a cluster cannot be read-only: its disk is a spool. Stop it instead; \
                       other servers answer for the cluster"
                .to_owned();
        return Err(ConfigError::BadValue {
            at: settings.origin(READ_ONLY),
            key: READ_ONLY.to_owned(),
            message,
        });
    }
    Ok(Store {
        kind: match raw.kind {
            StoreChoice::Embedded => StoreKind::Embedded,
            StoreChoice::Cassandra => StoreKind::Cassandra,
        },
        path: raw.path.0,
        sync_interval: raw.sync_interval.0,
        cut_interval: raw.cut_interval.0,
        head_points: to_usize(raw.head_points.0),
        read_only: raw.read_only.0,
        reserve_bytes: raw.reserve_bytes.0,
    })
}

fn resolve_http(raw: raw::Http) -> Http {
    Http {
        compress: raw.compress.0,
        max_connections: to_usize(raw.max_connections.0),
        idle_timeout: raw.idle_timeout.0,
        hsts: raw.hsts.0,
        max_import_bytes: to_usize(raw.max_import_bytes.0),
        allow_origins: raw.allow_origins.0,
    }
}

fn resolve_kairosdb(raw: &raw::Kairosdb) -> Kairosdb {
    Kairosdb {
        max_body_bytes: to_usize(raw.max_body_bytes.0),
        max_errors: to_usize(raw.max_errors.0),
        max_metadata: to_usize(raw.max_metadata.0),
        max_metadata_bytes: to_usize(raw.max_metadata_bytes.0),
    }
}

fn resolve_cassandra(raw: raw::Cassandra, tls: raw::Tls) -> Cassandra {
    Cassandra {
        nodes: raw.nodes.0,
        datacenter: raw.datacenter.0,
        keyspace: raw.keyspace.0,
        keyspace_metadata: raw.keyspace_metadata.0,
        apply_schema: raw.apply_schema.0,
        gc_grace: raw.gc_grace.0,
        memtable_flush_period: raw.memtable_flush_period.0,
        compaction_window: raw.compaction_window.0,
        replica: u8::try_from(raw.replica.0).expect("its kind allows 0 to 3"),
        writer: raw.writer.0,
        renew_interval: raw.renew_interval.0,
        consistency_read: raw.consistency_read.0,
        consistency_write: raw.consistency_write.0,
        consistency_metadata: raw.consistency_metadata.0,
        consistency_background: raw.consistency_background.0,
        connect_timeout: raw.connect_timeout.0,
        request_timeout: raw.request_timeout.0,
        speculative_delay: raw.speculative_delay.0,
        username: raw.username.0,
        password: raw.password.0,
        password_file: raw.password_file.0,
        index: raw.index.0,
        hide_expired: raw.hide_expired.0,
        reload_interval: raw.reload_interval.0,
        flush_interval: raw.flush_interval.0,
        running_interval: raw.running_interval.0,
        spool_bytes: raw.spool_bytes.0,
        max_in_flight: to_usize(raw.max_in_flight.0),
        max_queries: to_usize(raw.max_queries.0),
        tls: Tls {
            enabled: tls.enabled.0,
            ca_file: tls.ca_file.0,
            cert_file: tls.cert_file.0,
            key_file: tls.key_file.0,
            verify_address: tls.verify_address.0,
        },
    }
}

fn resolve_ingest(raw: raw::Ingest) -> Ingest {
    Ingest {
        udp: raw.udp.0,
        max_line_bytes: to_usize(raw.max_line_bytes.0),
        max_frame_bytes: to_usize(raw.max_frame_bytes.0),
        max_name_bytes: to_usize(raw.max_name_bytes.0),
        max_connections: to_usize(raw.max_connections.0),
        idle_timeout: raw.idle_timeout.0,
        max_unfinished_bytes: to_usize(raw.max_unfinished_bytes.0),
        max_creates_per_second: raw.max_creates_per_second.0,
        max_metrics: raw.max_metrics.0,
        max_tag_values: raw.max_tag_values.0,
        max_future: raw.max_future.0,
        keep_infinite: raw.keep_infinite.0,
        max_event_bytes: to_usize(raw.max_event_bytes.0),
        drain_timeout: raw.drain_timeout.0,
    }
}

fn resolve_query(raw: raw::Query, is_clustered: bool) -> Query {
    let max_renders = match to_usize(raw.max_renders.0) {
        0 if is_clustered => to_usize(raw.max_concurrent.0),
        0 => machine::renders(),
        given => given,
    };
    Query {
        timezone: raw.timezone.0,
        max_find_hits: to_usize(raw.max_find_hits.0),
        find_timeout: raw.find_timeout.0,
        search_timeout: raw.search_timeout.0,
        max_series: to_usize(raw.max_series.0),
        max_points: to_usize(raw.max_points.0),
        tag_completions: to_usize(raw.tag_completions.0),
        max_events: to_usize(raw.max_events.0),
        render_timeout: raw.render_timeout.0,
        max_concurrent: to_usize(raw.max_concurrent.0),
        max_concurrent_each: to_usize(raw.max_concurrent_each.0),
        max_renders,
        max_renders_each: match to_usize(raw.max_renders_each.0) {
            0 => max_renders.div_ceil(2),
            given => given,
        },
        cores: to_usize(raw.cores.0),
        niceness: u8::try_from(raw.niceness.0).expect("its kind allows 0 to 19"),
        memory: to_usize(raw.memory.bytes()),
        memory_each: to_usize(raw.memory_each.0),
        memory_wait: raw.memory_wait.0,
        max_fonts: to_usize(raw.max_fonts.0),
        max_font_bytes: raw.max_font_bytes.0,
        slow: raw.slow.0,
    }
}

fn resolve_name_rules(raw: raw::NameRules) -> NameRules {
    NameRules {
        blacklist: raw.blacklist.0,
        whitelist: raw.whitelist.0,
        rewrite: raw.rewrite.0,
        aggregation: raw.aggregation.0,
        keep_originals: raw.keep_originals.0,
        max_gathered: to_usize(raw.max_gathered.0),
    }
}

/// A limit beyond the address space is no limit.
fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
