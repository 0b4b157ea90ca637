//! One run: the store on its disk, the model beside it, and what happens to both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plumbago_model::{MetricId, Point, Stretch};

use crate::dice::{Dice, mixed};
use crate::disk::{Lie, SimDisk, Trouble};
use crate::engine::{Engine, START, check_damage, name, placed};
use crate::model::{Doubt, Event, MOVING, Metric, Model, Placed, policy};
use crate::operation::{Again, Case, METRICS, Op, Sent, Step};

/// See the module documentation.
pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) engine: Option<Engine>,
    pub(crate) dir: PathBuf,
    pub(crate) now: u32,
    /// The latest that the clock has ever been.
    pub(crate) peak: u32,
    /// What the store answers now.
    pub(crate) model: Model,
    /// What was durable at the last moment at which all of it was, and what has happened since. The flag says whether that was
    /// acknowledged; what was not may be there after a crash.
    durable: Model,
    since: Vec<(Event, bool)>,
    /// A sync failed: until everything is cut, no later sync says anything about what was there before.
    sync_failed: bool,
    /// Something went wrong since the store was opened, and it may refuse to go on until it is opened again.
    pub(crate) was_hurt: bool,
    batch: u32,
    value: u32,
    last_batch: Vec<Sent>,
    pub(crate) backups: crate::backup::Backups,
}

/// A run makes a thousand calls. One that makes so many has work that grows with something that it must not grow with.
const MOST_CALLS: u64 = 100_000;

/// Why an operation did not succeed, and what that leaves open.
pub(crate) enum Failure {
    /// Nothing has changed.
    Clean(String),
    /// It may be done or not: the next start tells.
    Open(Doubt),
    /// It is wrong.
    Wrong(String),
}

/// Runs a case. An error says what is wrong, and in which step.
pub(crate) fn run(case: &Case, lie: Option<Lie>) -> Result<(u64, u64), String> {
    let mut world = World::begin(case, lie)?;
    for (nth, step) in case.steps.iter().enumerate() {
        world.step(step).map_err(|wrong| format!("step {nth}, {step:?}: {wrong}"))?;
        if world.disk.trace().0 > MOST_CALLS {
            return Err(format!("step {nth}, {step:?}: more than {MOST_CALLS} calls of the disk"));
        }
    }
    world.end(case.seed).map_err(|wrong| format!("at the end: {wrong}"))?;
    Ok(world.disk.trace())
}

impl World {
    fn begin(case: &Case, lie: Option<Lie>) -> Result<Self, String> {
        let disk = SimDisk::new(case.seed, lie);
        disk.set_clock(START);
        let mut world = Self {
            disk,
            engine: None,
            dir: PathBuf::from("/data/store"),
            now: START,
            peak: START,
            model: Model::default(),
            durable: Model::default(),
            since: Vec::new(),
            sync_failed: false,
            was_hurt: false,
            batch: 0,
            value: 0,
            last_batch: Vec::new(),
            backups: crate::backup::Backups::default(),
        };
        world.start(false, &case.begin, case.seed)?;
        if world.was_hurt {
            world.disk.restart(false, 0);
            world.start(false, &[], 0)?;
        }
        // The metric that tells which batches are there must always be.
        world.engine().points.cut_all().map_err(|error| error.to_string())?;
        Ok(world)
    }

