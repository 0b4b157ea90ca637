//! Looking after metrics: what the commands and `/internal/*` ask for.

use std::sync::Arc;

use super::backend::UNKNOWN_DIRECTORIES;
use super::copy::CopyError;
use super::engine::Engine;
use crate::http::{
    Care, Checked, Cleaned, CopiedMetric, Deleted, DeletedRange, Description, Reloaded, Renamed, Repaired,
    RetentionPlan, Stats, Usage,
};
use crate::index::{FindLimits, Survey, Top};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Dates, MetricId, QueryError, Scope, Selection, Span, Stretch, name};

/// Metrics deleted in one go: cuts wait for each.
const DELETE_BATCH: usize = 10_000;

/// Names looked at while the index is locked.
const LOOKED_AT: u32 = 4096;

/// Metrics whose chunks are looked at in one go.
const READ_BATCH: usize = 10_000;

impl Care for Engine {
    fn delete_matching(&self, query: &str, trial: bool, cancel: &Cancel) -> Result<Deleted, QueryError> {
        self.delete_matching_within(&Arc::default(), query, trial, cancel)
    }

    fn rename(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        self.rename_all(from, to, trial)
    }

    fn clean(&self, unwritten_for: Option<u64>, trial: bool) -> Result<Cleaned, QueryError> {
        self.clean_up(unwritten_for, trial)
    }

    fn repair(&self, trial: bool) -> Result<Repaired, QueryError> {
        self.repair_names(trial)
    }

    fn delete_range(
        &self,
        query: &str,
        range: (u32, u32),
        trial: bool,
        cancel: &Cancel,
    ) -> Result<DeletedRange, QueryError> {
        let range = Stretch { from: range.0, until: range.1 };
        self.erase_matching(&Arc::default(), query, range, trial, cancel)
    }

    fn names(&self, query: &str, cancel: &Cancel) -> Result<Vec<String>, QueryError> {
        self.all_names_within(&Arc::default(), query, cancel)
    }

    fn usage(&self, query: &str, cancel: &Cancel) -> Result<Usage, QueryError> {
        self.usage_within(&Arc::default(), query, cancel)
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

    fn top(&self, survey: &Survey, cancel: &Cancel) -> Result<Top, QueryError> {
        self.rank(&Scope::default(), survey, cancel)
    }

    fn describe_metric(&self, name: &str) -> Result<Option<Description>, QueryError> {
        let name = name::canonical(name, self.config.ingest.max_name_bytes).map_err(QueryError::invalid)?;
        let Some(id) = self.index.read().lookup(name.as_bytes()) else { return Ok(None) };
        let Some((policy, span)) = self.points.state(id) else { return Ok(None) };
        let Some(policy) = self.points.policies().get(policy) else { return Ok(None) };
        let Dates { created, updated, read } = self.dates(id);
        Ok(Some(Description {
            name: name.into_owned(),
            id: id.0,
            policy: policy.to_string(),
            first: (span != Span::EMPTY).then_some(span.first),
            last: self.last_point(id, span, &Cancel::never())?,
            bytes: self.chunk_bytes(&[id])?,
            dates_since: self.store.upstream.dates_since(),
            created,
            updated,
            read,
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
        cancel: &Cancel,
    ) -> Result<Deleted, QueryError> {
        let selection = Selection::exactly(query)?;
        let found = self.chosen(scope, &selection, query, cancel)?;
        let only_directories =
            found.is_empty() && !selection.has_tags() && self.has_directories(scope, query, cancel)?;
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

    /// The names that a glob matches, inside of a scope.
    pub(super) fn all_names_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        cancel: &Cancel,
    ) -> Result<Vec<String>, QueryError> {
        let selection = Selection::exactly(query)?;
        Ok(self.selected(scope, &selection, cancel)?.into_iter().map(|(_, name)| name).collect())
    }

    /// What metrics take up, inside of a scope.
    pub(super) fn usage_within(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        cancel: &Cancel,
    ) -> Result<Usage, QueryError> {
        let selection = Selection::with_all_below(query)?;
        let found = self.selected(scope, &selection, cancel)?;
        let ids: Vec<MetricId> = found.into_iter().map(|(id, _)| id).collect();
        let mut bytes = 0;
        for some in ids.chunks(READ_BATCH) {
            cancel.check()?;
            bytes += self.chunk_bytes(some)?;
        }
        Ok(Usage { metrics: ids.len() as u64, bytes, points_in_log: self.points.held() as u64 })
    }

    /// The metrics that a query means which has a selection.
    pub(super) fn chosen(
        &self,
        scope: &Arc<Scope>,
        selection: &Selection,
        query: &str,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        match selection.has_tags() {
            true => self.selected(scope, selection, cancel),
            false => self.matching(scope, query, cancel),
        }
    }

    /// The metrics of a selection, by ascending id. New metrics come in meanwhile.
    fn selected(
        &self,
        scope: &Scope,
        selection: &Selection,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let (bound, mut found) = (self.points.id_bound(), Vec::new());
        for from in (0..bound).step_by(LOOKED_AT as usize) {
            cancel.check()?;
            let index = self.index.read();
            let taken = |id: MetricId| {
                let name =
                    index.name(id).filter(|name| scope.covers(name)).and_then(|name| scope.shown(name))?;
                selection.takes(&name).then(|| (id, name.into_owned()))
            };
            let ids = (from..bound.min(from.saturating_add(LOOKED_AT))).map(MetricId);
            found.extend(ids.filter_map(taken));
        }
        Ok(found)
    }

    /// The metrics that a glob matches, in the whole store, inside of a scope.
    fn matching(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let glob = Glob::parse(query)?;
        let Some(index) = self.whole_index() else {
            if scope.tenant().is_some() {
                return Err(QueryError::invalid(UNKNOWN_DIRECTORIES));
            }
            let mut found = self.store.upstream.find_leaves(self, &glob, usize::MAX, cancel)?;
            found.retain(|(_, name)| scope.covers(name));
            return Ok(found);
        };
        index.within(scope).find_leaves(&glob, FindLimits::NONE, cancel)
    }

    pub(super) fn has_directories(
        &self,
        scope: &Arc<Scope>,
        query: &str,
        cancel: &Cancel,
    ) -> Result<bool, QueryError> {
        let found = self.index.within(scope).find(&Glob::parse(query)?, FindLimits::NONE, cancel)?;
        Ok(found.iter().any(|node| node.directory))
    }
}
