//! Opens the points at a start: loads the catalogue, then replays what the log has beyond the last commit.
//!
//! The catalogue has every metric that a cut recorded, and the log has everything accepted since. The two overlap: a cut
//! records names before it commits, and only the commit moves the log's floor. So a replay meets metrics that the catalogue
//! already has, and deletions that may or may not have reached it. Therefore applying a record a second time must change
//! nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::head::Direct;
use super::points::{Points, PointsError, placed};
use crate::disk::Folder;
use crate::log::{self, Log, Record};
use crate::planted::{Planted, is_planted};
use crate::store::{MetricStore, PointStore};
use plumbago_model::{MetricId, MetricRecord, Point, Policy, PolicyId, Span};

/// Receives the names that a recovery finds. The server builds the index from them while metrics are loaded.
pub trait Names {
    /// Does a metric have this name?
    fn knows(&self, name: &str) -> bool;

    /// A metric of the catalogue or of the log.
    fn add(&mut self, id: MetricId, name: &str);

    /// A metric that the log says was deleted.
    fn remove(&mut self, id: MetricId);

    /// A metric that the log says was renamed. False if another metric has that name by now.
    fn rename(&mut self, id: MetricId, name: &str) -> bool;
}

/// Points that are ready to be written and read.
pub struct Opened {
    /// The points.
    pub points: Points,
    /// No metric, deleted ones included, had this id or a higher one.
    pub next_id: MetricId,
    /// Metrics that count for a quota because of who created them.
    pub owners: Vec<(MetricId, String)>,
    /// Places of the log that cannot be read, one line each.
    pub damage: Vec<String>,
}

impl Points {
    /// Opens a store: loads the catalogue, replays the log, and appends after its end.
    pub fn open(
        store: Arc<dyn PointStore>,
        catalogue: Arc<dyn MetricStore>,
        log_dir: &Folder,
        head_points: usize,
        now: u32,
        names: &mut impl Names,
    ) -> Result<Opened, PointsError> {
        let floor = store.snapshot().position().log_floor;
        let floor = if is_planted(Planted::FloorIgnored) { 0 } else { floor };
        // This comes before the replay because it creates the directory. New records go to a new segment, after the replayed ones.
        let log = Log::open(log_dir, floor)?.of_store(catalogue.store_id());
        let points = Points::empty(store, catalogue, log, head_points);
        let mut recovery = Recovery {
            points: &points,
            names,
            now,
            next_id: 0,
            unannounced: Vec::new(),
            half_deleted: Vec::new(),
            half_renamed: Vec::new(),
            owners: HashMap::new(),
            damage: Vec::new(),
        };
        recovery.load()?;
        recovery.replay(log_dir, floor)?;
        recovery.announce(now);
        recovery.finish_deletions()?;
        recovery.finish_renames()?;
        let next_id = MetricId(recovery.next_id);
        let damage = std::mem::take(&mut recovery.damage);
        let owners = std::mem::take(&mut recovery.owners);
        let owners = owners.into_iter().filter(|(id, _)| points.state(*id).is_some()).collect();
        Ok(Opened { points, next_id, owners, damage })
    }

    fn restore_policy(&self, id: PolicyId, policy: Policy, now: u32) {
        self.begin_marks(id, &policy, now);
        self.policies().restore(id, policy);
    }

    fn restore_metric(&self, record: &MetricRecord) {
        let Some((&current, earlier)) = record.policies.split_last() else { return };
        for &policy in earlier {
            self.policies().remember(record.id, policy);
        }
        self.memory().live.add_metric(record.id, current, record.span);
        let mut recorded = self.recorded.lock();
        if recorded.len() <= record.id.index() {
            recorded.resize(record.id.index() + 1, Span::EMPTY);
        }
        recorded[record.id.index()] = record.span;
    }

