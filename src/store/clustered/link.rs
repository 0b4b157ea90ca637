//! This server's link to its cluster: the parts that keep both in step, put together, as the server above sees them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Clustered;
use super::adopted::Adopted;
use super::backoff::BackOff;
use super::deliverer::Deliverer;
use super::follower::Follower;
use super::lookup::Lookup;
use super::name_sender::NameSender;
use super::name_sync::NameSync;
use super::reloader::{ReloadState, Reloader};
use super::schema_watch::SchemaWatch;
use super::strays::Strays;
use super::tables::{CassandraTables, NameTables};
use super::usage::Usage;
use super::vanished::Vanished;
use super::writer_number::LeasedNumber;
use crate::store::cassandra::names::{Creation, Names};
use crate::store::cassandra::schema::Indexes;
use crate::store::cassandra::{Cluster, Sender, erase};
use crate::store::{Chore, Doomed, Hit, LocalMetrics, StoreError, Upstream};
use crate::telemetry::Telemetry;
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Policy, QueryError};

/// How often the spool is looked at.
const DELIVER_TICK: Duration = Duration::from_millis(100);

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
    cluster: Arc<Cluster>,
    store: Arc<Clustered>,
    schema: Arc<SchemaWatch>,
    deliverer: Arc<Deliverer>,
    names: Arc<NameSync>,
    sender: Arc<NameSender>,
    lookup: Lookup,
    usage: Arc<Usage>,
    tables: Arc<dyn NameTables>,
    telemetry: Arc<Telemetry>,
    flush_interval: Duration,
    spool_bytes: u64,
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
        let (schema, default) = (Arc::new(schema), Arc::new(settings.default_policy));
        let tables: Arc<dyn NameTables> = Arc::new(CassandraTables {
            names: Names::new(Arc::clone(&cluster), settings.indexes),
            default: Arc::clone(&default),
            creation: Creation { per_second: settings.creates_per_second, ..Creation::default() },
        });
        let rows = Box::new(Sender::new(Arc::clone(&cluster), settings.max_in_flight));
        let number = Box::new(LeasedNumber::new(
            Arc::clone(&cluster),
            Arc::clone(&schema),
            settings.replica,
            settings.writer,
            settings.writer_file,
        ));
        let deliverer = Deliverer::new(Arc::clone(&store), rows, number, Arc::clone(&telemetry));
        let adopted = Arc::new(Adopted::default());
        let sender = Arc::new(NameSender::new(
            Arc::clone(&tables),
            Arc::clone(&adopted),
            Arc::clone(&store),
            Arc::clone(&telemetry),
        )?);
        let lookup = Lookup {
            tables: Arc::clone(&tables),
            adopted: Arc::clone(&adopted),
            sender: Arc::clone(&sender),
            default: Arc::clone(&default),
        };
        let usage = Arc::new(Usage::new(Arc::clone(&tables), Arc::clone(&store)));
        let strays = Arc::new(Strays::new(Arc::clone(&tables), Arc::clone(&adopted), default));
        let follower = Arc::new(Follower::new(
            Arc::clone(&tables),
            Arc::clone(&adopted),
            Arc::clone(&store),
            settings.names_in_memory,
        )?);
        let state = ReloadState::new(&follower, &store)?;
        let reloader = settings.names_in_memory.then(|| Reloader {
            tables: Arc::clone(&tables),
            adopted,
            sender: Arc::clone(&sender),
            follower: Arc::clone(&follower),
            strays: Arc::clone(&strays),
            vanished: Vanished::new(Arc::clone(&tables), Arc::clone(&follower)),
            store: Arc::clone(&store),
            interval: settings.reload_interval,
            hide_expired: settings.hide_expired,
            state,
        });
        let backoff = BackOff::new(
            "the names of the cluster are out of reach; this server goes on with those it knows",
            "the names of the cluster are in reach again",
        );
        let names = Arc::new(NameSync {
            schema: Arc::clone(&schema),
            sender: Arc::clone(&sender),
            follower,
            reloader,
            strays,
            usage: Arc::clone(&usage),
            backoff,
            telemetry: Arc::clone(&telemetry),
        });
        Ok(Self {
            cluster,
            store,
            schema,
            deliverer: Arc::new(deliverer),
            names,
            sender,
            lookup,
            usage,
            tables,
            telemetry,
            flush_interval: settings.flush_interval,
            spool_bytes: settings.spool_bytes,
        })
    }

    /// What keeps points from arriving, if something does.
    fn trouble(&self) -> Option<String> {
        self.schema.trouble().or_else(|| self.deliverer.trouble())
    }
}

impl Upstream for Link {
    fn start(&self) -> Result<(), StoreError> {
        Ok(self.schema.inspect()?)
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
        let identities = &self.store.identities;
        let known = |doomed: &Doomed| Some((identities.get(doomed.id)?, doomed.stages.clone()));
        erase(&self.cluster, &metrics.iter().filter_map(known).collect::<Vec<_>>(), now)?;
        let names: Vec<String> = metrics.iter().map(|doomed| doomed.name.clone()).collect();
        self.tables.delete(&names)
    }

    /// The last cut must have arrived: while the cluster is slow, cuts grow larger, and larger ones are cheaper to deliver.
    fn wants_cut(&self, since_last: Duration) -> bool {
        since_last >= self.flush_interval && self.store.spool.is_empty()
    }

    fn spooled_points(&self) -> Option<u64> {
        Some(self.store.spool.points())
    }

    fn is_spool_full(&self) -> bool {
        self.store.spool.bytes() >= self.spool_bytes
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
        self.deliverer.run();
        self.trouble().map_or(Ok(()), Err)
    }

    fn chores(&self) -> Vec<Arc<dyn Chore>> {
        let deliveries = Deliveries {
            schema: Arc::clone(&self.schema),
            deliverer: Arc::clone(&self.deliverer),
            names: Arc::clone(&self.names),
            telemetry: Arc::clone(&self.telemetry),
        };
        vec![Arc::new(deliveries), Arc::<NameSync>::clone(&self.names)]
    }

    fn stop(&self) {
        self.schema.stop();
        self.deliverer.stop();
    }

    fn leave(&self) {
        self.deliverer.release();
    }
}

/// Delivers parcels, and says in the counters whether the cluster is in trouble.
struct Deliveries {
    schema: Arc<SchemaWatch>,
    deliverer: Arc<Deliverer>,
    names: Arc<NameSync>,
    telemetry: Arc<Telemetry>,
}

impl Chore for Deliveries {
    fn name(&self) -> &'static str {
        "deliver"
    }

    fn run(&self, _: &dyn LocalMetrics) -> Duration {
        if self.schema.pass().is_ok() {
            self.deliverer.run_if_due();
        }
        let trouble =
            self.schema.trouble().or_else(|| self.deliverer.trouble()).or_else(|| self.names.trouble());
        self.telemetry.cluster_trouble.set(u64::from(trouble.is_some()));
        DELIVER_TICK
    }
}
