//! Following the feed: what other servers create and delete.
//!
//! When somebody deletes a stretch of time, the rows in the cluster are deleted there. What this server holds itself, its own part of
//! the aggregates and what is still in memory and in the spool, goes when it reads of it here.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Clustered;
use super::adopted::Adopted;
use super::name_sender::NameSender;
use super::notes::Notes;
use super::tables::NameTables;
use crate::store::cassandra::names::{Change, Cursor};
use crate::store::{LocalMetrics, StoreError};
use plumbago_model::{MetricId, Policy, Stretch};

/// How far the feed was followed is saved once in so many milliseconds: what is read twice does no harm.
const SAVE_EVERY_MS: i64 = 60_000;

/// See the module documentation.
pub(super) struct Follower {
    tables: Arc<dyn NameTables>,
    adopted: Arc<Adopted>,
    sender: Arc<NameSender>,
    store: Arc<Clustered>,
    /// Learn every name, or only deletions? Where globs are looked up in the cluster deletions are enough: a deleted
    /// name that was once met here would still be found.
    all_names: bool,
    cursor: Mutex<Option<Cursor>>,
    /// An earlier run followed the deletions of stretches of time up to here. Points that came since are newer.
    erasures_followed_ms: i64,
}

impl Follower {
    pub(super) fn new(
        tables: Arc<dyn NameTables>,
        adopted: Arc<Adopted>,
        sender: Arc<NameSender>,
        store: Arc<Clustered>,
        all_names: bool,
    ) -> Result<Self, StoreError> {
        let saved = Notes(&store.local).followed_ms(all_names)?.map(Cursor::since);
        if saved.as_ref().is_some_and(Cursor::is_outdated) {
            tracing::warn!(
                "this server did not follow the cluster for a day or more: if ranges of time were deleted meanwhile, its part of the \
                 aggregates still has them; run `plumbago delete --from --until` again for these"
            );
        }
        let cursor = Mutex::new(saved.filter(|cursor| !cursor.is_outdated()));
        let erasures_followed_ms = Notes(&store.local).erasures_followed_ms()?;
        Ok(Self { tables, adopted, sender, store, all_names, cursor, erasures_followed_ms })
    }

    /// Does it go on where an earlier run ended, so that no name was missed in between?
    pub(super) fn goes_on(&self) -> bool {
        self.cursor.lock().is_some()
    }

    /// The cursor to reload all names with, if creations may have been missed.
    pub(super) fn after_gap(&self) -> Option<Cursor> {
        self.cursor.lock().as_ref().and_then(Cursor::after_gap)
    }

    /// Goes on from another cursor.
    pub(super) fn restart(&self, cursor: Cursor) -> Result<(), StoreError> {
        Notes(&self.store.local).set_followed_ms(self.all_names, cursor.until_ms())?;
        *self.cursor.lock() = Some(cursor);
        Ok(())
    }

    /// Applies what other servers created and deleted since the last call.
    pub(super) fn follow(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        let mut held = self.cursor.lock();
        let cursor = held.get_or_insert_with(Cursor::now);
        let known = |name: &str| !self.all_names || local.lookup(name).is_some();
        let before = cursor.clone();
        let changes = self.tables.changes(cursor, &known)?;
        if let Err(error) = self.apply(local, changes) {
            // The disk is full, say. The entries count as read, so they must be read again.
            *held = Some(before);
            return Err(error);
        }
        let until = cursor.until_ms();
        if until / SAVE_EVERY_MS != before.until_ms() / SAVE_EVERY_MS {
            Notes(&self.store.local).set_followed_ms(self.all_names, until)?;
        }
        Ok(())
    }
}

impl Follower {
    /// Makes these changes here. If it fails, some of them may be made; to make them once more changes nothing.
    fn apply(&self, local: &dyn LocalMetrics, changes: Vec<Change>) -> Result<(), StoreError> {
        let known = |name: &str| !self.all_names || local.lookup(name).is_some();
        let (mut created, mut deleted) = (Vec::new(), Vec::new());
        let mut erased: BTreeMap<Stretch, Vec<MetricId>> = BTreeMap::new();
        let mut erased_ms = 0;
        let mut moved = Vec::new();
        for change in changes {
            match change {
                Change::Created { name, policy } if !known(&name) => created.push((name, policy)),
                Change::Created { name, policy } => moved.extend(self.moved(local, &name, policy)),
                // A metric that was not sent yet is newer than the deletion: its name has begun again here.
                Change::Deleted { name } => {
                    deleted.extend(local.lookup(&name).filter(|&id| self.sender.has_sent(id)));
                }
                Change::Erased { at_ms, .. } if at_ms <= self.erasures_followed_ms => {}
                Change::Erased { name, stretch, at_ms } => {
                    erased_ms = at_ms.max(erased_ms);
                    erased.entry(stretch).or_default().extend(local.lookup(&name));
                }
            }
        }
        self.adopted.learn(local, &created)?;
        local.follow_policies(&moved)?;
        if !deleted.is_empty() {
            local.forget(&deleted)?;
        }
        self.erase(local, erased, erased_ms)
    }

    /// A metric that both have, if the cluster has another policy for it. One that was not sent yet gets its policy when it is.
    pub(super) fn moved(
        &self,
        local: &dyn LocalMetrics,
        name: &str,
        policy: Arc<Policy>,
    ) -> Option<(MetricId, Arc<Policy>)> {
        let id = local.lookup(name).filter(|&id| self.sender.has_sent(id))?;
        local.policy(id).filter(|known| *known != policy).map(|_| (id, policy))
    }

