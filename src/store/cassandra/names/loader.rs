//! All metrics, with their policies.

use std::collections::HashSet;
use std::sync::Arc;

use scylla::deserialize::value::MapIterator;
use scylla::value::CqlTimeuuid;

use super::config::Configs;
use super::ring::{Piece, Progress};
use super::statement::{Table, rows};
use super::{Names, identity, record, stamp};
use crate::model::Policy;
use crate::store::cassandra::ClusterError;

/// Name, config, and when it was created and written.
type Row<'f> =
    (&'f str, Option<MapIterator<'f, 'f, &'f str, &'f str>>, Option<CqlTimeuuid>, Option<CqlTimeuuid>);

/// A metric of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its policy; the default for what its config does not say.
    pub policy: Arc<Policy>,
    /// When it was last noted as written, or else created, in milliseconds since 1970.
    pub used_ms: Option<i64>,
    /// Where it was found.
    pub rows: Rows,
}

/// The tables in which a metric has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// In both, as it should be.
    Both,
    /// In `metrics` alone: creating or deleting it was interrupted. Its policy is the default.
    Metric,
    /// In `metrics_metadata` alone. For a tagged name that is as it should be.
    Metadata,
}

/// What was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Metrics visited.
    pub metrics: u64,
    /// Those among them that have no usable config.
    pub without_config: u64,
}

impl Names {
    /// Visits every metric, in no order, each once. `default` is for what a config does not say. Metrics that come or go
    /// meanwhile may or may not be seen: ask the feed afterwards for what happened since this was called.
    pub fn load(
        &self,
        default: &Arc<Policy>,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Listed),
    ) -> Result<Loaded, ClusterError> {
        let mut loaded = Loaded::default();
        let default = default.clone();
        let read = move |names: Names, piece| {
            let configs = Configs::new(default.clone());
            async move { names.load_piece(piece, configs).await }
        };
        self.block_on(self.ring(read, progress, |found: Vec<Listed>| {
            let count = found.len() as u64;
            loaded.metrics += count;
            for listed in found {
                loaded.without_config += u64::from(listed.rows == Rows::Metric);
                visit(listed);
            }
            Ok(count)
        }))?;
        Ok(loaded)
    }

    /// Those of these metrics that have no row, or nothing but what a late touch leaves of a deleted one.
    pub fn missing(
        &self,
        mut wanted: Vec<String>,
        default: &Arc<Policy>,
    ) -> Result<HashSet<String>, ClusterError> {
        self.block_on(async {
            let there = self.present(Table::Metrics, &wanted).await?;
            wanted.retain(|name| !there.contains(name));
            let there = self.policies(&wanted, default).await?;
            wanted.retain(|name| !there.contains_key(name));
            Ok(wanted.into_iter().collect())
        })
    }

    /// `metrics` first: of a metric that is created in between the metadata is seen, and that is enough.
    async fn load_piece(&self, piece: Piece, mut configs: Configs) -> Result<Vec<Listed>, ClusterError> {
        // Of a partition only its key is needed, which spares the nodes reading the components.
        let mut names: HashSet<Box<str>, ahash::RandomState> = HashSet::default();
        self.scan(Table::Metrics, "DISTINCT name", piece, |page| {
            for row in rows::<(&str,)>(page)? {
                names.insert(row?.0.into());
            }
            Ok(())
        })
        .await?;
        let mut found = Vec::with_capacity(names.len());
        self.scan(Table::Metadata, "name, config, created_on, updated_on", piece, |page| {
            for row in rows::<Row<'_>>(page)? {
                // A row without a config is what a late touch leaves of a deleted metric.
                let (name, Some(config), created, updated) = row? else { continue };
                let used_ms = updated.or(created).map(stamp::millis);
                let policy = configs.decode(config.filter_map(Result::ok));
                let rows = if names.remove(name) { Rows::Both } else { Rows::Metadata };
                found.push(Listed { name: name.to_owned(), policy, used_ms, rows });
            }
            Ok(())
        })
        .await?;
        let default = configs.default();
        found.extend(names.into_iter().map(|name| Listed {
            name: name.into_string(),
            policy: default.clone(),
            used_ms: None,
            rows: Rows::Metric,
        }));
        Ok(found)
    }
}

impl Listed {
    /// Its id.
    pub fn id(&self) -> uuid::Uuid {
        identity::id(&self.name)
    }

    /// Was it not written to for so long that all its data is gone?
    pub fn is_expired(&self) -> bool {
        record::is_expired(self.used_ms, &self.policy, stamp::now_ms())
    }
}