    /// Puts points of the old log into memory, in the stage that took them when they were accepted.
    fn replay_points(&self, points: &[(MetricId, Point)], accepted: u32) {
        let mut memory = self.memory();
        memory.live.note_accepted(accepted);
        for &(id, point) in points {
            let Some(state) = memory.live.state(id) else { continue };
            let Some(policy) = self.policies().get(state.policy) else { continue };
            match placed(&policy, point.timestamp, accepted) {
                Some(0) => memory.live.push(id, point),
                Some(level) => memory.live.push_direct(id, Direct { level, point }),
                None => {}
            }
        }
    }
}

/// One recovery under way.
struct Recovery<'a, N> {
    points: &'a Points,
    names: &'a mut N,
    now: u32,
    next_id: u32,
    /// Metrics of the log that the store has not heard of. The first points behind them say when they were created.
    unannounced: Vec<(MetricId, String)>,
    /// Metrics that the log says were deleted, and that the catalogue still has.
    half_deleted: Vec<MetricId>,
    /// Names of the log that the catalogue may lack.
    half_renamed: Vec<(MetricId, String)>,
    owners: HashMap<MetricId, String>,
    damage: Vec<String>,
}

impl<N: Names> Recovery<'_, N> {
    fn load(&mut self) -> Result<(), PointsError> {
        let catalogue = self.points.catalogue();
        for (id, policy) in catalogue.policies()? {
            self.points.restore_policy(id, policy, self.now);
        }
        // A fill may have moved the marks of a policy whose record was lost with the power. Another one must not begin with them.
        for mark in &self.points.store().snapshot().position().marks {
            self.points.policies().reserve(mark.policy);
        }
        catalogue.load(&mut |record| self.add(&record))?;
        self.owners = catalogue.owners()?.into_iter().collect();
        self.next_id = catalogue.id_bound()?;
        Ok(())
    }

    fn replay(&mut self, log_dir: &Folder, floor: u64) -> Result<(), PointsError> {
        let store = self.points.catalogue().store_id();
        let found = log::replay_of(log_dir, store, floor, |record| match record {
            Record::Opened(_) => {}
            Record::Points { accepted, points } => {
                points.iter().map(|(id, _)| *id).max().into_iter().for_each(|id| self.note_id(id));
                self.announce(accepted);
                self.points.replay_points(&points, accepted);
            }
            Record::Policies(policies) => policies.into_iter().for_each(|(id, p)| self.replay_policy(id, p)),
            Record::Metrics(metrics) => {
                metrics.into_iter().for_each(|(id, policy, name)| self.replay_created(id, policy, name));
            }
            Record::Owned(quotas) => self.replay_owned(quotas),
            Record::Deleted(ids) => self.replay_deleted(&ids),
            Record::Renamed(names) => {
                names.into_iter().for_each(|(id, name)| self.replay_renamed(id, name));
            }
        })?;
        for damage in &self.points.log().settle(found.damage)? {
            self.damage.push(format!(
                "{} at byte {}: {}",
                damage.path.display(),
                damage.offset,
                damage.detail
            ));
            tracing::warn!(path = %damage.path.display(), offset = damage.offset, detail = damage.detail, "damaged log record");
        }
        tracing::debug!(records = found.records, "log replayed");
        Ok(())
    }

    /// The record that created the metric may be lost with the power, and later ones not. They must not be taken for those of another.
    fn note_id(&mut self, id: MetricId) {
        self.next_id = self.next_id.max(id.0 + 1);
    }

    fn add(&mut self, record: &MetricRecord) {
        self.points.restore_metric(record);
        self.names.add(record.id, &record.name);
    }

    fn replay_policy(&self, id: PolicyId, policy: Policy) {
        if self.points.policies().get(id).is_none() {
            self.points.restore_policy(id, policy.clone(), self.now);
            self.points.new_policies.lock().push((id, policy));
        }
    }

    /// A known id comes from the catalogue, maybe under a later name. A known name does too: this metric was deleted or renamed,
    /// and its name given to another.
    fn replay_created(&mut self, id: MetricId, policy: PolicyId, name: String) {
        self.note_id(id);
        if self.points.state(id).is_some() || self.names.knows(&name) {
            return;
        }
        // The record of its policy was lost with the power, so this one was not durable, either. Another policy must not get the number:
        // the metric would come back with it.
        if self.points.policies().get(policy).is_none() {
            self.points.policies().reserve(policy);
            return;
        }
        let record = MetricRecord { id, name, policies: vec![policy], span: Span::EMPTY };
        self.add(&record);
        self.unannounced.push((record.id, record.name.clone()));
        self.points.created.lock().push(record);
    }

    /// What the catalogue has already may be recorded again.
    fn replay_owned(&mut self, quotas: Vec<(MetricId, String)>) {
        let there = quotas.into_iter().filter(|(id, _)| self.points.state(*id).is_some());
        for (id, quota) in there {
            self.owners.insert(id, quota.clone());
            self.points.owned.lock().push((id, quota));
        }
    }

    fn announce(&mut self, created: u32) {
        let metrics = std::mem::take(&mut self.unannounced);
        if !metrics.is_empty() {
            let metrics: Vec<(MetricId, &str)> = metrics.iter().map(|(id, name)| (*id, &**name)).collect();
            self.points.catalogue().announce(&metrics, created);
        }
    }

    fn replay_deleted(&mut self, ids: &[MetricId]) {
        if is_planted(Planted::DeletedNameKept) {
            return;
        }
        ids.iter().for_each(|id| self.note_id(*id));
        let is_recorded = |id: MetricId| {
            self.points.state(id).is_some() && !self.points.created.lock().iter().any(|m| m.id == id)
        };
        self.half_deleted.extend(ids.iter().copied().filter(|&id| is_recorded(id)));
        self.points.forget(ids);
        ids.iter().for_each(|&id| self.names.remove(id));
    }

    /// A name that another metric has by now was given to it later: this metric was renamed again or deleted, and a later record or
    /// the catalogue says so.
    fn replay_renamed(&mut self, id: MetricId, name: String) {
        self.note_id(id);
        if self.points.state(id).is_some() && self.names.rename(id, &name) {
            self.half_renamed.push((id, name));
        }
    }

    /// Records names that were logged but not recorded before the process died.
    fn finish_renames(&mut self) -> Result<(), PointsError> {
        self.half_renamed.retain(|(id, _)| self.points.state(*id).is_some());
        if !self.half_renamed.is_empty() {
            self.points.catalogue().rename(&self.half_renamed)?;
        }
        Ok(())
    }

    /// Finishes deletions that were logged but not recorded before the process died. The next cut removes that part of the log,
    /// and the start after it would bring the metrics back.
    fn finish_deletions(&self) -> Result<(), PointsError> {
        if !self.half_deleted.is_empty() {
            self.points.catalogue().delete(&self.half_deleted)?;
            self.points.store().delete(&self.half_deleted)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::testing::{HOUR, NOW, NoNames};
    use super::*;
    use crate::store::embedded::Embedded;

    fn open(dir: &Path, now: u32) -> (Points, Embedded) {
        let store = Embedded::open(dir).unwrap();
        let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
        let opened = Points::open(blocks, catalogue, &store.log_dir, 1000, now, &mut NoNames).unwrap();
        (opened.points, store)
    }

    #[test]
    fn a_metric_of_the_log_was_created_when_its_first_points_came() {
        let dir = tempfile::tempdir().unwrap();
        let (points, store) = open(dir.path(), NOW);
        let policy = points.intern_policy(&"7200*1s|sum|0".parse().unwrap(), NOW).unwrap();
        for (id, name, created) in [(0, "a", NOW), (1, "b", NOW + 600)] {
            points.create(&[(MetricId(id), policy, name)], created).unwrap();
            points.append(&[(MetricId(id), Point { timestamp: HOUR, value: 1.0 })], created).unwrap();
        }
        points.create(&[(MetricId(2), policy, "c")], NOW + 900).unwrap();
        drop((points, store));
        // No point says when the last one was created, so it counts from the start.
        let (_points, store) = open(dir.path(), NOW + 7200);
        let dates = store.dates(&[MetricId(0), MetricId(1), MetricId(2)]);
        let created: Vec<_> = dates.into_iter().map(|dates| dates.created).collect();
        assert_eq!(created, [Some(NOW), Some(NOW + 600), Some(NOW + 7200)]);
    }
}
