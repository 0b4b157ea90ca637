//! The engine: an open store with its index, points and resolver. The server and the commands both use it.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};

use super::backup::Current;
use super::expiry::Pointless;
use super::local_metrics::above;
use super::retention::Reading;
use super::storage::Storage;
use super::supervisor::Supervisor;
use crate::config::{Config, PolicyMatcher, Quota, Settings, Sources};
use crate::index::{Loading, SharedIndex};
use crate::quotas::Quotas;
use crate::receive::Sampler;
use crate::resolve::Resolver;
use crate::rollup::{Deletion, Names, Opened, Points, PointsError};
use crate::rules::Rules;
use crate::store::{Doomed, StoreError};
use crate::telemetry::Telemetry;
use plumbago_model::{MetricId, Policy, PolicyId, Span, Stage};

/// Everything below the listeners.
pub struct Engine {
    /// The configuration it was opened with.
    pub config: Config,
    /// The retention rules in force.
    pub(super) retention: RwLock<Arc<PolicyMatcher>>,
    pub(super) reading: OnceLock<Reading>,
    /// One reload at a time.
    pub(super) reloading: Mutex<()>,
    /// The metrics.
    pub index: Arc<SharedIndex>,
    /// Their points.
    pub points: Arc<Points>,
    /// Names to metrics.
    pub resolver: Resolver,
    /// How much of what there may be.
    pub(super) quotas: Arc<Quotas>,
    /// The same as it is configured.
    pub(super) quota_rules: RwLock<Vec<Quota>>,
    /// Counters.
    pub telemetry: Arc<Telemetry>,
    pub(super) store: Storage,
    pub(super) supervisor: Arc<Supervisor>,
    /// Set while the disk is too full to take points.
    pub(super) paused: AtomicBool,
    /// Set while the log or the store refuses points.
    pub(super) failing: AtomicBool,
    /// The address of the carbon listener, once it is open.
    pub(super) carbon: OnceLock<SocketAddr>,
    /// When it was opened.
    pub(super) opened: Instant,
    pub(super) sampler: Sampler,
    /// The rules for incoming names, if there are any.
    pub(super) rules: Option<Rules>,
    /// The backup that is being made.
    pub(super) backup: Current,
    pub(super) pointless: Pointless,
    /// Shared by imports, so that no metric is forgotten while one fills it.
    pub(super) importing: RwLock<()>,
    /// Shared by senders, and held alone while the last points of a metric move to another one.
    pub(super) accepting: RwLock<()>,
    /// Set once the store is known to have what metrics of [`plumbago_model::Dialect::Labelled`] need.
    pub(super) labelled_admitted: AtomicBool,
    /// The check of all files that is under way.
    pub(super) check: Current,
}

/// Why a server for rescue takes nothing.
pub(super) const READ_ONLY: &str =
    "this server only answers queries and changes nothing: store.read_only is set";

/// Seconds since the epoch.
pub fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

impl Engine {
    /// Opens the data directory: loads the catalogue, replays the log.
    pub fn open(config: Config) -> anyhow::Result<Self> {
        Self::open_with(config, Arc::default())
    }

    /// The same, with counters that others count with, too.
    pub(super) fn open_with(config: Config, telemetry: Arc<Telemetry>) -> anyhow::Result<Self> {
        let rules = Rules::open(&config.rules, Arc::clone(&telemetry))?;
        let store = Storage::open(&config, &telemetry)?;
        let mut loading = Loading::begin()?;
        let Opened { points, next_id, owners, damage } = Points::open(
            Arc::clone(&store.points),
            Arc::clone(&store.metrics),
            &store.log_dir,
            config.store.head_points,
            now(),
            &mut loading,
        )?;
        telemetry.damaged_places.set((store.damage.len() + damage.len()) as u64);
        let points = Arc::new(points);
        let (index, refused) = loading.finish();
        for (id, error) in refused {
            tracing::error!(metric = id.0, %error, "the index cannot take a metric");
        }
        telemetry.metrics.set(index.len() as u64);
        let index = Arc::new(SharedIndex::new(index));
        let retention = Arc::new(PolicyMatcher::new(config.retention.clone()));
        let quotas = Arc::new(Quotas::new(&[]));
        let resolver = Resolver::new(
            Arc::clone(&index),
            Arc::clone(&points),
            Arc::clone(&retention),
            config.ingest.clone(),
            Arc::clone(&quotas),
            Arc::clone(&telemetry),
            next_id,
        );
        owners.iter().for_each(|(id, quota)| quotas.own(*id, quota));
        resolver.set_quotas(&config.quotas);
        let is_read_only = config.store.read_only;
        Ok(Self {
            quota_rules: RwLock::new(config.quotas.clone()),
            config,
            retention: RwLock::new(retention),
            reading: OnceLock::new(),
            reloading: Mutex::default(),
            index,
            points,
            resolver,
            quotas,
            supervisor: Arc::new(Supervisor::new(Arc::clone(&telemetry))),
            telemetry,
            store,
            paused: AtomicBool::new(is_read_only),
            failing: AtomicBool::new(false),
            carbon: OnceLock::new(),
            opened: Instant::now(),
            sampler: Sampler::default(),
            rules,
            backup: Current::default(),
            pointless: Pointless::default(),
            importing: RwLock::default(),
            accepting: RwLock::default(),
            labelled_admitted: AtomicBool::new(false),
            check: Current::default(),
        })
    }