    /// Everything is written, and must be there after a loss of power.
    fn end(&mut self, seed: u64) -> Result<(), String> {
        self.crash(false, &[], seed)?;
        let engine = self.engine();
        engine.points.cut_all().map_err(|error| error.to_string())?;
        self.everything_is_durable();
        let (now, points) = (self.now, &self.engine().points);
        points.fill(now).map_err(|error| error.to_string())?;
        self.engine().store.points.tidy().map_err(|error| error.to_string())?;
        self.check()?;
        self.crash(true, &[], seed ^ 1)
    }

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("the store is open between steps")
    }

    pub(crate) fn check(&mut self) -> Result<(), String> {
        let (now, peak) = (self.now, self.peak);
        self.engine.as_ref().expect("it is open").check(&self.model, now, peak)
    }

    pub(crate) fn everything_is_durable(&mut self) {
        self.durable = self.model.clone();
        self.since.clear();
        self.sync_failed = false;
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let mut dice = Dice::new(step.dice);
        if let Op::Crash { power } = step.op {
            let again = step.fault.as_ref().map_or(&[][..], |fault| &fault.again);
            return self.crash(power, again, dice.roll());
        }
        if let Some(fault) = &step.fault {
            self.disk.arm(fault.trouble, fault.after, dice.roll());
        }
        let done = self.operate(&step.op);
        let has_fired = self.disk.disarm();
        self.was_hurt |= has_fired;
        let fault = step.fault.as_ref();
        let power = fault.is_some_and(|fault| fault.power);
        let again = fault.map_or(&[][..], |fault| &fault.again);
        let (has_failed, doubt) = match done {
            Err(Failure::Wrong(wrong)) => return Err(wrong),
            Err(Failure::Clean(error)) if !self.was_hurt => {
                return Err(format!("it failed without a reason: {error}"));
            }
            Err(Failure::Open(_)) if !self.was_hurt => return Err("it failed without a reason".to_owned()),
            Err(Failure::Open(doubt)) => (true, Some(doubt)),
            Err(Failure::Clean(_)) => (true, None),
            Ok(()) => (false, None),
        };
        let stops = self.disk.is_off()
            || self.engine.is_none()
            || doubt.is_some()
            || fault.is_some_and(|fault| fault.trouble == Trouble::Halt)
            // A store that fails without a fault of this moment has to be opened again.
            || (has_failed && !has_fired)
            || (has_failed && dice.percent(30));
        if stops {
            return self.crash_in(doubt, power, again, dice.roll());
        }
        Ok(())
    }

    fn operate(&mut self, op: &Op) -> Result<(), Failure> {
        let now = self.now;
        match op {
            Op::Append(batch) => {
                self.last_batch.clone_from(batch);
                self.append(batch)
            }
            Op::Again => self.append(&self.last_batch.clone()),
            Op::Sync => self.sync(),
            Op::Cut => {
                let done = self.engine().points.cut().map(drop);
                if self.engine().points.held() == 0 && done.is_ok() {
                    self.everything_is_durable();
                }
                clean(done)
            }
            Op::Fill => clean(self.engine().points.fill(now)),
            Op::Expire => clean(self.engine().points.expire(now)),
            Op::Merge => clean(self.engine().store.points.tidy()),
            Op::Delete(name) => self.delete(*name),
            Op::Rename(metric) => self.rename(*metric),
            Op::Erase { name, age, secs } => self.erase(*name, *age, *secs),
            Op::Move => self.change_policy(),
            Op::Query(name) => self.query(*name),
            Op::BackUp => self.back_up(),
            Op::Restore { adopt } => self.restore(*adopt),
            Op::Clock(secs) => {
                self.now = u32::try_from(i64::from(now) + secs).unwrap_or(START).max(START);
                self.peak = self.peak.max(self.now);
                self.disk.set_clock(self.now);
                Ok(())
            }
            Op::Restart => {
                self.engine = None;
                let opened = Engine::open(&self.disk, &self.dir, now);
                self.engine = Some(opened.map_err(Failure::Clean)?);
                self.compare()
            }
            Op::Crash { .. } => Ok(()),
        }
    }

    /// Compares everything. What cannot be read is no more than an error; what is read must be right.
    pub(crate) fn compare(&mut self) -> Result<(), Failure> {
        self.check().map_err(judged)
    }

    fn append(&mut self, batch: &[Sent]) -> Result<(), Failure> {
        for sent in batch {
            self.find_or_create(sent.name)?;
        }
        let before = self.model.clone();
        let (mut points, mut stored, mut too_old) = (Vec::new(), Vec::new(), 0);
        for sent in batch {
            let Some((point, level)) = self.placed(*sent) else { continue };
            points.push(point);
            let (id, Point { timestamp: time, value }) = point;
            let placed = level.map(|level| Placed { id, level, time, value });
            too_old += usize::from(placed.is_none());
            if let (Some(placed), Some(metric)) = (&placed, self.model.metrics.get_mut(&id)) {
                metric.put(placed);
            }
            stored.extend(placed);
        }
        self.batch += 1;
        let (batch, now) = (self.batch, self.now);
        let engine = self.engine();
        points.push(engine.mark_of(batch));
        let appended = engine.points.append(&points, now);
        let count = stored.len() as u64 + 1;
        self.since.push((Event::Appended { batch, points: stored }, appended.is_ok()));
        match appended {
            Ok(appended) if (appended.stored, appended.too_old.len()) == (count, too_old) => {
                self.model.batches.insert(batch);
                Ok(())
            }
            Ok(appended) => {
                Err(Failure::Wrong(format!("{appended:?} instead of {count} stored and {too_old} too old")))
            }
            Err(error) => {
                self.model = before;
                Err(Failure::Clean(error.to_string()))
            }
        }
    }

    /// The point that a sender sends, and the stage that takes it. `None` where no map could tell what it does.
    fn placed(&mut self, sent: Sent) -> Option<((MetricId, Point), Option<usize>)> {
        let id = self.engine().id(sent.name)?;
        let timestamp = u32::try_from(i64::from(self.now) - sent.age).ok()?;
        let metric = self.model.metrics.get(&id)?;
        let level = placed(metric.kind, metric.moves, timestamp, [self.now, self.peak])?;
        let is_told = match level {
            Some(0) => !metric.is_ambiguous(timestamp),
            // What an earlier policy has in its aggregated stages only fills gaps.
            Some(_) => metric.kind != MOVING,
            None => true,
        };
        self.value += 1;
        let value = f64::from(1000 + self.value);
        is_told.then_some(((id, Point { timestamp, value }), level))
    }

    fn find_or_create(&mut self, name: usize) -> Result<(), Failure> {
        let now = self.now;
        if self.engine().id(name).is_some() || name >= METRICS {
            return Ok(());
        }
        let Some(policy) = policy(name, 0) else { return Ok(()) };
        let id = self.engine().next_id();
        let created = self.engine().create(id, name, policy, now);
        self.since.push((Event::Created { id, name }, created.is_ok()));
        created.map_err(Failure::Clean)?;
        self.model.metrics.insert(id, Metric::new(name));
        Ok(())
    }

    /// As the server does it: after a sync that failed, a cut makes the points safe.
    fn sync(&mut self) -> Result<(), Failure> {
        match self.engine().points.sync() {
            Ok(_) => {
                if !self.sync_failed && self.since.iter().all(|(_, is_sure)| *is_sure) {
                    self.everything_is_durable();
                }
                Ok(())
            }
            Err(error) => {
                self.sync_failed = true;
                if self.engine().points.cut_all().is_ok() && self.engine().points.held() == 0 {
                    self.everything_is_durable();
                }
                Err(Failure::Clean(error.to_string()))
            }
        }
    }

    fn delete(&mut self, name: usize) -> Result<(), Failure> {
        let Some(id) = self.engine().id(name) else { return Ok(()) };
        let engine = self.engine();
        engine.points.delete(&[id]).map_err(|_| Failure::Open(Doubt::Delete(id)))?;
        plumbago::rollup::Names::remove(&mut engine.known, id);
        self.model.metrics.remove(&id);
        self.since.push((Event::Deleted(id), true));
        Ok(())
    }

    fn rename(&mut self, metric: usize) -> Result<(), Failure> {
        let to = metric + METRICS;
        let Some(id) = self.engine().id(metric) else { return Ok(()) };
        if self.engine().id(to).is_some() {
            self.delete(to)?;
        }
        let engine = self.engine();
        engine.points.rename(&[(id, name(to))]).map_err(|_| Failure::Open(Doubt::Rename(id, to)))?;
        plumbago::rollup::Names::rename(&mut engine.known, id, &name(to));
        self.model = self.model.with(Doubt::Rename(id, to));
        self.is_done(Doubt::Rename(id, to));
        Ok(())
    }

    fn erase(&mut self, name: usize, age: u32, secs: u32) -> Result<(), Failure> {
        let Some(id) = self.engine().id(name) else { return Ok(()) };
        let (from, peak) = (self.now - age, self.peak);
        let Some(metric) = self.model.metrics.get(&id) else { return Ok(()) };
        let stretch: Stretch = metric.exact(from, from + secs, peak);
        let erased = self.engine().points.erase(&[id], stretch);
        erased.map_err(|_| Failure::Open(Doubt::Erase(id, stretch)))?;
        self.model = self.model.with(Doubt::Erase(id, stretch));
        self.is_done(Doubt::Erase(id, stretch));
        Ok(())
    }

    fn change_policy(&mut self) -> Result<(), Failure> {
        let now = self.now;
        let Some(id) = self.engine().id(MOVING) else { return Ok(()) };
        let Some(next) = self.model.metrics.get(&id).and_then(|metric| policy(MOVING, metric.moves + 1))
        else {
            return Ok(());
        };
        let points = &self.engine().points;
        let moved = points.intern_policy(next, now).and_then(|policy| points.move_to(&[(id, policy)], now));
        moved.map_err(|_| Failure::Open(Doubt::Move(id)))?;
        self.model = self.model.with(Doubt::Move(id));
        self.is_done(Doubt::Move(id));
        Ok(())
    }

    fn query(&mut self, name: usize) -> Result<(), Failure> {
        let Some(id) = self.engine().id(name) else { return Ok(()) };
        let (now, peak) = (self.now, self.peak);
        let engine = self.engine.as_ref().expect("it is open");
        engine.check_metric(&self.model, id, now, peak).map_err(judged)
    }

    /// An operation is done, and durable.
    fn is_done(&mut self, doubt: Doubt) {
        match doubt {
            // It syncs the log.
            Doubt::Rename(..) if !self.sync_failed && self.since.iter().all(|(_, is_sure)| *is_sure) => {
                self.everything_is_durable();
            }
            Doubt::Rename(id, name) => self.since.push((Event::Renamed(id, name), true)),
            _ => self.everything_is_durable(),
        }
    }
}

