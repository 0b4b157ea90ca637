//! Looking after metrics: what the commands and `/internal/*` ask for.

use std::sync::Arc;

use super::copy::CopyError;
use super::engine::Engine;
use crate::http::{
    Care, Checked, Cleaned, CopiedMetric, Deleted, DeletedRange, DeletedSlots, Description, Reloaded,
    Renamed, RetentionPlan, Stats, Usage,
};
use crate::index::FindLimits;
use crate::rollup::Erased;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, QueryError, Scope, Selection, Span, name};

/// Metrics deleted in one go: cuts wait for each.
const DELETE_BATCH: usize = 10_000;

impl Care for Engine {
    fn delete_matching(&self, query: &str, trial: bool) -> Result<Deleted, QueryError> {
        self.delete_matching_within(&Arc::default(), query, trial)
    }

    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        self.rename_all(from, to, trial)
    }

    fn clean(&self, unwritten_for: Option<u64>, trial: bool) -> Result<Cleaned, QueryError> {
        self.clean_up(unwritten_for, trial)
    }

    fn delete_range(&self, query: &str, range: (u32, u32), trial: bool) -> Result<DeletedRange, QueryError> {
        self.delete_range_within(&Arc::default(), query, range, trial)
    }

    fn names(&self, query: &str) -> Result<Vec<String>, QueryError> {
        self.all_names_within(&Arc::default(), query)
    }

    fn usage(&self, query: &str) -> Result<Usage, QueryError> {
        self.usage_within(&Arc::default(), query)
    }

    fn stats(&self) -> Result<Stats, QueryError> {
        let policies = self.points.policies().all();
        let index = self.index.read();
        Ok(Stats {
            path: self.config.store.path.display().to_string(),
            metrics: index.len() as u64,
            block_bytes: self.stored_bytes(),
            points_in_log: self.points.held() as u64,
            index_bytes: index.memory_bytes() as u64,
            policies: policies.iter().map(|(_, policy)| policy.to_string()).collect(),
        })
    }

    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError> {
        let name = name::canonical(name, self.config.ingest.max_name_bytes).map_err(QueryError::invalid)?;
        let Some(id) = self.index.read().lookup(name.as_bytes()) else { return Ok(None) };
        let Some((policy, span)) = self.points.state(id) else { return Ok(None) };
        let Some(policy) = self.points.policies().get(policy) else { return Ok(None) };
        Ok(Some(Description {
            name: name.into_owned(),
            id: id.0,
            policy: policy.to_string(),
            first: (span != Span::EMPTY).then_some(span.first),
            last: self.last_point(id, span, &Cancel::never())?,
            bytes: self.chunk_bytes(&[id])?,
        }))
    }

    fn copy_metric(
        &self,
        source: &str,
        destination: &str,
        window: (u32, u32),
        trial: bool,
    ) -> Result<Option<CopiedMetric>, QueryError> {
        if !self.store.upstream.is_sole_writer() {
            return Err(QueryError::invalid(
                "this server shares a cluster with others; `plumbago copy` without --url, with the configuration of this server, \
                 copies in the cluster itself",
            ));
        }
        let canonical =
            |raw| name::canonical(raw, self.config.ingest.max_name_bytes).map_err(QueryError::invalid);
        let (source, destination) = (canonical(source)?, canonical(destination)?);
        let Some(id) = self.index.read().lookup(source.as_bytes()) else { return Ok(None) };
        match self.copy(id, &destination, window, trial) {
            Ok(copied) => {
                self.points.sync()?;
                let (points, aggregates) = (copied.points, copied.aggregates);
                Ok(Some(CopiedMetric { points, aggregates, refused: None }))
            }
            Err(CopyError::Gone) => Ok(None),
            Err(error @ CopyError::OtherPolicy { .. }) => {
                Ok(Some(CopiedMetric { refused: Some(error.to_string()), ..CopiedMetric::default() }))
            }
            Err(CopyError::Points(error)) => Err(error.into()),
        }
    }

    fn check_files(&self) -> Result<Checked, QueryError> {
        self.check_own_files()
    }

    fn plan_retention(&self) -> Result<RetentionPlan, QueryError> {
        self.plan_files()
    }

    fn reload(&self) -> Result<Reloaded, QueryError> {
        Engine::reload(self)
    }
}

