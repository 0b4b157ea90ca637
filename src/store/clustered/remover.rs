//! Deleting metrics, and stretches of their time, for all servers of the cluster.
//!
//! A deletion of metrics takes their points in the cluster, then their names there, then what this machine holds. Meanwhile neither
//! their names nor points of theirs are sent, or they would arrive behind the deletion and stay. The data directory remembers what is
//! being deleted, so that a deletion that a crash interrupts is completed after the next start: nobody sees half of a metric for long.

use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use super::name_sender::NameSender;
use super::notes::Notes;
use super::tables::NameTables;
use super::{Clustered, now_us};
use crate::store::cassandra::names::identity;
use crate::store::cassandra::{Cluster, erase, erase_stretch};
use crate::store::embedded::AFTER_CUT_US;
use crate::store::{Doomed, Forgetter, LocalMetrics, StoreError, ids_of};
use plumbago_model::{MetricId, Stage, Stretch};

/// Metrics that are deleted in one go: names wait no longer than that takes.
const AT_ONCE: usize = 1000;

/// Deletes points in the cluster.
pub(super) trait Eraser: Send + Sync {
    /// Deletes all points that metrics have in some stages and that were written by `at_us`.
    fn erase(&self, metrics: &[(Uuid, Vec<Stage>)], now: u32, at_us: i64) -> Result<(), StoreError>;

    /// Deletes the rows of a stretch of time that were written by `at_us`. Gives the number of deletions.
    fn erase_stretch(
        &self,
        metrics: &[(Uuid, Vec<Stage>)],
        stretch: Stretch,
        now: u32,
        at_us: i64,
    ) -> Result<u64, StoreError>;
}

impl Eraser for Arc<Cluster> {
    fn erase(&self, metrics: &[(Uuid, Vec<Stage>)], now: u32, at_us: i64) -> Result<(), StoreError> {
        Ok(erase(self, metrics, now, Some(at_us))?)
    }

    fn erase_stretch(
        &self,
        metrics: &[(Uuid, Vec<Stage>)],
        stretch: Stretch,
        now: u32,
        at_us: i64,
    ) -> Result<u64, StoreError> {
        Ok(erase_stretch(self, metrics, stretch, now, at_us)?)
    }
}

/// See the module documentation.
pub(super) struct Remover {
    eraser: Box<dyn Eraser>,
    tables: Arc<dyn NameTables>,
    store: Arc<Clustered>,
    sender: Arc<NameSender>,
    /// One deletion at a time: the data directory remembers one.
    deleting: Mutex<()>,
    /// What an earlier run did not complete.
    interrupted: Mutex<Option<Interrupted>>,
}

/// A deletion that a crash interrupted.
struct Interrupted {
    deletion: Deletion,
    /// Has this machine forgotten the metrics?
    is_forgotten: bool,
}

impl Remover {
    pub(super) fn new(
        eraser: Box<dyn Eraser>,
        tables: Arc<dyn NameTables>,
        store: Arc<Clustered>,
        sender: Arc<NameSender>,
    ) -> Result<Self, StoreError> {
        let deletion = Deletion::parse(&Notes(&store.local).deletion()?);
        let interrupted = deletion.map(|deletion| Interrupted { deletion, is_forgotten: false });
        Ok(Self {
            eraser,
            tables,
            store,
            sender,
            deleting: Mutex::default(),
            interrupted: Mutex::new(interrupted),
        })
    }

    /// Deletes metrics. After an error it may be repeated: their points go before their names, so they are still found.
    pub(super) fn delete(&self, metrics: &[Doomed], now: u32, own: Forgetter<'_>) -> Result<(), StoreError> {
        metrics.chunks(AT_ONCE).try_for_each(|some| self.delete_some(some, now, own))
    }

    fn delete_some(&self, metrics: &[Doomed], now: u32, own: Forgetter<'_>) -> Result<(), StoreError> {
        let _one = self.deleting.lock();
        let _no_names = self.sender.pause();
        let ids = ids_of(metrics);
        self.store.erasures.during(&self.store.local, &ids, Stretch::ALL, || {
            let metrics = metrics.iter().map(|doomed| (doomed.name.clone(), doomed.stages.clone())).collect();
            let deletion = Deletion { at_us: self.after_all_cuts(), metrics };
            let notes = Notes(&self.store.local);
            notes.set_deletion(&deletion.to_text())?;
            let gone = self.delete_in_cluster(&deletion, now, |_| true).and_then(|()| own(&ids));
            notes.set_deletion("")?;
            gone
        })
    }

    /// Completes what an earlier run began. What came under these names since then stays.
    pub(super) fn complete(&self, local: &dyn LocalMetrics, now: u32) -> Result<(), StoreError> {
        let mut held = self.interrupted.lock();
        let Some(interrupted) = &mut *held else { return Ok(()) };
        interrupted.forget(local)?;
        let _one = self.deleting.lock();
        let _no_names = self.sender.pause();
        self.delete_in_cluster(&interrupted.deletion, now, |name| local.lookup(name).is_none())?;
        Notes(&self.store.local).set_deletion("")?;
        *held = None;
        Ok(())
    }

