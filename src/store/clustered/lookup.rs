//! Lookups in the cluster, as long as its names are not all in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::adopted::Adopted;
use super::name_sender::NameSender;
use super::tables::NameTables;
use crate::store::cassandra::names::LookupLimits;
use crate::store::{Hit, LocalMetrics, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError};

/// Rows a lookup in the cluster may look at for each hit it may give.
const ROWS_PER_HIT: usize = 10;

/// See the module documentation.
pub(super) struct Lookup {
    pub(super) tables: Arc<dyn NameTables>,
    pub(super) adopted: Arc<Adopted>,
    pub(super) sender: Arc<NameSender>,
    pub(super) default: Arc<Policy>,
}

impl Lookup {
    /// The metrics and directories that match.
    pub(super) fn find(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, QueryError> {
        let has_unsent = self.sender.has_unsent(local);
        let found = self.tables.find(glob, limits(max_hits), cancel)?;
        // A metric created here a moment ago is not in the cluster yet. If none was, a local one may be deleted there.
        if !has_unsent {
            return Ok(found);
        }
        let mut merged: BTreeMap<String, Hit> = BTreeMap::new();
        for hit in found.into_iter().chain(local.find(glob, max_hits, cancel)?) {
            let known = merged.entry(hit.path.clone()).or_insert_with(|| hit.clone());
            known.leaf |= hit.leaf;
            known.directory |= hit.directory;
        }
        Ok(merged.into_values().collect())
    }

    /// The metrics that match, which are known here afterwards.
    pub(super) fn find_leaves(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let sent = self.sender.sent();
        let names = self.tables.find_leaves(glob, limits(max_hits), cancel)?;
        let is_unknown = |name: &&String| local.lookup(name).is_none();
        let unknown: Vec<String> = names.iter().filter(is_unknown).cloned().collect();
        if !unknown.is_empty() {
            self.learn(local, unknown)?;
        }
        let known = |name: String| Some((local.lookup(&name)?, name));
        let mut found: Vec<(MetricId, String)> = names.into_iter().filter_map(known).collect();
        // A metric created here a moment ago is not in the cluster yet. Of all others the cluster knows better whether they
        // exist.
        let here = local.find_leaves(glob, max_hits, cancel).unwrap_or_default();
        found.extend(here.into_iter().filter(|(id, _)| id.0 >= sent));
        found.sort_by(|(_, a), (_, b)| a.cmp(b));
        found.dedup();
        Ok(found)
    }

    fn learn(&self, local: &dyn LocalMetrics, unknown: Vec<String>) -> Result<(), StoreError> {
        let mut policies = self.tables.policies(&unknown)?;
        let with_policy = |name: String| {
            let policy = policies.remove(&name).unwrap_or_else(|| Arc::clone(&self.default));
            (name, policy)
        };
        let metrics: Vec<_> = unknown.into_iter().map(with_policy).collect();
        if let Err(error) = self.adopted.learn(local, &metrics) {
            tracing::warn!(%error, "metrics of the cluster cannot be recorded here and are left out of the answer");
        }
        Ok(())
    }
}

fn limits(max_hits: usize) -> LookupLimits {
    LookupLimits { max_hits, max_rows: max_hits.saturating_mul(ROWS_PER_HIT) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, FakeTables, clustered, other_policy, policy};
    use super::*;
    use std::time::Duration;

    fn lookup(tables: &Arc<FakeTables>) -> (tempfile::TempDir, Lookup) {
        let (dir, store) = clustered();
        let tables: Arc<dyn NameTables> = Arc::<FakeTables>::clone(tables);
        let adopted = Arc::<Adopted>::default();
        let sender = NameSender::new(Arc::clone(&tables), Arc::clone(&adopted), store, Arc::default());
        (dir, Lookup { tables, adopted, sender: Arc::new(sender.unwrap()), default: policy() })
    }

    fn names<T>(found: Vec<T>, name: impl Fn(T) -> String) -> Vec<String> {
        found.into_iter().map(name).collect()
    }

    #[test]
    fn metrics_of_the_cluster_are_known_here_after_they_were_found() {
        let tables = FakeTables::with(&[]);
        tables.metrics.lock().insert("a.b".to_owned(), other_policy());
        let (_dir, lookup) = lookup(&tables);
        let server = FakeServer::default();
        let glob = Glob::parse("a.*").unwrap();
        let found = lookup.find_leaves(&server, &glob, 10, &Cancel::never()).unwrap();
        assert_eq!(found, [(MetricId(0), "a.b".to_owned())]);
        assert_eq!(server.policy_of(MetricId(0)), Some(other_policy()));
    }

    #[test]
    fn a_metric_that_was_not_sent_yet_is_found_and_one_that_was_deleted_there_is_not() {
        let tables = FakeTables::with(&["there"]);
        let (_dir, lookup) = lookup(&tables);
        let (server, never) = (FakeServer::with(&["deleted"]), Cancel::never());
        let glob = Glob::parse("*").unwrap();
        lookup.sender.send_new(&server, Duration::MAX).unwrap();
        tables.metrics.lock().remove("deleted");
        let found = lookup.find(&server, &glob, 10, &never).unwrap();
        assert_eq!(names(found, |hit| hit.path), ["there"]);
        server.create("new");
        let found = lookup.find_leaves(&server, &glob, 10, &never).unwrap();
        assert_eq!(names(found, |(_, name)| name), ["new", "there"]);
        let found = lookup.find(&server, &glob, 10, &never).unwrap();
        assert!(names(found, |hit| hit.path).contains(&"new".to_owned()));
    }
}
