//! This server's link to its cluster: the parts that keep both in step, put together, as the server above sees them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::assembly::{ClusterSide, Shared};
use super::deliverer::Deliverer;
use super::lookup::Lookup;
use super::name_sender::NameSender;
use super::name_sync::NameSync;
use super::remover::Remover;
use super::running::RunningSlots;
use super::usage::Usage;
use super::{Clustered, SchemaWatch};
use crate::store::cassandra::Cluster;
use crate::store::cassandra::names::NewMetric;
use crate::store::cassandra::schema::Indexes;
use crate::store::{BackedUp, Chore, Doomed, Forgetter, Headway, Hit, LocalMetrics, StoreError, Upstream};
use crate::telemetry::Telemetry;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError, Retention, Stretch};

/// How often the spool is looked at.
const DELIVER_TICK: Duration = Duration::from_millis(100);
/// How long running slots are written before the spool is looked at again.
const RUNNING: Duration = Duration::from_secs(5);

/// What the configuration says about the link.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// Which of up to four servers that write the same points.
    pub replica: u8,
    /// The writer number; `None` takes a free one.
    pub writer: Option<u16>,
    /// How often this server records that it uses the number.
    pub renew_interval: Duration,
    /// Where the writer number is remembered.
    pub writer_file: PathBuf,
    /// Points are delivered this often.
    pub flush_interval: Duration,
    /// Running slots are written this often; `None` means never.
    pub running_interval: Option<Duration>,
    /// How long a stop may take to write running slots.
    pub stop_limit: Duration,
    /// Most bytes in the spool.
    pub spool_bytes: u64,
    /// Most batches of rows under way.
    pub max_in_flight: usize,
    /// The indexes of the tables of names.
    pub indexes: Indexes,
    /// Hold all names in memory, or look globs up in the cluster?
    pub names_in_memory: bool,
    /// The policy of metrics whose config says nothing.
    pub default_policy: Policy,
    /// Most metrics to create in a second; `None` for no bound.
    pub creates_per_second: Option<u32>,
    /// All names are read again this often; `None` means never.
    pub reload_interval: Option<Duration>,
    /// Metrics whose data is past its retention are left out.
    pub hide_expired: bool,
}

/// See the module documentation.
pub struct Link {
    shared: Shared,
    remover: Arc<Remover>,
    deliverer: Arc<Deliverer>,
    /// `None` where nobody wants running slots.
    running: Option<Arc<RunningSlots>>,
    names: Arc<NameSync>,
    sender: Arc<NameSender>,
    lookup: Lookup,
    usage: Arc<Usage>,
}

