//! The store that the configuration asks for.

use std::path::PathBuf;
use std::sync::Arc;

use super::delivery::Delivery;
use super::roster::Roster;
use super::{cluster_schema, cluster_settings};
use crate::config::{Config, StoreKind};
use crate::store::cassandra::{Cluster, Events};
use crate::store::clustered::{Clustered, SchemaWatch};
use crate::store::embedded::Embedded;
use crate::store::{EventStore, MetricStore, PointStore, StoreError};
use crate::telemetry::Telemetry;
use plumbago_model::MetricId;

/// An open store.
pub(super) struct Storage {
    /// The slots.
    pub(super) points: Arc<dyn PointStore>,
    /// The names.
    pub(super) metrics: Arc<dyn MetricStore>,
    /// The events.
    pub(super) events: Arc<dyn EventStore>,
    /// Where the log is.
    pub(super) log_dir: PathBuf,
    place: Place,
}

/// Where the data is in the end.
enum Place {
    /// In the data directory.
    Here(Box<Embedded>),
    /// In a cluster.
    There(Box<(Delivery, Roster)>),
}

impl Storage {
    pub(super) fn open(config: &Config, telemetry: &Arc<Telemetry>) -> anyhow::Result<Self> {
        let path = &config.store.path;
        Ok(match config.store.kind {
            StoreKind::Embedded => {
                let store = Embedded::open(path)?;
                Self {
                    points: Arc::clone(&store.points),
                    metrics: Arc::clone(&store.metrics),
                    events: Arc::clone(&store.events),
                    log_dir: store.log_dir.clone(),
                    place: Place::Here(Box::new(store)),
                }
            }
            StoreKind::Cassandra => {
                let settings = cluster_settings(&config.cassandra)?;
                let schema = cluster_schema(config, &settings);
                let cluster = Arc::new(Cluster::new(settings)?);
                let tables =
                    Arc::new(SchemaWatch::new(Arc::clone(&cluster), schema, config.cassandra.apply_schema));
                let store = Arc::new(Clustered::open(path, &cluster, config.cassandra.max_queries)?);
                Self {
                    points: Arc::clone(&store.points),
                    metrics: Arc::clone(&store.metrics),
                    events: Arc::new(Events::new(Arc::clone(&cluster))),
                    log_dir: store.local.log_dir.clone(),
                    place: Place::There(Box::new((
                        Delivery::new(
                            Arc::clone(&cluster),
                            Arc::clone(&store),
                            Arc::clone(&tables),
                            config,
                            Arc::clone(telemetry),
                        ),
                        Roster::new(cluster, store, tables, config)?,
                    ))),
                }
            }
        })
    }

    /// What brings data to a cluster, if it goes to one.
    pub(super) fn delivery(&self) -> Option<&Delivery> {
        match &self.place {
            Place::Here(_) => None,
            Place::There(there) => Some(&there.0),
        }
    }

    /// What keeps names in step with a cluster, if they are in one.
    pub(super) fn roster(&self) -> Option<&Roster> {
        match &self.place {
            Place::Here(_) => None,
            Place::There(there) => Some(&there.1),
        }
    }

    /// Bytes that the chunks of some metrics take up on this machine; ids must ascend.
    pub(super) fn chunk_bytes(&self, metrics: &[MetricId]) -> Result<u64, StoreError> {
        match &self.place {
            Place::Here(store) => store.chunk_bytes(metrics),
            Place::There(there) => there.0.store.local.chunk_bytes(metrics),
        }
    }
}
