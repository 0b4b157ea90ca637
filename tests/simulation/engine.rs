//! The real store, opened on a simulated disk: log, blocks, catalogue, and the points above them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use plumbago::disk::{Disk, Folder};
use plumbago::rollup::{Names, Opened, Points};
use plumbago::store::embedded::Embedded;
use plumbago_model::{Cancel, MetricId, Point, Policy};

use crate::disk::SimDisk;
use crate::model::{MOVING, Model, policy};

/// When a run begins. It is not a multiple of any step.
pub(crate) const START: u32 = 1_700_000_123;
/// The points that tell which batches are there are this far in the future, one second each.
const BATCHES: u32 = START + 20_000_000;
const BATCHES_POLICY: &str = "30000000*1s|last|0";
const BATCHES_NAME: &str = "batches";

/// What an index would know.
#[derive(Default)]
pub(crate) struct Known {
    names: BTreeMap<String, MetricId>,
    /// A name that came twice.
    twice: Option<String>,
}

impl Names for Known {
    fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    fn add(&mut self, id: MetricId, name: &str) {
        if self.names.insert(name.to_owned(), id).is_some() {
            self.twice = Some(name.to_owned());
        }
    }

    fn remove(&mut self, id: MetricId) {
        self.names.retain(|_, known| *known != id);
    }

    fn rename(&mut self, id: MetricId, name: &str) -> bool {
        if let Some(owner) = self.names.get(name) {
            return *owner == id;
        }
        self.remove(id);
        self.add(id, name);
        true
    }
}

/// An open store.
pub(crate) struct Engine {
    pub(crate) store: Embedded,
    pub(crate) points: Points,
    pub(crate) known: Known,
    next_id: MetricId,
    batches: MetricId,
}

/// What may be found damaged after a crash: the unsynced end of the transcript, if the power went, and nothing else.
pub(crate) fn check_damage(store: &Embedded, lost_power: bool) -> Result<(), String> {
    let is_left = |line: &str| lost_power && line.contains("catalogue.transcript");
    let wrong = store.damage().iter().find(|line| !is_left(line));
    wrong.map_or(Ok(()), |line| Err(format!("a crash is taken for damage: {line}")))
}

pub(crate) fn folder(disk: &SimDisk, path: &Path) -> Folder {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Folder::on(disk, path)
}

/// What a metric is called. The second half of the numbers are names that metrics get later.
pub(crate) fn name(number: usize) -> String {
    format!("metric.m{number}")
}

impl Engine {
    pub(crate) fn open(disk: &SimDisk, dir: &Path, now: u32) -> Result<Self, String> {
        let store = Embedded::open_in(&folder(disk, dir)).map_err(|error| error.to_string())?;
        let mut known = Known::default();
        let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
        let opened = Points::open(blocks, catalogue, &store.log_dir, 1_000_000, now, &mut known);
        let Opened { points, next_id, .. } = opened.map_err(|error| error.to_string())?;
        if let Some(name) = &known.twice {
            return Err(format!("{name} is there twice"));
        }
        let mut engine = Self { store, points, known, next_id, batches: MetricId(0) };
        match engine.known.names.get(BATCHES_NAME) {
            Some(id) => engine.batches = *id,
            None => {
                let policy = BATCHES_POLICY.parse().unwrap();
                engine.batches = engine.next_id();
                engine.create_as(engine.batches, BATCHES_NAME, &policy, now)?;
                engine.points.cut_all().map_err(|error| error.to_string())?;
            }
        }
        Ok(engine)
    }

    pub(crate) fn next_id(&mut self) -> MetricId {
        let id = self.next_id;
        self.next_id = MetricId(id.0 + 1);
        id
    }

    pub(crate) fn id(&self, number: usize) -> Option<MetricId> {
        self.known.names.get(&name(number)).copied()
    }

    /// As the resolver does it: the policy, the metric, and then its name in the index.
    pub(crate) fn create(
        &mut self,
        id: MetricId,
        number: usize,
        policy: &Policy,
        now: u32,
    ) -> Result<(), String> {
        self.create_as(id, &name(number), policy, now)
    }