    /// From now on a reload reads the configuration again from where it came from.
    pub fn read_from(&self, sources: Sources, settings: Settings) {
        self.reading.get_or_init(|| Reading { sources, settings });
    }

    /// Bytes of all blocks.
    pub fn stored_bytes(&self) -> u64 {
        self.store.points.disk_usage().blocks()
    }

    /// Bytes of the blocks' chunks of some metrics, by ascending id.
    pub fn chunk_bytes(&self, ids: &[MetricId]) -> Result<u64, StoreError> {
        self.store.points.chunk_bytes(ids)
    }

    /// Deletes metrics, their names and their points; with a cluster, for all of its servers.
    pub fn delete(&self, ids: &[MetricId]) -> Result<(), PointsError> {
        let mut own = |ids: &[MetricId]| self.forget(ids).map_err(above);
        Ok(self.store.upstream.delete(&self.doomed(ids), now(), &mut own)?)
    }

    /// These metrics as others know them, with all their stages.
    pub(super) fn doomed(&self, ids: &[MetricId]) -> Vec<Doomed> {
        let doomed = |&id| {
            let name = self.index.read().name(id)?.to_owned();
            Some(Doomed { id, name, stages: self.stages(id).unwrap_or_default() })
        };
        ids.iter().filter_map(doomed).collect()
    }

    /// Every stage a metric has or had points in.
    fn stages(&self, id: MetricId) -> Option<Vec<Stage>> {
        let policies = self.points.policies();
        let (current, _) = self.points.state(id)?;
        let all = policies.earlier(id).into_iter().chain([current]).filter_map(|policy| policies.get(policy));
        Some(all.flat_map(|policy| policy.retention.stages().to_vec()).collect())
    }

    /// All names, if they are all in memory.
    pub(super) fn whole_index(&self) -> Option<&SharedIndex> {
        self.store.upstream.knows_all_names().then_some(&*self.index)
    }

    /// Adds metrics that already exist in the store. Returns the ids of those that were new here.
    pub(super) fn adopt(&self, metrics: &[(String, Arc<Policy>)]) -> Result<Vec<MetricId>, PointsError> {
        self.resolver.adopt(metrics, now())
    }

    /// Puts metrics under the policies that the store has for them.
    pub(super) fn correct_policies(&self, metrics: &[(MetricId, Arc<Policy>)]) -> Result<(), PointsError> {
        let mut changes = Vec::with_capacity(metrics.len());
        for (id, policy) in metrics {
            changes.push((*id, self.points.intern_policy(policy, now())?));
        }
        self.points.correct_policies(&changes, now())?;
        self.resolver.resize(metrics);
        Ok(())
    }

    /// Forgets metrics, their names and their points, on this machine.
    pub(super) fn forget(&self, ids: &[MetricId]) -> Result<(), PointsError> {
        self.forget_if(ids, |_, _, _| true).map(drop)
    }

    /// Forgets those metrics that `leaves` agrees to, which is asked while no point can come in. Gives their names.
    pub(super) fn forget_if(
        &self,
        ids: &[MetricId],
        leaves: impl Fn(MetricId, PolicyId, Span) -> bool,
    ) -> Result<Vec<String>, PointsError> {
        self.finish(self.points.begin_deletion(ids, leaves)?)
    }

    /// Removes the names of deleted metrics, and gives them.
    pub(super) fn finish(&self, deletion: Deletion<'_>) -> Result<Vec<String>, PointsError> {
        let mut names = Vec::with_capacity(deletion.metrics().len());
        {
            let mut index = self.index.write();
            for &id in deletion.metrics() {
                names.extend(index.name(id).map(str::to_owned));
                index.remove(id);
                self.resolver.forget(id);
            }
            self.telemetry.metrics.set(index.len() as u64);
        }
        deletion.finish()?;
        Ok(names)
    }
}

impl Names for Loading {
    fn knows(&self, name: &str) -> bool {
        self.lookup(name.as_bytes()).is_some()
    }

    fn add(&mut self, id: MetricId, name: &str) {
        if let Err(error) = self.insert(id, name) {
            tracing::error!(name, %error, "the index refused a metric");
        }
    }

    fn remove(&mut self, id: MetricId) {
        Loading::remove(self, id);
    }

    fn rename(&mut self, id: MetricId, name: &str) -> bool {
        Loading::rename(self, id, name)
    }
}
