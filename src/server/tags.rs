//! Tagged series by their names: brought into being and deleted over HTTP, as carbon and people's scripts do.

use std::sync::atomic::Ordering;

use super::engine::{Engine, now};
use super::source::UNKNOWN_TAGS;
use crate::http::FindFailure;
use crate::index::SharedIndex;
use crate::rollup::PointsError;
use crate::store::StoreError;
use plumbago_model::{Batch, MetricId, Point, name};

impl Engine {
    /// All names, if they are all in memory.
    pub(super) fn whole_index(&self) -> Result<&SharedIndex, FindFailure> {
        match self.store.roster().filter(|roster| roster.must_ask()) {
            Some(_) => Err(FindFailure::Invalid(UNKNOWN_TAGS.to_owned())),
            None => Ok(&self.index),
        }
    }

    /// Makes metrics that are not there yet, without points. Gives the names they are stored under.
    pub(super) fn make_series(&self, paths: &[&str]) -> Result<Vec<String>, FindFailure> {
        let names = paths.iter().map(|path| self.canonical(path)).collect::<Result<Vec<String>, _>>()?;
        if self.paused.load(Ordering::Relaxed) {
            return Err(FindFailure::Limit("the disk is full (store.reserve_bytes)".to_owned()));
        }
        let now = now();
        let mut batch = Batch::default();
        names.iter().for_each(|name| batch.push(name, Point { timestamp: now, value: 0.0 }));
        let resolved = self.resolver.resolve(&batch, now).map_err(failure)?;
        if let Some((reason, name)) = resolved.refused.first() {
            self.telemetry.reject(*reason, resolved.refused.len() as u64);
            return Err(FindFailure::Limit(format!("`{name}` is not taken: {}", reason.label())));
        }
        self.points.sync().map_err(failure)?;
        Ok(names)
    }

    /// Deletes tagged metrics with their points. Those that are not there are no trouble.
    pub(super) fn delete_tagged(&self, paths: &[&str]) -> Result<(), FindFailure> {
        let mut ids: Vec<MetricId> = Vec::new();
        for path in paths {
            let name = self.canonical(path)?;
            if !name::is_tagged(&name) {
                return Err(FindFailure::Invalid(format!(
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
        self.delete(&ids).map_err(failure)?;
        self.points.sync().map_err(failure)?;
        Ok(())
    }

    fn canonical(&self, path: &str) -> Result<String, FindFailure> {
        let invalid = |error: &dyn std::fmt::Display| FindFailure::Invalid(error.to_string());
        let name =
            name::canonical(path, self.config.ingest.max_name_bytes).map_err(|error| invalid(&error))?;
        if name.contains(';') && !name::is_tagged(&name) {
            return Err(invalid(&format_args!("the tags of `{path}` are not key=value, each with a value")));
        }
        Ok(name.into_owned())
    }
}

fn failure(error: PointsError) -> FindFailure {
    match &error {
        PointsError::Store(StoreError::Cluster(cluster)) if cluster.is_retryable() => {
            FindFailure::Away(error.to_string())
        }
        _ => FindFailure::Store(error.to_string()),
    }
}