impl Engine {
    /// Deletes the metrics that a glob matches, inside of a scope.
    pub(super) fn delete_matching_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        trial: bool,
    ) -> Result<Deleted, QueryError> {
        let selection = Selection::exactly(query)?;
        let found = if selection.has_tags() {
            self.selected(scope, &selection)
        } else {
            self.matching(scope, query)?
        };
        let only_directories =
            found.is_empty() && !selection.has_tags() && self.has_directories(scope, query)?;
        if !trial {
            let mut ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
            ids.sort_unstable();
            for batch in ids.chunks(DELETE_BATCH) {
                self.delete(batch)?;
            }
            self.points.sync()?;
        }
        let metrics = found.into_iter().map(|(_, name)| name).collect();
        Ok(Deleted { deleted: !trial, metrics, only_directories })
    }

    /// Deletes the points of a range of time, inside of a scope.
    pub(super) fn delete_range_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        range: (u32, u32),
        trial: bool,
    ) -> Result<DeletedRange, QueryError> {
        if !self.store.upstream.is_sole_writer() {
            return Err(QueryError::invalid(
                "a range of time can be deleted in the embedded store only, and this server writes to Cassandra",
            ));
        }
        let selection = Selection::exactly(query)?;
        let mut found = if selection.has_tags() {
            self.selected(scope, &selection)
        } else {
            self.matching(scope, query)?
        };
        let only_directories =
            found.is_empty() && !selection.has_tags() && self.has_directories(scope, query)?;
        found.sort_unstable_by_key(|(id, _)| *id);
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        let erased = self.points.erase(&ids, range, trial)?;
        let mut metrics = Vec::new();
        for ((_, name), Erased { points, aggregates, remade }) in found.into_iter().zip(erased) {
            if points + aggregates + remade > 0 {
                metrics.push(DeletedSlots { name, points, aggregates, remade });
            }
        }
        if !trial {
            self.telemetry.slots_deleted.add(metrics.iter().map(|m| m.points + m.aggregates).sum());
        }
        metrics.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(DeletedRange { deleted: !trial, metrics, only_directories })
    }

    /// The names that a glob matches, inside of a scope.
    pub(super) fn all_names_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
    ) -> Result<Vec<String>, QueryError> {
        let selection = Selection::exactly(query)?;
        Ok(self.selected(scope, &selection).into_iter().map(|(_, name)| name).collect())
    }

    /// What metrics take up, inside of a scope.
    pub(super) fn usage_within(&self, scope: &Arc<Scope>, query: &str) -> Result<Usage, QueryError> {
        let selection = Selection::with_all_below(query)?;
        let ids: Vec<MetricId> = self.selected(scope, &selection).into_iter().map(|(id, _)| id).collect();
        let bytes = self.chunk_bytes(&ids)?;
        Ok(Usage { metrics: ids.len() as u64, bytes, points_in_log: self.points.held() as u64 })
    }

    /// The metrics of a selection, by ascending id.
    fn selected(&self, scope: &Scope, selection: &Selection) -> Vec<(MetricId, String)> {
        let index = self.index.read();
        let taken = |id: MetricId| {
            let name = index.name(id).filter(|name| selection.takes(name) && scope.covers(name))?;
            Some((id, name.to_owned()))
        };
        (0..self.points.id_bound()).map(MetricId).filter_map(taken).collect()
    }

    fn matching(&self, scope: &Arc<Scope>, query: &str) -> Result<Vec<(MetricId, String)>, QueryError> {
        self.index.within(scope).find_leaves(&Glob::parse(query)?, FindLimits::NONE, &Cancel::never())
    }

    fn has_directories(&self, scope: &Arc<Scope>, query: &str) -> Result<bool, QueryError> {
        let found =
            self.index.within(scope).find(&Glob::parse(query)?, FindLimits::NONE, &Cancel::never())?;
        Ok(found.iter().any(|node| node.directory))
    }
}