/// Crashes and starts.
impl World {
    pub(crate) fn crash(&mut self, power: bool, again: &[Again], dice: u64) -> Result<(), String> {
        self.crash_in(None, power, again, dice)
    }

    /// The process dies, perhaps in the middle of an operation.
    fn crash_in(
        &mut self,
        doubt: Option<Doubt>,
        power: bool,
        again: &[Again],
        dice: u64,
    ) -> Result<(), String> {
        self.disk.restart(power, dice);
        self.engine = None;
        let lost_power = self.start(power, again, dice)?;
        self.settle(doubt, lost_power)?;
        self.check_backup(dice)
    }

    /// Starts, through everything that goes wrong meanwhile. True if the power went, before or meanwhile.
    fn start(&mut self, mut lost_power: bool, again: &[Again], dice: u64) -> Result<bool, String> {
        for (nth, again) in (1..).zip(again) {
            self.disk.arm(again.trouble, again.after, mixed(dice ^ nth));
            let opened = Engine::open(&self.disk, &self.dir, self.now);
            let has_fired = self.disk.disarm();
            match opened {
                Ok(engine) if !self.disk.is_off() => {
                    self.engine = Some(engine);
                    self.was_hurt = has_fired;
                    return Ok(lost_power);
                }
                Err(error) if !has_fired => return Err(format!("it does not start: {error}")),
                _ => {}
            }
            lost_power |= again.power;
            self.disk.restart(again.power, mixed(dice ^ nth << 8));
        }
        let engine = Engine::open(&self.disk, &self.dir, self.now);
        let engine = engine.map_err(|error| format!("it does not start: {error}"))?;
        check_damage(&engine.store, lost_power)?;
        self.engine = Some(engine);
        self.was_hurt = false;
        Ok(lost_power)
    }

