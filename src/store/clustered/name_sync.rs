//! Keeping the names of this server and of the cluster the same, step by step.

use std::sync::Arc;
use std::time::Duration;

use super::backoff::BackOff;
use super::follower::Follower;
use super::name_sender::NameSender;
use super::now;
use super::reloader::Reloader;
use super::remover::Remover;
use super::schema_watch::SchemaWatch;
use super::strays::Strays;
use super::usage::Usage;
use crate::store::{Chore, LocalMetrics, StoreError};
use crate::telemetry::Telemetry;

/// How often this is called when there is nothing more to do.
const TICK: Duration = Duration::from_secs(1);
/// How long new metrics are sent before others' are looked at again.
const SENDING: Duration = Duration::from_secs(5);

/// See the module documentation.
pub(super) struct NameSync {
    pub(super) schema: Arc<SchemaWatch>,
    pub(super) sender: Arc<NameSender>,
    pub(super) follower: Arc<Follower>,
    /// `None` where globs are looked up in the cluster.
    pub(super) reloader: Option<Reloader>,
    pub(super) remover: Arc<Remover>,
    pub(super) strays: Arc<Strays>,
    pub(super) usage: Arc<Usage>,
    pub(super) backoff: BackOff,
    pub(super) telemetry: Arc<Telemetry>,
}

impl NameSync {
    /// Are all names of the cluster known here?
    pub(super) fn knows_all(&self) -> bool {
        self.reloader.as_ref().is_some_and(Reloader::has_loaded)
    }

    /// What keeps names from being sent or followed, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.backoff.trouble()
    }

    /// Learns what others deleted up to now, once this server follows them. Before that, it has nothing that they could mean.
    pub(super) fn follow_deletions(&self, local: &dyn LocalMetrics) -> Result<(), StoreError> {
        if self.follower.goes_on() { self.follower.follow(local) } else { Ok(()) }
    }

    /// One round. True if there is more to do at once.
    fn step(&self, local: &dyn LocalMetrics) -> Result<bool, StoreError> {
        // Before names are read, or what is half deleted would be learnt again.
        self.remover.complete(local, now())?;
        if let Some(reloader) = &self.reloader {
            reloader.reload_if_due(local, now())?;
        }
        self.follower.follow(local)?;
        self.usage.mark_written(local)?;
        self.usage.mark_read(local)?;
        let more_strays = self.strays.learn_next(local)?;
        let more_names = self.sender.send_new(local, SENDING)?;
        Ok(more_strays || more_names)
    }
}

impl Chore for NameSync {
    fn name(&self) -> &'static str {
        "names"
    }

    fn run(&self, local: &dyn LocalMetrics) -> Duration {
        if !self.backoff.is_over() || self.schema.pass().is_err() {
            return TICK;
        }
        let stepped = self.step(local);
        self.telemetry.names_loaded.set(u64::from(self.knows_all()));
        match stepped {
            Ok(more) => {
                self.backoff.succeeded();
                if more { Duration::ZERO } else { TICK }
            }
            Err(error) => {
                self.backoff.failed(&error);
                TICK
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::assembly::Shared;
    use super::super::link::settings;
    use super::super::testing::{FakeRows, FakeServer, FakeTables, clustered, policy};
    use super::*;
    use crate::store::cassandra::names::Change;

    struct Bench {
        _dir: tempfile::TempDir,
        tables: Arc<FakeTables>,
        telemetry: Arc<Telemetry>,
        sync: Arc<NameSync>,
    }

    fn bench(schema: SchemaWatch, names: &[&str]) -> Bench {
        let ((dir, store), tables) = (clustered(), FakeTables::with(names));
        let telemetry = Arc::<Telemetry>::default();
        let shared = Shared {
            tables: Arc::<FakeTables>::clone(&tables),
            store,
            schema: Arc::new(schema),
            adopted: Arc::default(),
            default: policy(),
            telemetry: Arc::clone(&telemetry),
            settings: settings(),
        };
        let (sender, usage) = (shared.sender().unwrap(), shared.usage());
        let follower = shared.follower(&sender).unwrap();
        let remover = shared.remover(Box::new(FakeRows::default()), &sender).unwrap();
        let sync = shared.name_sync(&sender, follower, &remover, &usage).unwrap();
        Bench { _dir: dir, tables, telemetry, sync }
    }

    #[test]
    fn a_round_learns_what_others_have_and_sends_what_they_lack() {
        let Bench { tables, telemetry, sync, .. } = &bench(SchemaWatch::satisfied(), &["theirs"]);
        let server = FakeServer::with(&["own"]);
        assert!(!sync.knows_all());
        assert_eq!(sync.run(&server), TICK);
        assert_eq!(server.names(), ["own", "theirs", "stray"]);
        assert_eq!(*tables.created.lock(), [vec!["own"]], "nothing is sent back");
        assert!(sync.knows_all());
        assert_eq!(telemetry.names_loaded.get(), 1);
        // The next round has only the news.
        *tables.feed.lock() = vec![
            Change::Deleted { name: "own".to_owned() },
            Change::Created { name: "new".to_owned(), policy: policy() },
        ];
        sync.run(&server);
        assert_eq!(server.names(), ["theirs", "stray", "new"]);
        assert_eq!(tables.created.lock().concat(), ["own"]);
    }

    #[test]
    fn nothing_is_asked_of_a_cluster_before_its_tables_are_there() {
        let Bench { tables, telemetry, sync, .. } = &bench(SchemaWatch::unanswered(), &["theirs"]);
        let server = FakeServer::with(&["own"]);
        assert_eq!(sync.run(&server), TICK);
        assert_eq!((server.names(), tables.created.lock().len()), (vec!["own".to_owned()], 0));
        assert_eq!(telemetry.names_loaded.get(), 0);
        // That is the trouble of the tables, which is reported elsewhere.
        assert_eq!(sync.trouble(), None);
    }

    #[test]
    fn a_round_that_fails_is_trouble_and_the_next_one_waits() {
        let Bench { tables, sync, .. } = &bench(SchemaWatch::satisfied(), &["theirs"]);
        let server = FakeServer::with(&["own"]);
        tables.is_away.store(true, Ordering::Relaxed);
        assert_eq!(sync.run(&server), TICK);
        assert!(sync.trouble().is_some_and(|text| text.contains("it is away")), "{:?}", sync.trouble());
        tables.is_away.store(false, Ordering::Relaxed);
        assert_eq!(sync.run(&server), TICK);
        assert!(!sync.knows_all() && sync.trouble().is_some(), "the pause is not over");
        assert_eq!(server.names(), ["own"]);
    }

    #[test]
    fn deletions_are_not_followed_before_all_names_are_here() {
        let Bench { tables, sync, .. } = &bench(SchemaWatch::satisfied(), &["theirs"]);
        let server = FakeServer::with(&["own"]);
        let deleted = || Change::Deleted { name: "theirs".to_owned() };
        *tables.feed.lock() = vec![deleted()];
        sync.follow_deletions(&server).unwrap();
        assert_eq!(tables.feed.lock().len(), 1, "it waits for the first round");
        tables.feed.lock().clear();
        sync.run(&server);
        *tables.feed.lock() = vec![deleted()];
        sync.follow_deletions(&server).unwrap();
        assert_eq!(server.names(), ["own", "stray"]);
    }
}
