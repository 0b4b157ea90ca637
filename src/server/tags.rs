//! Creates and deletes tagged series over HTTP, for carbon and for scripts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use super::source::UNKNOWN_TAGS;
use crate::http::TaggedSeries;
use crate::index::{SharedIndex, Sight};
use plumbago_model::{Batch, MetricId, Point, QueryError, Scope, name};

impl TaggedSeries for Engine {
    fn index(&self) -> Result<Sight<'_>, QueryError> {
        self.whole_index().map(SharedIndex::all).ok_or_else(|| QueryError::invalid(UNKNOWN_TAGS))
    }

    fn tag_series(&self, paths: &[&str]) -> Result<Vec<String>, QueryError> {
        let names = paths.iter().map(|path| self.canonical(path)).collect::<Result<Vec<String>, _>>()?;
        if self.paused.load(Ordering::Relaxed) {
            return Err(QueryError::Limit("the disk is full (store.reserve_bytes)".to_owned()));
        }
        let now = now();
        let mut batch = Batch::default();
        names.iter().for_each(|name| batch.push(name, Point { timestamp: now, value: 0.0 }));
        let resolved = self.resolver.resolve(&batch, now)?;
        if let Some((at, reason)) = resolved.refused.first() {
            let name = batch.entries.get(*at).map_or("", |(name, _)| name);
            self.telemetry.reject(*reason, resolved.refused.len() as u64);
            return Err(QueryError::Limit(format!("`{name}` is not taken: {}", reason.label())));
        }
        self.points.sync()?;
        Ok(names)
    }

    fn delete_series(&self, paths: &[&str]) -> Result<(), QueryError> {
        let mut ids: Vec<MetricId> = Vec::new();
        for path in paths {
            let name = self.canonical(path)?;
            if !name::is_tagged(&name) {
                return Err(QueryError::Invalid(format!(
                    "`{path}` has no tags; `plumbago delete` is for such metrics"
                )));
            }
            ids.extend(self.index.read().lookup(name.as_bytes()));
        }
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        self.delete(&ids)?;
        self.points.sync()?;
        Ok(())
    }
}

impl Engine {
    /// What of the index is inside of a scope, if all names are in memory.
    pub(super) fn sight<'a>(&'a self, scope: &'a Arc<Scope>) -> Result<Sight<'a>, QueryError> {
        let index = self.whole_index().ok_or_else(|| QueryError::invalid(UNKNOWN_TAGS))?;
        Ok(index.within(scope))
    }

    /// The stored spelling. As in graphite-web a name loses its leading `~`, with tags or without: a value of a tag cannot begin
    /// with one, and the name is the value of the tag `name`.
    pub(super) fn canonical(&self, path: &str) -> Result<String, QueryError> {
        let bare = path.trim_start_matches('~');
        if bare.is_empty() {
            return Err(QueryError::Invalid(format!(
                "`{path}` has nothing but `~`: send a name, such as disk.used"
            )));
        }
        let name = name::canonical(bare, self.config.ingest.max_name_bytes).map_err(QueryError::invalid)?;
        if name.contains(';') && !name::is_tagged(&name) {
            return Err(QueryError::Invalid(format!(
                "the tags of `{path}` are not key=value, each with a value"
            )));
        }
        Ok(name.into_owned())
    }
}