    /// The part of [`Self::complete`] that needs no cluster, and that comes before this server delivers anything.
    pub(super) fn forget_interrupted(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        self.interrupted.lock().as_mut().map_or(Ok(()), |interrupted| interrupted.forget(local))
    }

    /// Deletes the points of all metrics, and the names of those that go.
    fn delete_in_cluster(
        &self,
        deletion: &Deletion,
        now: u32,
        goes: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let rows = |(name, stages): &(String, Vec<Stage>)| (identity::id(name), stages.clone());
        let points: Vec<_> = deletion.metrics.iter().map(rows).collect();
        self.eraser.erase(&points, now, deletion.at_us)?;
        let names: Vec<String> =
            deletion.metrics.iter().map(|(name, _)| name).filter(|name| goes(name)).cloned().collect();
        self.tables.delete(&names)
    }

    /// Deletes the points of metrics in a stretch of time. The others are told before the rows are deleted: what one of them cuts after
    /// that moment, it delivers without the stretch.
    pub(super) fn erase(
        &self,
        metrics: &[Doomed],
        stretch: Stretch,
        now: u32,
        own: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        self.store.erasures.during(&self.store.local, &ids_of(metrics), stretch, own)?;
        let names: Vec<String> = metrics.iter().map(|doomed| doomed.name.clone()).collect();
        self.tables.tell_erased(&names, stretch)?;
        let rows = |doomed: &Doomed| (identity::id(&doomed.name), doomed.stages.clone());
        let rows: Vec<_> = metrics.iter().map(rows).collect();
        self.eraser.erase_stretch(&rows, stretch, now, self.after_all_cuts())
    }

    /// A time stamp that is newer than everything that was cut so far, and older than the next cut.
    fn after_all_cuts(&self) -> i64 {
        now_us().max(self.store.spool.last_cut_us() + AFTER_CUT_US)
    }
}

impl Interrupted {
    fn forget(&mut self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        if !self.is_forgotten {
            let known = self.deletion.metrics.iter().filter_map(|(name, _)| local.lookup(name));
            let mut ids: Vec<MetricId> = known.collect();
            ids.sort_unstable();
            local.forget(&ids)?;
            self.is_forgotten = true;
        }
        Ok(())
    }
}

/// Metrics that are being deleted, with all stages that they have or had.
#[derive(Clone, Debug, PartialEq)]
struct Deletion {
    /// What was written until then goes, in microseconds since 1970.
    at_us: i64,
    metrics: Vec<(String, Vec<Stage>)>,
}

