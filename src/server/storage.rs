//! The store that the configuration asks for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::awaited_schema;
use super::{cluster_indexes, cluster_settings};
use crate::config::{CassandraIndex, Config, StoreKind};
use crate::disk::Folder;
use crate::log;
use crate::store::cassandra::{Cluster, Events, Memos};
use crate::store::clustered::{Clustered, Link, LinkSettings, SchemaWatch};
use crate::store::embedded::{Embedded, Standalone};
use crate::store::{EventStore, MemoStore, MetricStore, PointStore, Upstream};
use crate::telemetry::Telemetry;

/// An open store.
pub(super) struct Storage {
    /// The slots.
    pub(super) points: Arc<dyn PointStore>,
    /// The names.
    pub(super) metrics: Arc<dyn MetricStore>,
    /// The events.
    pub(super) events: Arc<dyn EventStore>,
    /// The memos.
    pub(super) memos: Arc<dyn MemoStore>,
    /// Where the data goes in the end.
    pub(super) upstream: Box<dyn Upstream>,
    /// Where the log is.
    pub(super) log_dir: Folder,
    /// What was found damaged when it was opened, one line each.
    pub(super) damage: Vec<String>,
}

impl Storage {
    pub(super) fn open(config: &Config, telemetry: &Arc<Telemetry>) -> anyhow::Result<Self> {
        log::check_formats(&Folder::from(config.store.path.as_path()).join("log"))?;
        match config.store.kind {
            StoreKind::Embedded => Self::open_embedded(config),
            StoreKind::Cassandra => Self::open_clustered(config, telemetry),
        }
    }

    fn open_embedded(config: &Config) -> anyhow::Result<Self> {
        let path = &config.store.path;
        let store =
            if config.store.read_only { Embedded::look_at(&existing(path)?)? } else { Embedded::open(path)? };
        Ok(Self {
            damage: store.damage().to_vec(),
            points: Arc::clone(&store.points),
            metrics: Arc::clone(&store.metrics),
            events: Arc::clone(&store.events),
            memos: Arc::clone(&store.memos),
            log_dir: store.log_dir.clone(),
            upstream: Box::new(Standalone::new(store, config.store.cut_interval)),
        })
    }

    fn open_clustered(config: &Config, telemetry: &Arc<Telemetry>) -> anyhow::Result<Self> {
        let settings = cluster_settings(&config.cassandra)?;
        let schema = awaited_schema(config, &settings);
        let cluster = Arc::new(Cluster::new(settings)?);
        let watch = SchemaWatch::new(Arc::clone(&cluster), schema, config.cassandra.apply_schema);
        let store = Arc::new(Clustered::open(&config.store.path, &cluster, config.cassandra.max_queries)?);
        Ok(Self {
            points: Arc::clone(&store.points),
            metrics: Arc::clone(&store.metrics),
            events: Arc::new(Events::new(Arc::clone(&cluster))),
            memos: Arc::new(Memos::new(Arc::clone(&cluster))),
            log_dir: store.local.log_dir.clone(),
            damage: store.local.damage().to_vec(),
            upstream: Box::new(Link::new(
                cluster,
                store,
                watch,
                link_settings(config),
                Arc::clone(telemetry),
            )?),
        })
    }
}

/// A data directory that is only looked at. It must be there.
fn existing(path: &Path) -> anyhow::Result<Folder> {
    let exists = path.is_dir();
    anyhow::ensure!(exists, "store.read_only is set, and there is no store at {}", path.display());
    Ok(Folder::from(path))
}

fn link_settings(config: &Config) -> LinkSettings {
    let cassandra = &config.cassandra;
    LinkSettings {
        replica: cassandra.replica,
        writer: cassandra.writer,
        renew_interval: cassandra.renew_interval,
        writer_file: config.store.path.join("writer.json"),
        flush_interval: cassandra.flush_interval,
        running_interval: Some(cassandra.running_interval).filter(|interval| *interval > Duration::ZERO),
        stop_limit: config.ingest.drain_timeout,
        spool_bytes: cassandra.spool_bytes,
        max_in_flight: cassandra.max_in_flight,
        indexes: cluster_indexes(cassandra.index),
        names_in_memory: cassandra.index == CassandraIndex::Memory,
        default_policy: config.retention.default_policy(),
        creates_per_second: u32::try_from(config.ingest.max_creates_per_second).ok().filter(|&rate| rate > 0),
        reload_interval: Some(cassandra.reload_interval).filter(|interval| *interval > Duration::ZERO),
        hide_expired: cassandra.hide_expired,
    }
}
