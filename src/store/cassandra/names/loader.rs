//! All metrics, with their policies.
//!
//! `metrics_metadata` has everything. Reading `metrics` as well would take as long again, and would only find what interrupted
//! creations left behind. That is read afterwards, a few pieces of the ring at a time.

use std::collections::HashSet;
use std::sync::Arc;

use scylla::deserialize::value::MapIterator;
use scylla::value::CqlTimeuuid;

use super::config::Configs;
use super::ring::{AT_ONCE, Piece, Progress, ring_pieces};
use super::statement::{Table, rows};
use super::{Names, flight, identity, record, stamp};
use crate::store::cassandra::ClusterError;
use plumbago_model::Policy;

/// Name, config, and when it was created and written.
type Row<'f> =
    (&'f str, Option<MapIterator<'f, 'f, &'f str, &'f str>>, Option<CqlTimeuuid>, Option<CqlTimeuuid>);

/// A metric of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its policy; the default for what its config lacks.
    pub policy: Arc<Policy>,
    /// The last recorded write, or else the creation, in milliseconds since 1970.
    pub used_ms: Option<i64>,
}

/// A walk around the ring for metrics that have a row in `metrics` only.
#[derive(Debug, Default)]
pub struct StrayWalk {
    ahead: Vec<Piece>,
}

impl StrayWalk {
    /// A walk that has the whole ring ahead. The default has nothing left.
    pub fn new() -> Self {
        Self { ahead: ring_pieces() }
    }

    /// Is it finished?
    pub fn is_over(&self) -> bool {
        self.ahead.is_empty()
    }
}

impl Names {
    /// Visits every metric that has metadata once, in no order, and returns their number. `default` supplies what a config
    /// lacks. Metrics that are created or deleted meanwhile may or may not be seen: read the feed afterwards, from the time of
    /// this call on.
    pub fn load(
        &self,
        default: &Arc<Policy>,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Listed),
    ) -> Result<u64, ClusterError> {
        let mut metrics = 0;
        let default = default.clone();
        let read = move |names: Names, piece| {
            let configs = Configs::new(default.clone());
            async move { names.load_piece(piece, configs).await }
        };
        self.block_on(self.ring(read, progress, |found: Vec<Listed>| {
            let count = found.len() as u64;
            metrics += count;
            found.into_iter().for_each(&mut *visit);
            Ok(count)
        }))?;
        Ok(metrics)
    }

    /// Those of these metrics that have no row, or only what a late touch leaves of a deleted one.
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

    async fn load_piece(&self, piece: Piece, mut configs: Configs) -> Result<Vec<Listed>, ClusterError> {
        let mut found = Vec::new();
        self.scan(Table::Metadata, "name, config, created_on, updated_on", piece, |page| {
            for row in rows::<Row<'_>>(page)? {
                // A row without a config is what a late touch leaves of a deleted metric.
                let (name, Some(config), created, updated) = row? else { continue };
                let used_ms = updated.or(created).map(stamp::millis);
                let policy = configs.decode(config.filter_map(Result::ok));
                found.push(Listed { name: name.to_owned(), policy, used_ms });
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Reads a few more pieces, and returns the metrics without metadata; those in `known` need no check.
    pub fn strays(
        &self,
        walk: &mut StrayWalk,
        default: &Arc<Policy>,
        known: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, ClusterError> {
        let left = walk.ahead.len().saturating_sub(AT_ONCE);
        let (names, pieces) = (self.clone(), walk.ahead[left..].to_vec());
        let strays = self.block_on(async {
            let read = move |piece| {
                let names = names.clone();
                async move { names.metrics_of(piece).await }
            };
            let listed = flight::map(pieces, AT_ONCE, read).await?;
            let mut unknown: Vec<String> = listed.into_iter().flatten().filter(|name| !known(name)).collect();
            // Those with metadata were created meanwhile, or have expired.
            let there = self.records_async(&unknown, default).await?;
            unknown.retain(|name| !there.contains_key(name));
            Ok(unknown)
        })?;
        walk.ahead.truncate(left);
        Ok(strays)
    }

    /// The names of a piece in `metrics`. Selects only the partition key, so that the nodes need not read the components.
    pub(super) async fn metrics_of(&self, piece: Piece) -> Result<Vec<String>, ClusterError> {
        let mut names = Vec::new();
        self.scan(Table::Metrics, "DISTINCT name", piece, |page| {
            for row in rows::<(String,)>(page)? {
                names.push(row?.0);
            }
            Ok(())
        })
        .await?;
        Ok(names)
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