impl Deletion {
    /// The time stamp, and for each metric a line with its stages and its name.
    fn to_text(&self) -> String {
        let line = |(name, stages): &(String, Vec<Stage>)| {
            let stages: Vec<String> = stages.iter().map(ToString::to_string).collect();
            format!("\n{} {name}", stages.join(","))
        };
        self.at_us.to_string() + &self.metrics.iter().map(line).collect::<String>()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let at_us = lines.next()?.parse().ok()?;
        let metric = |line: &str| {
            let (stages, name) = line.split_once(' ')?;
            let stages = stages.split(',').filter_map(|stage| stage.parse().ok()).collect();
            Some((name.to_owned(), stages))
        };
        Some(Self { at_us, metrics: lines.filter_map(metric).collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use super::super::testing::{FakeRows, FakeServer, FakeTables, clustered, commit, days, policy};
    use super::*;

    const A: MetricId = MetricId(0);

    /// A server with one metric, in front of a cluster that has its name.
    struct Bench {
        _dir: tempfile::TempDir,
        store: Arc<Clustered>,
        server: FakeServer,
        tables: Arc<FakeTables>,
        rows: FakeRows,
        sender: Arc<NameSender>,
    }

    impl Bench {
        fn new() -> Self {
            let ((_dir, store), tables) = (clustered(), FakeTables::with(&["a"]));
            store.identities.add([(A, "a")].into_iter());
            let names: Arc<dyn NameTables> = Arc::<FakeTables>::clone(&tables);
            let sender = NameSender::new(names, Arc::default(), Arc::clone(&store), Arc::default()).unwrap();
            let (server, rows) = (FakeServer::with(&["a"]), FakeRows::default());
            Self { _dir, store, server, tables, rows, sender: Arc::new(sender) }
        }

        /// A new one after a start.
        fn remover(&self) -> Remover {
            let (tables, store) = (Arc::<FakeTables>::clone(&self.tables), Arc::clone(&self.store));
            Remover::new(Box::new(self.rows.clone()), tables, store, Arc::clone(&self.sender)).unwrap()
        }

        fn set_away(&self, is_away: bool) {
            self.rows.is_away.store(is_away, Ordering::Relaxed);
        }

        fn has_name(&self) -> bool {
            self.tables.metrics.lock().contains_key("a")
        }
    }

    fn doomed() -> [Doomed; 1] {
        [Doomed { id: A, name: "a".to_owned(), stages: vec![days()] }]
    }

    fn refused() -> StoreError {
        StoreError::Refused("no".to_owned())
    }

    /// A name without points can be deleted again; points without a name would never be found.
    #[test]
    fn points_are_deleted_before_the_name_and_both_before_what_is_here() {
        let bench = Bench::new();
        bench.set_away(true);
        let remover = bench.remover();
        assert!(remover.delete(&doomed(), 1_000, &mut |_| panic!("the cluster has it still")).is_err());
        assert!(bench.has_name());
        bench.set_away(false);
        let mut own = |ids: &[MetricId]| {
            assert_eq!((ids, bench.has_name()), (&[A][..], false));
            Ok(())
        };
        remover.delete(&doomed(), 1_000, &mut own).unwrap();
        assert_eq!(Notes(&bench.store.local).deletion().unwrap(), "");
    }

    #[test]
    fn nothing_of_a_metric_is_sent_while_it_is_being_deleted() {
        let bench = Bench::new();
        bench.tables.metrics.lock().clear();
        commit(&bench.store, 1, A, 7.0);
        let erasures = &bench.store.erasures;
        std::thread::scope(|scope| {
            let mut own = |ids: &[MetricId]| {
                commit(&bench.store, 2, A, 8.0);
                assert_eq!(
                    erasures.since(2, A),
                    [Stretch::ALL],
                    "it is cut after the cluster deleted its points"
                );
                assert!(erasures.takes_all_of(A), "running slots are left out");
                scope.spawn(|| bench.sender.send_new(&bench.server, Duration::MAX).unwrap());
                bench.server.forget(ids)
            };
            bench.remover().delete(&doomed(), 1_000, &mut own).unwrap();
        });
        assert!(bench.tables.created.lock().concat().is_empty(), "the name waited, and was gone");
        assert!(!erasures.takes_all_of(A));
    }

    #[test]
    fn what_a_crash_interrupted_is_completed_and_what_came_since_stays() {
        let bench = Bench::new();
        let crashed = Deletion { at_us: 5, metrics: vec![("a".to_owned(), vec![days()])] };
        Notes(&bench.store.local).set_deletion(&crashed.to_text()).unwrap();
        let remover = bench.remover();
        bench.set_away(true);
        remover.forget_interrupted(&bench.server).unwrap();
        assert!(bench.server.names().is_empty(), "this machine needs no cluster to forget it");
        let again = bench.server.create("a");
        assert!(remover.complete(&bench.server, 1_000).is_err());
        bench.set_away(false);
        remover.complete(&bench.server, 1_000).unwrap();
        assert_eq!(bench.server.lookup("a"), Some(again));
        assert!(bench.has_name(), "its next life needs the name");
        assert_eq!(Notes(&bench.store.local).deletion().unwrap(), "");
        remover.complete(&FakeServer::default(), 1_000).unwrap();
        assert!(bench.has_name(), "once is enough");
    }

    #[test]
    fn what_a_crash_interrupted_takes_the_name_along() {
        let bench = Bench::new();
        let crashed = Deletion { at_us: 5, metrics: vec![("a".to_owned(), vec![days()])] };
        Notes(&bench.store.local).set_deletion(&crashed.to_text()).unwrap();
        bench.remover().complete(&bench.server, 1_000).unwrap();
        assert_eq!((bench.server.names().len(), bench.has_name()), (0, false));
    }

    #[test]
    fn a_deletion_is_read_as_it_was_written() {
        let stages = policy().retention.stages().to_vec();
        let metrics = vec![("a b;c=d e".to_owned(), stages), ("x".to_owned(), vec![])];
        let deletion = Deletion { at_us: 1_700_000_000_000_001, metrics };
        assert_eq!(Deletion::parse(&deletion.to_text()), Some(deletion));
        assert_eq!(Deletion::parse(""), None);
    }

    #[test]
    fn a_stretch_is_erased_here_then_announced_and_then_deleted_in_the_tables() {
        let bench = Bench::new();
        commit(&bench.store, 1, A, 7.0);
        let stretch = Stretch { from: 60, until: 120 };
        let remover = bench.remover();
        let erase =
            |own: &mut dyn FnMut() -> Result<(), StoreError>| remover.erase(&doomed(), stretch, 1_000, own);
        let is_untouched =
            || bench.tables.told_erased.lock().is_empty() && bench.rows.stretches.lock().is_empty();
        assert!(erase(&mut || Err(refused())).is_err());
        assert!(is_untouched(), "others must not erase what this server keeps");
        bench.tables.is_away.store(true, Ordering::Relaxed);
        assert!(erase(&mut || Ok(())).is_err());
        assert!(is_untouched());
        bench.tables.is_away.store(false, Ordering::Relaxed);
        let erased = erase(&mut || {
            assert!(is_untouched(), "this server comes first");
            Ok(())
        });
        assert_eq!(erased.unwrap(), 1);
        assert_eq!(*bench.tables.told_erased.lock(), [(vec!["a".to_owned()], stretch)]);
        let at_us = bench.rows.stretches.lock()[0].2;
        assert!(
            at_us > bench.store.spool.last_cut_us(),
            "a parcel that arrives later would bring the points back"
        );
    }
}