    /// Erases what this server holds itself.
    fn erase(
        &self,
        local: &dyn LocalMetrics,
        erased: BTreeMap<Stretch, Vec<MetricId>>,
        told_ms: i64,
    ) -> Result<(), StoreError> {
        for (stretch, mut metrics) in erased {
            metrics.sort_unstable();
            metrics.dedup();
            if !metrics.is_empty() {
                let erase = || local.erase(&metrics, stretch);
                self.store.erasures.during(&self.store.local, &metrics, stretch, erase)?;
            }
        }
        if told_ms > 0 { Notes(&self.store.local).set_erasures_followed_ms(told_ms) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::testing::{FakeServer, FakeTables, clustered, follower, policy};
    use super::*;

    fn created(name: &str) -> Change {
        Change::Created { name: name.to_owned(), policy: policy() }
    }

    fn deleted(name: &str) -> Change {
        Change::Deleted { name: name.to_owned() }
    }

    /// The names of a server that has sent two of its three metrics, after it followed this feed.
    fn follow(all_names: bool, feed: Vec<Change>) -> Vec<String> {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&[]);
        *tables.feed.lock() = feed;
        let server = FakeServer::with(&["known", "gone", "unsent"]);
        follower(&tables, &store, 2, all_names).follow(&server).unwrap();
        server.names()
    }

    #[test]
    fn what_others_create_and_delete_happens_here_too() {
        let feed = vec![created("new"), created("known"), deleted("gone"), deleted("never here")];
        assert_eq!(follow(true, feed), ["known", "unsent", "new"]);
    }

    #[test]
    fn what_could_not_be_applied_is_read_again() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&[]);
        let server = FakeServer::with(&["gone"]);
        let follower = follower(&tables, &store, 1, true);
        *tables.feed.lock() = vec![created("new"), deleted("gone")];
        server.is_full.store(true, Ordering::Relaxed);
        follower.follow(&server).unwrap_err();
        assert_eq!(server.names(), ["gone"]);
        server.is_full.store(false, Ordering::Relaxed);
        follower.follow(&server).unwrap();
        assert_eq!(server.names(), ["new"]);
    }

    #[test]
    fn a_name_that_has_begun_again_here_outlives_an_earlier_deletion() {
        assert_eq!(follow(true, vec![deleted("unsent"), deleted("gone")]), ["known", "unsent"]);
    }

    #[test]
    fn where_globs_are_looked_up_in_the_cluster_only_deletions_matter() {
        assert_eq!(follow(false, vec![created("new"), deleted("gone")]), ["known", "unsent"]);
    }

    #[test]
    fn it_goes_on_after_a_restart_unless_only_deletions_were_followed() {
        let (_dir, store) = clustered();
        let follower = |all_names| follower(&FakeTables::with(&[]), &store, 0, all_names);
        follower(false).restart(Cursor::now()).unwrap();
        assert!(follower(false).goes_on());
        assert!(!follower(true).goes_on(), "names were missed: all of them must be loaded");
        follower(true).restart(Cursor::now()).unwrap();
        assert!(follower(true).goes_on());
    }

    #[test]
    fn a_cursor_that_is_too_old_is_not_followed() {
        let (_dir, store) = clustered();
        Notes(&store.local).set_followed_ms(true, 1_000).unwrap();
        assert!(!follower(&FakeTables::with(&[]), &store, 0, true).goes_on());
    }

    fn erased(name: &str, until: u32, at_ms: i64) -> Change {
        Change::Erased { name: name.to_owned(), stretch: Stretch { from: 60, until }, at_ms }
    }

    #[test]
    fn a_stretch_of_time_that_somebody_deletes_is_erased_here_too_and_once() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&[]);
        let server = FakeServer::with(&["a", "b"]);
        let feed =
            || vec![erased("b", 120, 5), erased("a", 120, 6), erased("x", 120, 6), erased("a", 180, 7)];
        *tables.feed.lock() = feed();
        follower(&tables, &store, 2, true).follow(&server).unwrap();
        let stretch = |until| Stretch { from: 60, until };
        let expected = [(vec![MetricId(0), MetricId(1)], stretch(120)), (vec![MetricId(0)], stretch(180))];
        assert_eq!(*server.erased.lock(), expected);
        // After a restart the feed is read again, and the points that came since are not meant.
        *tables.feed.lock() = [feed(), vec![erased("b", 240, 8)]].concat();
        follower(&tables, &store, 2, true).follow(&server).unwrap();
        assert_eq!(server.erased.lock()[2..], [(vec![MetricId(1)], stretch(240))]);
    }

    #[test]
    fn a_policy_that_somebody_changes_is_changed_here_too() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&[]);
        let server = FakeServer::with(&["sent", "same", "unsent"]);
        let other = super::super::testing::other_policy();
        let change = |name: &str| Change::Created { name: name.to_owned(), policy: Arc::clone(&other) };
        *tables.feed.lock() = vec![change("sent"), created("same"), change("unsent")];
        follower(&tables, &store, 2, true).follow(&server).unwrap();
        let changed = [0, 1, 2].map(|id| server.policy_of(MetricId(id)).unwrap() == other);
        assert_eq!(changed, [true, false, false]);
    }
}