    fn create_as(&mut self, id: MetricId, name: &str, policy: &Policy, now: u32) -> Result<(), String> {
        let policy = self.points.intern_policy(policy, now).map_err(|error| error.to_string())?;
        self.points.create(&[(id, policy, name)], now).map_err(|error| error.to_string())?;
        self.known.add(id, name);
        Ok(())
    }

    /// The point by which a batch is known.
    pub(crate) fn mark_of(&self, batch: u32) -> (MetricId, Point) {
        (self.batches, Point { timestamp: BATCHES + batch, value: f64::from(batch) })
    }

    /// The batches that are there, of so many.
    pub(crate) fn batches(&self, until: u32) -> Result<BTreeSet<u32>, String> {
        let (from, end) = (i64::from(BATCHES), i64::from(BATCHES + until));
        let read = self.points.fetch(&[self.batches], from - 1, end, end + 1, &Cancel::never());
        let series = read.map_err(|error| error.to_string())?.pop().flatten();
        let Some(series) = series else { return Ok(BTreeSet::new()) };
        let mut found = BTreeSet::new();
        for (at, value) in series.values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let batch = series.range.time(at) - BATCHES;
            if *value != f64::from(batch) {
                return Err(format!("batch {batch} reads as {value}"));
            }
            found.insert(batch);
        }
        Ok(found)
    }

    /// Compares every stage of every metric, and the names, with the model. The clock has been at `peak`, so that what is past its
    /// retention then may be gone.
    pub(crate) fn check(&self, model: &Model, now: u32, peak: u32) -> Result<(), String> {
        let there: BTreeMap<&str, MetricId> = self
            .known
            .names
            .iter()
            .map(|(name, id)| (&**name, *id))
            .filter(|(_, id)| *id != self.batches)
            .collect();
        let names: Vec<String> = model.metrics.values().map(|metric| name(metric.name)).collect();
        let want: BTreeMap<&str, MetricId> =
            names.iter().zip(model.metrics.keys()).map(|(name, id)| (&**name, *id)).collect();
        if there != want {
            return Err(format!("the names are {there:?} instead of {want:?}"));
        }
        model.metrics.keys().try_for_each(|id| self.check_metric(model, *id, now, peak))
    }

    pub(crate) fn check_metric(
        &self,
        model: &Model,
        id: MetricId,
        now: u32,
        peak: u32,
    ) -> Result<(), String> {
        let metric = &model.metrics[&id];
        let in_force = self.points.state(id).and_then(|(policy, _)| self.points.policies().get(policy));
        if in_force.as_deref() != Some(metric.policy()) {
            let in_force = in_force.map(|policy| policy.to_string());
            return Err(format!(
                "{} has the policy {in_force:?} instead of {}",
                name(metric.name),
                metric.policy()
            ));
        }
        for (level, &stage) in metric.policy().retention.stages().iter().enumerate() {
            // Where stage 0 is gone, what earlier policies had fills gaps as well as it can.
            let kept = if metric.kind == MOVING && metric.moves > 0 {
                metric.policy().retention.raw().span_secs()
            } else {
                stage.span_secs()
            };
            let known_from = peak - kept as u32;
            // The window that makes a query choose exactly this stage.
            let (from, until) = (i64::from(now) - stage.span_secs() as i64, i64::from(now));
            let read = self.points.fetch(&[id], from, until, until, &Cancel::never());
            let series =
                read.map_err(|error| error.to_string())?.pop().flatten().ok_or("nothing can be read")?;
            for (at, &got) in series.values.iter().enumerate() {
                let slot = series.range.time(at);
                let want = metric.expected(level, slot).unwrap_or(f64::NAN);
                let same = (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-9 * want.abs();
                if slot >= known_from && !same {
                    let (name, age) = (name(metric.name), i64::from(now) - i64::from(slot));
                    return Err(format!(
                        "{name}, stage {stage}, slot {slot} of age {age}: {got} instead of {want}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Would a point go to the same stage by both clocks?
pub(crate) fn placed(metric: usize, moves: usize, time: u32, clocks: [u32; 2]) -> Option<Option<usize>> {
    let policy = policy(metric, moves)?;
    let at = |now: u32| {
        let age = u64::from(now.saturating_sub(time));
        policy.retention.stages().iter().position(|stage| stage.covers_age(age))
    };
    (at(clocks[0]) == at(clocks[1])).then(|| at(clocks[0]))
}
