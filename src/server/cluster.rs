//! Turns the configuration into the settings of a cluster: reads passwords, translates consistency levels.

use anyhow::{Context as _, bail};

use crate::config::{self, CassandraIndex, Config, ConsistencyLevel};
use crate::store::cassandra::schema::{Indexes, Schema, TableOptions};
use crate::store::cassandra::{Consistency, Levels, Login, Settings, Tls};
use plumbago_model::Retention;

/// What `[store.cassandra]` says.
pub fn cluster_settings(config: &config::Cassandra) -> anyhow::Result<Settings> {
    let tls = &config.tls;
    Ok(Settings {
        nodes: config.nodes.iter().map(|node| with_port(node)).collect(),
        datacenter: config.datacenter.clone(),
        keyspace: config.keyspace.clone(),
        keyspace_metadata: config.keyspace_metadata.clone(),
        levels: Levels {
            read: consistency(config.consistency_read),
            write: consistency(config.consistency_write),
            metadata: consistency(config.consistency_metadata),
            background: consistency(config.consistency_background),
        },
        connect_timeout: config.connect_timeout,
        request_timeout: config.request_timeout,
        speculative_delay: Some(config.speculative_delay).filter(|delay| !delay.is_zero()),
        table_options: TableOptions {
            gc_grace_secs: u32::try_from(config.gc_grace.as_secs()).unwrap_or(u32::MAX).min(i32::MAX as u32),
            flush_period_ms: u64::try_from(config.memtable_flush_period.as_millis()).unwrap_or(u64::MAX),
            window_secs: Some(config.compaction_window.as_secs()).filter(|&secs| secs > 0),
        },
        login: login(config)?,
        tls: tls.enabled.then(|| Tls {
            ca_file: tls.ca_file.clone(),
            cert_file: tls.cert_file.clone(),
            key_file: tls.key_file.clone(),
            verify_address: tls.verify_address,
        }),
    })
}

/// The tables and indexes that the configured retentions need.
pub fn cluster_schema(config: &Config, settings: &Settings) -> Schema {
    schema_of(config, settings, config.retention.all())
}

/// Those that a server waits for. A cluster where no client of KairosDB's kind writes need not have tables for one, so they are looked
/// for when the first of these clients writes, unless they are made anyway.
pub(super) fn awaited_schema(config: &Config, settings: &Settings) -> Schema {
    if config.cassandra.apply_schema {
        return cluster_schema(config, settings);
    }
    schema_of(config, settings, config.retention.of_carbon())
}

fn schema_of<'a>(
    config: &Config,
    settings: &Settings,
    retentions: impl IntoIterator<Item = &'a Retention>,
) -> Schema {
    Schema::new(settings, retentions, cluster_indexes(config.cassandra.index))
}

/// The indexes of the names that are made and used.
pub fn cluster_indexes(index: CassandraIndex) -> Indexes {
    match index {
        CassandraIndex::Memory => Indexes::None,
        CassandraIndex::Sasi => Indexes::Sasi,
        CassandraIndex::Sai => Indexes::Sai,
    }
}

/// Cassandra's default port.
fn with_port(node: &str) -> String {
    let has_port = match node.rfind(']') {
        Some(end) => node[end..].contains(':'),
        None => node.matches(':').count() == 1,
    };
    match has_port {
        true => node.to_owned(),
        false if node.contains(':') && !node.starts_with('[') => format!("[{node}]:9042"),
        false => format!("{node}:9042"),
    }
}

fn login(config: &config::Cassandra) -> anyhow::Result<Option<Login>> {
    let password = match (&config.password, &config.password_file) {
        (Some(_), Some(_)) => {
            bail!(
                "store.cassandra.password and store.cassandra.password_file are both set; leave one of them out"
            )
        }
        (Some(secret), None) => Some(secret.reveal().to_owned()),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path).with_context(|| {
                format!("cannot read the password from {} (store.cassandra.password_file)", path.display())
            })?;
            Some(text.trim_end_matches(['\r', '\n']).to_owned())
        }
        (None, None) => None,
    };
    match (&config.username, password) {
        (None, None) => Ok(None),
        (Some(username), Some(password)) => Ok(Some(Login { username: username.clone(), password })),
        (Some(username), None) => bail!(
            "store.cassandra.username is `{username}`, but there is no password; set store.cassandra.password_file, \
             or the variable PLUMBAGO_STORE__CASSANDRA__PASSWORD"
        ),
        (None, Some(_)) => {
            bail!("there is a password for Cassandra, but no user; set store.cassandra.username")
        }
    }
}

fn consistency(level: ConsistencyLevel) -> Consistency {
    match level {
        ConsistencyLevel::One => Consistency::One,
        ConsistencyLevel::Two => Consistency::Two,
        ConsistencyLevel::Three => Consistency::Three,
        ConsistencyLevel::Quorum => Consistency::Quorum,
        ConsistencyLevel::All => Consistency::All,
        ConsistencyLevel::LocalOne => Consistency::LocalOne,
        ConsistencyLevel::LocalQuorum => Consistency::LocalQuorum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Secret;

    #[test]
    fn a_node_without_a_port_gets_cassandras() {
        assert_eq!(with_port("db1"), "db1:9042");
        assert_eq!(with_port("10.0.0.1:9142"), "10.0.0.1:9142");
        assert_eq!(with_port("[::1]:9142"), "[::1]:9142");
        assert_eq!(with_port("[::1]"), "[::1]:9042");
        assert_eq!(with_port("::1"), "[::1]:9042");
    }

    #[test]
    fn a_login_is_a_user_and_one_password() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "secret\n").unwrap();
        let plain = config::Cassandra::default();
        assert!(cluster_settings(&plain).unwrap().login.is_none());
        let user = config::Cassandra { username: Some("me".to_owned()), ..plain.clone() };
        assert!(cluster_settings(&user).unwrap_err().to_string().contains("there is no password"));
        let from_file = config::Cassandra { password_file: Some(file.path().to_owned()), ..user.clone() };
        assert_eq!(cluster_settings(&from_file).unwrap().login.unwrap().password, "secret");
        let secret = Some(Secret::new("other".to_owned()));
        let both = config::Cassandra { password: secret.clone(), ..from_file };
        assert!(cluster_settings(&both).unwrap_err().to_string().contains("both set"));
        let nobody = config::Cassandra { password: secret, ..plain };
        assert!(cluster_settings(&nobody).unwrap_err().to_string().contains("no user"));
    }
}
