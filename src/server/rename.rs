//! Renaming a metric, and everything below a directory, with its history.
//!
//! A metric whose new name is free keeps its id and its points, and only its name changes, for all of them at one moment. If the new
//! name exists already, because senders began to use it, the histories are merged: the metric of that name gets what it lacks, and
//! then the old one is deleted. On a cluster the rows of a metric are found by its name, so there the command copies and deletes.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use super::engine::Engine;
use crate::bundle::Bundle;
use crate::http::{ImportOptions, Moving as _, Renamed};
use crate::index::FindLimits;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, QueryError, name};

/// How often the rest of a merge starts again because an import or a cut came between.
const REST_ROUNDS: usize = 20;

/// A metric with its old and its new name.
struct Change {
    id: MetricId,
    old: String,
    new: String,
}

impl Engine {
    /// Renames the metric `from` and all below it. A trial only lists them.
    pub(super) fn rename_all(&self, from: &str, to: &str, trial: bool) -> Result<Renamed, QueryError> {
        if !self.store.upstream.is_sole_writer() {
            let text = "this server shares its metrics through Cassandra: call `plumbago rename` without --url, it works on the cluster itself";
            return Err(QueryError::invalid(text));
        }
        let changes = self.changes(from, to)?;
        let mut renamed = Renamed { renamed: !trial, ..Renamed::default() };
        renamed.metrics = changes.iter().map(|change| (change.old.clone(), change.new.clone())).collect();
        let is_taken = |change: &&Change| self.index.read().lookup(change.new.as_bytes()).is_some();
        if trial {
            renamed.merged = changes.iter().filter(is_taken).count() as u64;
            return Ok(renamed);
        }
        let relabelled = self.relabel(&changes)?;
        for change in changes.iter().filter(|change| !relabelled.contains(&change.id)) {
            self.merge(change)?;
            renamed.merged += 1;
        }
        self.points.sync()?;
        self.telemetry.metrics_renamed.add(changes.len() as u64);
        Ok(renamed)
    }

    /// What is to be renamed, in the order of the old names.
    fn changes(&self, from: &str, to: &str) -> Result<Vec<Change>, QueryError> {
        let most = self.config.ingest.max_name_bytes;
        let canonical =
            |text: &str| name::canonical(text, most).map(String::from).map_err(QueryError::invalid);
        let (from, to) = (canonical(from)?, canonical(to)?);
        check(&from, &to)?;
        let mut found: BTreeMap<String, MetricId> = BTreeMap::new();
        found.extend(self.index.read().lookup(from.as_bytes()).map(|id| (from.clone(), id)));
        let is_tagged = |name: &str| name.contains(';');
        if !is_tagged(&from) && !is_tagged(&to) {
            let below = Glob::parse(&format!("{from}.**"))?;
            let leaves = self.index.find_leaves(&below, FindLimits::NONE, &Cancel::never())?;
            found.extend(leaves.into_iter().map(|(id, name)| (name, id)));
        }
        let change = |(old, id): (String, MetricId)| {
            let new = canonical(&format!("{to}{}", old.strip_prefix(&*from).unwrap_or_default()))?;
            Ok(Change { id, old, new })
        };
        found.into_iter().map(change).collect()
    }

    /// Gives the metrics whose new names are free these names. Returns their ids.
    fn relabel(&self, changes: &[Change]) -> Result<HashSet<MetricId>, QueryError> {
        let names: Vec<(MetricId, String)> =
            changes.iter().map(|change| (change.id, change.new.clone())).collect();
        Ok(self.resolver.rename(&names)?.into_iter().collect())
    }

    /// Gives a metric what the old one has and it lacks, and deletes the old one.
    ///
    /// Senders go on while the history moves. If the old metric has received points by then, they wait while the rest moves.
    fn merge(&self, change: &Change) -> Result<(), QueryError> {
        if self.try_merge(change)? {
            return Ok(());
        }
        let _senders_wait = self.accepting.write();
        for _ in 0..REST_ROUNDS {
            if self.try_merge(change)? {
                return Ok(());
            }
        }
        let text = format!("`{}` is being changed by somebody else; rename it again", change.old);
        Err(QueryError::Away(text.into()))
    }

    /// False if the old metric may have received points meanwhile. Then it is still there.
    fn try_merge(&self, change: &Change) -> Result<bool, QueryError> {
        let all = (0, u32::MAX);
        let mark = self.points.cut_to_mark()?;
        let mut bundles: Vec<Bundle> = Vec::new();
        self.export(&[&change.old], all, &mut |bundle| {
            bundles.push(Bundle { name: change.new.clone(), ..bundle });
            ControlFlow::Continue(())
        })?;
        let imported = self.import(bundles, ImportOptions { keep_policy: true, window: all })?;
        if let Some((name, why)) = imported.refused.first() {
            return Err(QueryError::invalid(format!("`{name}` cannot be made: {why}")));
        }
        self.delete_merged(change.id, mark)
    }

    /// Deletes a metric whose points are all in another. False if it has received more of them meanwhile.
    fn delete_merged(&self, id: MetricId, mark: u64) -> Result<bool, QueryError> {
        let gone = self.finish(self.points.begin_quiet_deletion(id, mark)?)?;
        Ok(!gone.is_empty())
    }
}

/// Refuses what cannot be meant.
fn check(from: &str, to: &str) -> Result<(), QueryError> {
    for name in [from, to] {
        if !name.contains(';') && !Glob::parse(name).is_ok_and(|glob| glob.is_literal()) {
            return Err(QueryError::invalid(format!(
                "`{name}` is a glob; rename takes names and directories"
            )));
        }
    }
    if from == to || to.strip_prefix(from).is_some_and(|rest| rest.starts_with('.')) {
        return Err(QueryError::invalid(format!("`{from}` cannot be moved into itself")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let why = |from, to| check(from, to).err().map(|error| error.to_string());
        assert!(why("a.*", "b").unwrap().contains("`a.*` is a glob"));
        assert!(why("a", "{b,c}").unwrap().contains("is a glob"));
        assert!(why("a", "a").unwrap().contains("into itself"));
        assert!(why("a", "a.b").unwrap().contains("into itself"));
        assert_eq!(why("a.b", "a"), None);
        assert_eq!(why("a", "ab"), None);
        assert_eq!(why("a;b=*", "a;b=c"), None, "a tag may have such a value");
    }
}