impl Link {
    /// Links a data directory to its cluster, which need not be there.
    pub fn new(
        cluster: Arc<Cluster>,
        store: Arc<Clustered>,
        schema: SchemaWatch,
        settings: LinkSettings,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, StoreError> {
        let schema = Arc::new(schema);
        let side = ClusterSide::new(cluster, &schema, &settings);
        Self::with(side, store, schema, settings, telemetry)
    }

    fn with(
        side: ClusterSide,
        store: Arc<Clustered>,
        schema: Arc<SchemaWatch>,
        settings: LinkSettings,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, StoreError> {
        let ClusterSide { tables, rows, number, eraser } = side;
        let default = Arc::new(settings.default_policy.clone());
        let adopted = Arc::default();
        let shared = Shared { tables, store, schema, adopted, default, telemetry, settings };
        let (sender, usage) = (shared.sender()?, shared.usage());
        let follower = shared.follower(&sender)?;
        let (deliverer, running) = shared.deliveries(rows, number, &follower)?;
        let remover = shared.remover(eraser, &sender)?;
        let names = shared.name_sync(&sender, follower, &remover, &usage)?;
        let lookup = shared.lookup(&sender);
        Ok(Self { shared, remover, deliverer, running, names, sender, lookup, usage })
    }

    /// What keeps points from arriving, if something does.
    fn trouble(&self) -> Option<String> {
        self.shared.schema.trouble().or_else(|| self.deliverer.trouble())
    }
}

/// What is asked for a backup hears this.
const BACKED_UP_THERE: &str = "the points are in Cassandra, and are backed up there: take a snapshot on every node with \
     `nodetool snapshot`, as docs/OPERATIONS.md shows under \"On Cassandra\"";

impl Upstream for Link {
    fn start(&self) -> Result<(), StoreError> {
        Ok(self.shared.schema.inspect()?)
    }

    fn is_sole_writer(&self) -> bool {
        false
    }

    fn knows_all_names(&self) -> bool {
        self.names.knows_all()
    }

    fn find(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, QueryError> {
        self.lookup.find(local, glob, max_hits, cancel)
    }

    fn find_leaves(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        self.lookup.find_leaves(local, glob, max_hits, cancel)
    }

    fn note_read(&self, metrics: &[MetricId]) {
        self.usage.note_read(metrics);
    }

    fn delete(&self, metrics: &[Doomed], now: u32, own: Forgetter<'_>) -> Result<(), StoreError> {
        self.remover.delete(metrics, now, own)
    }

    fn erase(
        &self,
        metrics: &[Doomed],
        stretch: Stretch,
        now: u32,
        own: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        self.remover.erase(metrics, stretch, now, own)
    }

    fn admit(&self, retentions: &[Retention]) -> Result<(), StoreError> {
        Ok(self.shared.schema.admit(retentions, self.shared.settings.indexes)?)
    }

    fn change_policies(&self, changes: &[(String, Arc<Policy>)]) -> Result<(), StoreError> {
        let change = |(name, policy): &(String, Arc<Policy>)| NewMetric {
            name: name.clone(),
            policy: Arc::clone(policy),
        };
        self.shared.tables.change_policies(&changes.iter().map(change).collect::<Vec<_>>())
    }

    /// The last cut must have arrived: while the cluster is slow, cuts grow larger, and larger ones are cheaper to deliver.
    fn wants_cut(&self, since_last: Duration) -> bool {
        since_last >= self.shared.settings.flush_interval && self.shared.store.spool.is_empty()
    }

    fn spooled_points(&self) -> Option<u64> {
        Some(self.shared.store.spool.points())
    }

    fn is_spool_full(&self) -> bool {
        self.shared.store.spool.bytes() >= self.shared.settings.spool_bytes
    }

    fn check(&self) -> Result<(), String> {
        if self.is_spool_full() {
            return Err(
                "points are not taken: those that wait for the cluster fill store.cassandra.spool_bytes"
                    .to_owned(),
            );
        }
        match self.trouble() {
            Some(trouble) => Err(format!("queries do not work, and points wait on disk: {trouble}")),
            None => Ok(()),
        }
    }

    fn deliver_all(&self, local: &dyn LocalMetrics) -> Result<(), String> {
        self.sender.send_new(local, Duration::MAX).map_err(|error| error.to_string())?;
        self.deliverer.run(&|| self.names.follow_deletions(local));
        self.trouble().map_or(Ok(()), Err)
    }

    fn chores(&self) -> Vec<Arc<dyn Chore>> {
        let deliveries = Deliveries {
            schema: Arc::clone(&self.shared.schema),
            deliverer: Arc::clone(&self.deliverer),
            running: self.running.clone(),
            names: Arc::clone(&self.names),
            remover: Arc::clone(&self.remover),
            telemetry: Arc::clone(&self.shared.telemetry),
        };
        vec![Arc::new(deliveries), Arc::<NameSync>::clone(&self.names)]
    }

    fn stop(&self) {
        self.shared.schema.stop();
        self.deliverer.stop();
        if let Some(running) = &self.running {
            running.stop();
        }
    }

    fn back_up(&self, _: &Path, _: &Headway) -> Result<BackedUp, StoreError> {
        Err(StoreError::Refused(BACKED_UP_THERE.to_owned()))
    }

    fn leave(&self, local: &dyn LocalMetrics) {
        if let Some(running) = self.running.as_ref().filter(|_| self.trouble().is_none()) {
            running.finish(local, self.shared.settings.stop_limit);
        }
        self.deliverer.release();
    }
}

/// Delivers parcels and running slots, and says in the counters whether the cluster is in trouble.
struct Deliveries {
    schema: Arc<SchemaWatch>,
    deliverer: Arc<Deliverer>,
    running: Option<Arc<RunningSlots>>,
    names: Arc<NameSync>,
    remover: Arc<Remover>,
    telemetry: Arc<Telemetry>,
}

impl Chore for Deliveries {
    fn name(&self) -> &'static str {
        "deliver"
    }

    fn run(&self, local: &dyn LocalMetrics) -> Duration {
        let mut has_more = false;
        if let Err(error) = self.remover.forget_interrupted(local) {
            tracing::error!(%error, "metrics whose deletion was interrupted are still here");
            return DELIVER_TICK;
        }
        if self.schema.pass().is_ok() {
            self.deliverer.run_if_due(&|| self.names.follow_deletions(local));
            // Points come first.
            if let Some(running) = self.running.as_ref().filter(|_| self.deliverer.trouble().is_none()) {
                has_more = running.run(local, RUNNING);
            }
        }
        let running = || self.running.as_ref().and_then(|running| running.trouble());
        let points = self.schema.trouble().or_else(|| self.deliverer.trouble());
        let trouble = points.or_else(running).or_else(|| self.names.trouble());
        self.telemetry.cluster_trouble.set(u64::from(trouble.is_some()));
        if has_more { Duration::ZERO } else { DELIVER_TICK }
    }
}

/// Settings under which nothing waits and all names are in memory.
#[cfg(test)]
pub(super) fn settings() -> LinkSettings {
    LinkSettings {
        replica: 0,
        writer: None,
        renew_interval: Duration::from_secs(60),
        writer_file: PathBuf::new(),
        flush_interval: Duration::from_secs(60),
        running_interval: None,
        stop_limit: Duration::ZERO,
        spool_bytes: 1,
        max_in_flight: 1,
        indexes: Indexes::Sasi,
        names_in_memory: true,
        default_policy: super::testing::policy().as_ref().clone(),
        creates_per_second: None,
        reload_interval: None,
        hide_expired: true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::testing::{FakeNumber, FakeRows, FakeServer, FakeTables, clustered, commit};
    use super::*;

    const A: MetricId = MetricId(0);

    /// A server with one metric, linked to a cluster that has its name.
    struct Bench {
        _dir: tempfile::TempDir,
        store: Arc<Clustered>,
        server: FakeServer,
        tables: Arc<FakeTables>,
        rows: FakeRows,
        number: FakeNumber,
        telemetry: Arc<Telemetry>,
        link: Link,
    }

    impl Bench {
        fn new() -> Self {
            let ((dir, store), tables) = (clustered(), FakeTables::with(&["a"]));
            let (rows, number) = (FakeRows::default(), FakeNumber::default());
            let telemetry = Arc::<Telemetry>::default();
            store.identities.add([(A, "a")].into_iter());
            let side = ClusterSide {
                tables: Arc::<FakeTables>::clone(&tables),
                rows: Box::new(rows.clone()),
                number: Box::new(number.clone()),
                eraser: Box::new(rows.clone()),
            };
            let (own, schema) = (Arc::clone(&store), Arc::new(SchemaWatch::satisfied()));
            let link = Link::with(side, own, schema, settings(), Arc::clone(&telemetry)).unwrap();
            let server = FakeServer::with(&["a"]);
            Self { _dir: dir, store, server, tables, rows, number, telemetry, link }
        }

        fn set_away(&self, is_away: bool) {
            self.rows.is_away.store(is_away, Ordering::Relaxed);
        }

        /// One round of the chore that delivers.
        fn deliver(&self) {
            self.link.chores().iter().find(|chore| chore.name() == "deliver").unwrap().run(&self.server);
        }
    }

    #[test]
    fn a_cut_is_due_after_the_interval_if_the_one_before_has_arrived() {
        let bench = Bench::new();
        assert!(!bench.link.wants_cut(Duration::from_secs(59)));
        assert!(bench.link.wants_cut(Duration::from_secs(60)));
        commit(&bench.store, 1, A, 7.0);
        assert!(!bench.link.wants_cut(Duration::from_secs(600)), "a larger cut is cheaper");
        bench.link.deliver_all(&bench.server).unwrap();
        assert!(bench.link.wants_cut(Duration::from_secs(600)));
    }

    #[test]
    fn everything_is_delivered_or_the_reason_is_given() {
        let bench = Bench::new();
        bench.server.create("b");
        commit(&bench.store, 1, A, 7.0);
        bench.set_away(true);
        let why = bench.link.deliver_all(&bench.server).unwrap_err();
        assert!(why.contains("it is away"), "{why}");
        assert_eq!(bench.link.spooled_points(), Some(1));
        bench.set_away(false);
        bench.link.deliver_all(&bench.server).unwrap();
        assert_eq!(bench.link.spooled_points(), Some(0));
        assert_eq!(bench.rows.values().last(), Some(&7.0));
        assert_eq!(bench.tables.created.lock().concat(), ["a", "b"], "names too, each once");
    }

    #[test]
    fn a_cluster_that_is_away_is_a_reason_not_to_be_ready() {
        let bench = Bench::new();
        assert_eq!(bench.link.check(), Ok(()));
        bench.set_away(true);
        commit(&bench.store, 1, A, 7.0);
        assert!(bench.link.is_spool_full());
        let full = bench.link.check().unwrap_err();
        assert!(full.contains("store.cassandra.spool_bytes"), "{full}");
        bench.deliver();
        assert_eq!(bench.telemetry.cluster_trouble.get(), 1);
        bench.set_away(false);
        bench.link.deliver_all(&bench.server).unwrap();
        bench.deliver();
        assert_eq!(bench.telemetry.cluster_trouble.get(), 0);
        assert_eq!(bench.link.check(), Ok(()));
    }

    #[test]
    fn a_stop_gives_the_writer_number_back() {
        let bench = Bench::new();
        commit(&bench.store, 1, A, 7.0);
        bench.link.deliver_all(&bench.server).unwrap();
        assert!(bench.number.is_held.load(Ordering::Relaxed));
        bench.link.leave(&bench.server);
        assert!(!bench.number.is_held.load(Ordering::Relaxed));
    }

    #[test]
    fn a_backup_says_where_the_points_are() {
        let refused = Bench::new().link.back_up(Path::new("/backup"), &Headway::default()).unwrap_err();
        assert!(refused.to_string().contains("nodetool snapshot"), "{refused}");
    }
}