    /// Finds out what of the doubtful is there, and compares everything.
    fn settle(&mut self, doubt: Option<Doubt>, lost_power: bool) -> Result<(), String> {
        let engine = self.engine.as_ref().expect("it is open");
        let there = self.batches_of(engine)?;
        let mut model = self.durable.clone();
        let mut kept = Vec::new();
        for (event, is_sure) in std::mem::take(&mut self.since) {
            let must = is_sure && !lost_power;
            let is_there = match &event {
                Event::Created { id, .. } => must || engine.points.state(*id).is_some(),
                Event::Appended { batch, .. } if must && !there.contains(batch) => {
                    return Err(format!("batch {batch} is lost"));
                }
                Event::Appended { batch, .. } => there.contains(batch),
                Event::Deleted(_) | Event::Renamed(..) => true,
            };
            if is_there {
                apply(&event, &mut model);
                kept.push((event, true));
            }
        }
        if there != model.batches {
            return Err(format!("the batches {there:?} are there instead of {:?}", model.batches));
        }
        let checked = engine.check(&model, self.now, self.peak);
        let other = doubt.filter(|_| checked.is_err()).map(|doubt| model.with(doubt));
        let is_done = other.filter(|other| engine.check(other, self.now, self.peak).is_ok());
        match is_done {
            Some(other) => model = other,
            None => checked?,
        }
        self.model = model;
        if lost_power {
            self.everything_is_durable();
        } else if doubt.is_some() {
            if self.was_hurt {
                self.disk.restart(false, 0);
                self.start(false, &[], 0)?;
            }
            self.engine().points.cut_all().map_err(|error| error.to_string())?;
            self.everything_is_durable();
        } else {
            self.since = kept;
        }
        Ok(())
    }

