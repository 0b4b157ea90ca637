//! This server's link to its cluster: the parts that keep both in step, put together, as the server above sees them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::assembly::{ClusterSide, Eraser, Shared};
use super::deliverer::Deliverer;
use super::lookup::Lookup;
use super::name_sender::NameSender;
use super::name_sync::NameSync;
use super::running::RunningSlots;
use super::usage::Usage;
use super::{Clustered, SchemaWatch, now_us};
use crate::store::cassandra::Cluster;
use crate::store::cassandra::names::NewMetric;
use crate::store::cassandra::schema::Indexes;
use crate::store::embedded::AFTER_CUT_US;
use crate::store::{BackedUp, Chore, Doomed, Headway, Hit, LocalMetrics, StoreError, Upstream};
use crate::telemetry::Telemetry;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError, Retention, Stage, Stretch};

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
    eraser: Box<dyn Eraser>,
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
        let names = shared.name_sync(&sender, follower, &usage)?;
        let lookup = shared.lookup(&sender);
        Ok(Self { shared, eraser, deliverer, running, names, sender, lookup, usage })
    }

    /// Those of these metrics that the cluster can know, with their stages.
    fn known(&self, metrics: &[Doomed]) -> Vec<(Uuid, Vec<Stage>)> {
        let identities = &self.shared.store.identities;
        let known = |doomed: &Doomed| Some((identities.get(doomed.id)?, doomed.stages.clone()));
        metrics.iter().filter_map(known).collect()
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

    /// Points go first, so that after a failure the names can be found again.
    fn delete(&self, metrics: &[Doomed], now: u32) -> Result<(), StoreError> {
        self.eraser.erase(&self.known(metrics), now)?;
        let names: Vec<String> = metrics.iter().map(|doomed| doomed.name.clone()).collect();
        self.shared.tables.delete(&names)
    }

    /// The others are told before the rows are deleted: what one of them cuts after that moment, it delivers without the stretch.
    fn erase(
        &self,
        metrics: &[Doomed],
        stretch: Stretch,
        now: u32,
        own: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let store = &self.shared.store;
        let mut ids: Vec<MetricId> = metrics.iter().map(|doomed| doomed.id).collect();
        ids.sort_unstable();
        store.erasures.during(&store.local, &ids, stretch, own)?;
        let names: Vec<String> = metrics.iter().map(|doomed| doomed.name.clone()).collect();
        self.shared.tables.tell_erased(&names, stretch)?;
        // Newer than everything that was cut so far, older than the next cut.
        let at_us = now_us().max(store.spool.last_cut_us() + AFTER_CUT_US);
        self.eraser.erase_stretch(&self.known(metrics), stretch, now, at_us)
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
        self.deliverer.run(&|| self.names.heed(local));
        self.trouble().map_or(Ok(()), Err)
    }

    fn chores(&self) -> Vec<Arc<dyn Chore>> {
        let deliveries = Deliveries {
            schema: Arc::clone(&self.shared.schema),
            deliverer: Arc::clone(&self.deliverer),
            running: self.running.clone(),
            names: Arc::clone(&self.names),
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
    telemetry: Arc<Telemetry>,
}

impl Chore for Deliveries {
    fn name(&self) -> &'static str {
        "deliver"
    }

    fn run(&self, local: &dyn LocalMetrics) -> Duration {
        let mut has_more = false;
        if self.schema.pass().is_ok() {
            self.deliverer.run_if_due(&|| self.names.heed(local));
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
