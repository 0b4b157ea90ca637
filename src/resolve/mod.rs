//! Step 3: names become metrics.
//!
//! The index answers for every name it knows under the spelling it was sent in; only a miss costs more: the name is put
//! into its canonical form, looked up again, and created when it is really new.

mod creator;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use creator::Creator;
use parking_lot::Mutex;

use crate::config::{Ingest, Rules};
use crate::index::SharedIndex;
use crate::model::{Batch, MetricId, Point, Reject, name};
use crate::rollup::{Points, PointsError};
use crate::telemetry::Telemetry;

/// Finds and creates metrics for received names.
pub struct Resolver {
    index: Arc<SharedIndex>,
    points: Arc<Points>,
    limits: Ingest,
    telemetry: Arc<Telemetry>,
    creator: Mutex<Creator>,
    refuse_new: AtomicBool,
}

impl Resolver {
    /// `next` is the first id that was never used.
    pub fn new(
        index: Arc<SharedIndex>,
        points: Arc<Points>,
        rules: Arc<Rules>,
        limits: Ingest,
        telemetry: Arc<Telemetry>,
        next: MetricId,
    ) -> Self {
        let creator = Creator::new(rules, &limits, next);
        Self {
            index,
            points,
            limits,
            telemetry,
            creator: Mutex::new(creator),
            refuse_new: AtomicBool::new(false),
        }
    }

    /// While set, unknown names are refused: the disk is nearly full.
    pub fn refuse_new(&self, refuse: bool) {
        self.refuse_new.store(refuse, Ordering::Relaxed);
    }

    /// The points of `batch` by metric, in their order. Points of refused names are counted and left out.
    pub fn resolve(&self, batch: &Batch<'_>, now: u32) -> Result<Vec<(MetricId, Point)>, PointsError> {
        let mut ids = Vec::with_capacity(batch.len());
        self.index.read().lookup_many(batch.entries.iter().map(|(name, _)| *name), &mut ids);
        if ids.iter().any(Option::is_none) {
            self.resolve_misses(batch, now, &mut ids)?;
        }
        let known = batch.entries.iter().zip(ids);
        Ok(known.filter_map(|((_, point), id)| id.map(|id| (id, *point))).collect())
    }

    fn resolve_misses(
        &self,
        batch: &Batch<'_>,
        now: u32,
        ids: &mut [Option<MetricId>],
    ) -> Result<(), PointsError> {
        let mut canonical: Vec<(usize, String)> = Vec::new();
        for (at, (raw, _)) in batch.entries.iter().enumerate().filter(|(at, _)| ids[*at].is_none()) {
            match name::canonical(raw, self.limits.max_name_bytes) {
                Ok(name) => canonical.push((at, name.into_owned())),
                Err(error) => self.telemetry.reject(Reject::from(&error), 1),
            }
        }
        let names: Vec<&str> = canonical.iter().map(|(_, name)| name.as_str()).collect();
        let resolved = self.find_or_create(&names, now)?;
        for (at, name) in &canonical {
            ids[*at] = resolved.get(name.as_str()).copied();
        }
        Ok(())
    }

    /// Ids of canonical names; refused ones are missing from the answer, and counted.
    pub fn find_or_create<'a>(
        &self,
        names: &[&'a str],
        now: u32,
    ) -> Result<HashMap<&'a str, MetricId>, PointsError> {
        let mut creator = self.creator.lock();
        let mut resolved = HashMap::with_capacity(names.len());
        let mut fresh: Vec<(MetricId, crate::model::PolicyId, &'a str)> = Vec::new();
        let mut refused = Vec::new();
        {
            let index = self.index.read();
            for &name in names {
                if resolved.contains_key(name) {
                    continue;
                }
                if let Some(id) = index.lookup(name.as_bytes()) {
                    resolved.insert(name, id);
                } else if let Err(reason) = self.may_create(&mut creator, index.len() + fresh.len()) {
                    refused.push(reason);
                } else {
                    let policy = creator.policy(&self.points, name, now)?;
                    let id = creator.next_id();
                    fresh.push((id, policy, name));
                    resolved.insert(name, id);
                }
            }
        }
        refused.into_iter().for_each(|reason| self.telemetry.reject(reason, 1));
        if !fresh.is_empty() {
            // The log and the table of points first: whoever finds a name in the index may send points to it.
            self.points.create(&fresh)?;
            let mut index = self.index.write();
            for (id, _, name) in &fresh {
                if let Err(error) = index.insert(*id, name) {
                    tracing::error!(name, %error, "the index refused a metric");
                }
            }
            self.telemetry.metrics_created.add(fresh.len() as u64);
            self.telemetry.metrics.set(index.len() as u64);
        }
        Ok(resolved)
    }

    fn may_create(&self, creator: &mut Creator, metrics: usize) -> Result<(), Reject> {
        if self.refuse_new.load(Ordering::Relaxed) {
            return Err(Reject::DiskFull);
        }
        if self.limits.max_metrics > 0 && metrics as u64 >= self.limits.max_metrics {
            return Err(Reject::MetricLimit);
        }
        creator.take_token()
    }
}
