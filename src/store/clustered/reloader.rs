//! Reloading: all names of the cluster are read at the first start, after a gap, and once a day. BigGraphite deletes without
//! an entry in the feed, so only a reload finds out what is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::adopted::Adopted;
use super::follower::Follower;
use super::name_sender::NameSender;
use super::notes::Notes;
use super::strays::Strays;
use super::tables::NameTables;
use super::vanished::Vanished;
use super::{BATCH, Clustered};
use crate::store::cassandra::names::Cursor;
use crate::store::{Described, LocalMetrics, StoreError};
use plumbago_model::MetricId;

/// See the module documentation.
pub(super) struct Reloader {
    pub(super) tables: Arc<dyn NameTables>,
    pub(super) adopted: Arc<Adopted>,
    pub(super) sender: Arc<NameSender>,
    pub(super) follower: Arc<Follower>,
    pub(super) strays: Arc<Strays>,
    pub(super) vanished: Vanished,
    pub(super) store: Arc<Clustered>,
    /// `None` never forgets what has vanished.
    pub(super) interval: Option<Duration>,
    /// Metrics whose data is past its retention are left out.
    pub(super) hide_expired: bool,
    pub(super) state: ReloadState,
}

/// What was reloaded when.
pub(super) struct ReloadState {
    /// All names were here once, and have been followed since.
    loaded: AtomicBool,
    /// Unix time of the last reload.
    reloaded: AtomicU32,
}

impl ReloadState {
    pub(super) fn new(follower: &Follower, store: &Clustered) -> Result<Self, StoreError> {
        let reloaded = Notes(&store.local).reloaded()?;
        Ok(Self { loaded: AtomicBool::new(follower.goes_on()), reloaded: AtomicU32::new(reloaded) })
    }
}

/// What reading all names came to.
struct Read {
    metrics: u64,
    /// Which of the metrics known here are in the cluster, by id.
    seen: Vec<bool>,
    /// Metrics known here whose data is past its retention.
    expired: Vec<MetricId>,
}

impl Reloader {
    /// Were all names here once, and followed since?
    pub(super) fn has_loaded(&self) -> bool {
        self.state.loaded.load(Ordering::Acquire)
    }

    /// Reloads all names, if that was not done yet or is due again.
    pub(super) fn reload_if_due(&self, local: &dyn LocalMetrics, now: u32) -> Result<(), StoreError> {
        // While names are still being sent the gap would only open again.
        let after_gap = self.follower.after_gap().filter(|_| !self.sender.has_unsent(local));
        if self.has_loaded() && after_gap.is_none() && !self.is_due(now) {
            return Ok(());
        }
        let restarts = !self.has_loaded() || after_gap.is_some();
        // The cursor is older than what is read, so nothing falls between the two.
        let cursor = after_gap.unwrap_or_else(Cursor::now);
        self.reload(local, restarts.then_some(cursor), now)
    }

    fn reload(&self, local: &dyn LocalMetrics, restart: Option<Cursor>, now: u32) -> Result<(), StoreError> {
        let began = Instant::now();
        // What is sent from now on may be missed by the reading.
        let sent = self.sender.sent();
        let Read { metrics, seen, expired } = self.read_all(local, sent)?;
        let hidden = hide(local, &expired, now)?;
        if let Some(cursor) = restart {
            self.follower.restart(cursor)?;
            // Until now a metric created during the reading was found in the cluster. It must not vanish for a moment.
            self.follower.follow(local)?;
        }
        if self.interval.is_some() && self.store.spool.is_empty() {
            let unseen = (0..sent).zip(seen).filter(|(_, seen)| !seen).map(|(id, _)| MetricId(id));
            self.vanished.settle(local, &unseen.collect::<Vec<_>>(), now)?;
            Notes(&self.store.local).set_reloaded(now)?;
        }
        // Even if the spool was not empty: reading ten million names twice at a start is not worth it.
        self.state.reloaded.store(now, Ordering::Release);
        self.state.loaded.store(true, Ordering::Release);
        self.strays.restart();
        let seconds = began.elapsed().as_secs_f64();
        tracing::info!(metrics, hidden, seconds, "names loaded from the cluster");
        Ok(())
    }

    /// Points in the spool would go with a metric that is forgotten, so a reload waits until they are delivered.
    fn is_due(&self, now: u32) -> bool {
        let age = now.saturating_sub(self.state.reloaded.load(Ordering::Acquire));
        let is_due = |interval| Duration::from_secs(u64::from(age)) >= interval;
        self.interval.is_some_and(is_due) && self.store.spool.is_empty()
    }