    /// The batches that are there.
    pub(crate) fn batches_of(&self, engine: &Engine) -> Result<BTreeSet<u32>, String> {
        engine.batches(self.batch + 10)
    }

    /// Opens the store in a directory, instead of the one that is open.
    pub(crate) fn adopt(&mut self, dir: &Path, engine: Engine, model: Model) {
        self.engine = Some(engine);
        self.dir = dir.to_owned();
        self.model = model;
        self.was_hurt = false;
        self.everything_is_durable();
    }
}

fn apply(event: &Event, model: &mut Model) {
    match event {
        Event::Created { id, name } => drop(model.metrics.insert(*id, Metric::new(*name))),
        Event::Appended { batch, points } => {
            model.batches.insert(*batch);
            for point in points {
                if let Some(metric) = model.metrics.get_mut(&point.id) {
                    metric.put(point);
                }
            }
        }
        Event::Deleted(id) => drop(model.metrics.remove(id)),
        Event::Renamed(id, name) => *model = model.with(Doubt::Rename(*id, *name)),
    }
}

/// A comparison that failed: is it wrong, or could something not be read?
pub(crate) fn judged(failed: String) -> Failure {
    if failed.contains(" instead of ") { Failure::Wrong(failed) } else { Failure::Clean(failed) }
}

pub(crate) fn clean<T, E: ToString>(done: Result<T, E>) -> Result<(), Failure> {
    done.map(drop).map_err(|error| Failure::Clean(error.to_string()))
}