    /// Reads all names and learns those that are not known here.
    fn read_all(&self, local: &dyn LocalMetrics, sent: u32) -> Result<Read, StoreError> {
        let mut seen = vec![false; sent as usize];
        let mut batch = Vec::with_capacity(BATCH);
        let (mut expired, mut failed) = (Vec::new(), None);
        let mut moved = Vec::new();
        let metrics = self.tables.load(&mut |listed| {
            let is_hidden = self.hide_expired && listed.is_expired();
            if let Some(id) = local.lookup(&listed.name) {
                if let Some(seen) = seen.get_mut(id.index()) {
                    *seen = true;
                }
                expired.extend(is_hidden.then_some(id));
                moved.extend(self.follower.moved(local, &listed.name, listed.policy));
                return;
            }
            if is_hidden {
                return;
            }
            batch.push((listed.name, listed.policy));
            if batch.len() == BATCH && failed.is_none() {
                failed = self.adopted.learn(local, &std::mem::take(&mut batch)).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        self.adopted.learn(local, &batch)?;
        local.follow_policies(&moved)?;
        Ok(Read { metrics, seen, expired })
    }
}

/// Forgets expired metrics, except for those that were written to here meanwhile. Gives their number.
fn hide(local: &dyn LocalMetrics, expired: &[MetricId], now: u32) -> Result<usize, StoreError> {
    let is_over = |(&id, described)| {
        let Described::Known { policy, span, .. } = described else { return None };
        let kept_until = u64::from(span.last) + policy.retention.span_secs();
        (kept_until < u64::from(now)).then_some(id)
    };
    let over: Vec<MetricId> = expired.iter().zip(local.describe(expired)).filter_map(is_over).collect();
    if !over.is_empty() {
        local.forget(&over)?;
    }
    Ok(over.len())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::testing::{FakeServer, FakeTables, clustered};
    use super::*;
    use crate::store::{Column, Position};

    const DAY: u32 = 86_400;

    fn reloader(tables: &Arc<FakeTables>, store: &Arc<Clustered>) -> Reloader {
        let tables: Arc<dyn NameTables> = Arc::<FakeTables>::clone(tables);
        let adopted = Arc::<Adopted>::default();
        let sender =
            NameSender::new(Arc::clone(&tables), Arc::clone(&adopted), Arc::clone(store), Arc::default());
        let sender = Arc::new(sender.unwrap());
        let (shared, from) = (|| Arc::clone(&tables), Arc::clone(&sender));
        let follower = Follower::new(shared(), Arc::clone(&adopted), from, Arc::clone(store), true);
        let follower = Arc::new(follower.unwrap());
        Reloader {
            strays: Arc::new(Strays::new(
                Arc::clone(&tables),
                Arc::clone(&adopted),
                super::super::testing::policy(),
            )),
            vanished: Vanished::new(Arc::clone(&tables), Arc::clone(&follower)),
            state: ReloadState::new(&follower, store).unwrap(),
            sender,
            tables,
            adopted,
            follower,
            store: Arc::clone(store),
            interval: Some(Duration::from_secs(u64::from(DAY))),
            hide_expired: true,
        }
    }

    /// A store with a parcel in its spool.
    fn spool_something(store: &Clustered) {
        let stage = super::super::testing::policy().retention.stages()[0];
        let mut cut = store.points.begin().unwrap();
        let column = Column { times: vec![60], values: vec![1.0], counts: Vec::new() };
        cut.put(stage, MetricId(0), plumbago_model::Aggregator::Sum, &column).unwrap();
        cut.commit(Position { cut: 1, ..Position::default() }).unwrap();
    }

    #[test]
    fn the_first_reload_learns_all_names_and_the_next_is_due_after_the_interval() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&["a", "b"]);
        let (server, reloader) = (FakeServer::default(), reloader(&tables, &store));
        assert!(!reloader.has_loaded());
        reloader.reload_if_due(&server, DAY).unwrap();
        assert!(reloader.has_loaded());
        assert_eq!(server.names(), ["a", "b"]);
        // Nothing is sent back to where it came from.
        reloader.sender.send_new(&server, Duration::MAX).unwrap();
        assert!(tables.created.lock().iter().all(Vec::is_empty));
        tables.metrics.lock().remove("a");
        reloader.reload_if_due(&server, 2 * DAY - 1).unwrap();
        assert_eq!(server.names(), ["a", "b"], "not due yet");
        reloader.reload_if_due(&server, 2 * DAY).unwrap();
        assert_eq!(server.names(), ["b"]);
    }

    #[test]
    fn nothing_is_forgotten_while_points_are_in_the_spool() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&["a"]);
        let (server, reloader) = (FakeServer::default(), reloader(&tables, &store));
        reloader.reload_if_due(&server, DAY).unwrap();
        reloader.sender.send_new(&server, Duration::MAX).unwrap();
        tables.metrics.lock().clear();
        spool_something(&store);
        reloader.reload_if_due(&server, 3 * DAY).unwrap();
        assert_eq!(server.names(), ["a"]);
        store.spool.remove(store.spool.oldest().unwrap()).unwrap();
        reloader.reload_if_due(&server, 3 * DAY).unwrap();
        assert!(server.names().is_empty());
    }

    #[test]
    fn a_metric_that_was_not_sent_yet_has_not_vanished() {
        let (_dir, store) = clustered();
        let (server, reloader) = (FakeServer::with(&["new"]), reloader(&FakeTables::with(&[]), &store));
        reloader.reload_if_due(&server, DAY).unwrap();
        assert_eq!(server.names(), ["new"]);
    }

    #[test]
    fn a_metric_whose_data_has_expired_is_hidden_unless_it_is_written_to_here() {
        let (_dir, store) = clustered();
        let tables = FakeTables::with(&["fresh", "old", "old but written", "old and unknown"]);
        for old in ["old", "old but written", "old and unknown"] {
            tables.used_ms.lock().insert(old.to_owned(), 0);
        }
        let server = FakeServer::with(&["old", "old but written"]);
        server.write(MetricId(1), 100 * DAY - 60);
        reloader(&tables, &store).reload_if_due(&server, 100 * DAY).unwrap();
        assert_eq!(server.names(), ["old but written", "fresh"]);
    }

    #[test]
    fn a_reload_that_fails_is_tried_again() {
        let (_dir, store) = clustered();
        let tables = Arc::new(FakeTables { is_away: AtomicBool::new(true), ..FakeTables::default() });
        let (server, reloader) = (FakeServer::default(), reloader(&tables, &store));
        assert!(reloader.reload_if_due(&server, DAY).is_err());
        assert!(!reloader.has_loaded());
        tables.is_away.store(false, Ordering::Relaxed);
        reloader.reload_if_due(&server, DAY).unwrap();
        assert!(reloader.has_loaded());
    }
}
