//! The points of metrics against a plain map: random writes, late and very old points, deletions, new names, changed policies, cuts, fills,
//! merges, crashes and restarts. After each step every stage reads as the map says, before and after another crash.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use plumbago::log::{Log, encode_deleted, encode_renamed};
use plumbago::rollup::{Names, Opened, Points};
use plumbago::store::embedded::Embedded;
use plumbago_model::{Cancel, MetricId, Partial, Point, Policy, Stage, Stretch};
use proptest::prelude::*;

/// Not a multiple of any step here.
const NOW: u32 = 1_700_000_123;

/// The policy that each metric begins with. The stages of the third are short, so that they expire within a test.
const FIRST_POLICIES: [&str; 4] = [
    "360*10s:600*60s:48*3600s|average|0",
    "360*10s:600*60s:48*3600s|sum|0.5",
    "600*1s:360*10s:100*600s|max|0",
    "360*10s:600*60s|sum|0",
];

/// The metric that changes its policy, and the policies that it goes over to, one after the other. All of them share stage 0; the
/// first of them keeps the aggregated stage and adds one.
const MOVING: usize = 3;
const NEXT_POLICIES: [&str; 3] =
    ["360*10s:600*60s:48*3600s|sum|0", "360*10s:1200*60s|sum|0", "360*10s:48*1800s|sum|0"];

#[derive(Clone, Debug)]
enum Step {
    Write {
        metric: usize,
        age: u32,
        value: i32,
    },
    Delete(usize),
    /// The metric gets another name, which may belong to one that was renamed earlier and goes now. Its old name is free.
    Rename(usize),
    /// The points of some time go, and the metric stays.
    Erase {
        metric: usize,
        age: u32,
        secs: u32,
    },
    /// The rule of the moving metric changes.
    Move,
    Cut,
    Fill,
    Tidy,
    /// The process dies: what was accepted must be there afterwards.
    Crash,
    Forward(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let age = prop_oneof![4 => 0u32..700, 4 => 0u32..3600, 3 => 3500u32..4500, 4 => 3500u32..180_000];
    prop_oneof![
        16 => (0..FIRST_POLICIES.len(), age, -50i32..50)
            .prop_map(|(metric, age, value)| Step::Write { metric, age, value }),
        1 => (0..FIRST_POLICIES.len()).prop_map(Step::Delete),
        1 => (0..FIRST_POLICIES.len()).prop_map(Step::Rename),
        3 => (0..FIRST_POLICIES.len(), 0u32..9000, 1u32..7000)
            .prop_map(|(metric, age, secs)| Step::Erase { metric, age, secs }),
        1 => Just(Step::Move),
        3 => Just(Step::Cut),
        3 => Just(Step::Fill),
        1 => Just(Step::Tidy),
        2 => Just(Step::Crash),
        3 => (1u32..400).prop_map(Step::Forward),
        1 => (400u32..30_000).prop_map(Step::Forward),
    ]
}

/// What an index would know.
#[derive(Default)]
struct Known(HashMap<String, MetricId>);

impl Names for Known {
    fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn add(&mut self, id: MetricId, name: &str) {
        assert_eq!(self.0.insert(name.to_owned(), id), None, "{name} is there twice");
    }

    fn remove(&mut self, id: MetricId) {
        self.0.retain(|_, known| *known != id);
    }

    fn rename(&mut self, id: MetricId, name: &str) -> bool {
        if let Some(owner) = self.0.get(name) {
            return *owner == id;
        }
        self.remove(id);
        self.add(id, name);
        true
    }
}

struct Engine {
    store: Embedded,
    points: Points,
    next_id: MetricId,
    known: Known,
}

impl Engine {
    fn open(dir: &Path, now: u32) -> Self {
        let store = Embedded::open(dir).unwrap();
        let mut known = Known::default();
        let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
        let Opened { points, next_id, .. } =
            Points::open(blocks, catalogue, &store.log_dir, 1_000_000, now, &mut known).unwrap();
        Self { store, points, next_id, known }
    }

    fn id(&self, metric: usize) -> Option<MetricId> {
        self.known.0.get(&name(metric)).copied()
    }

    fn create(&mut self, metric: usize, policy: &Policy, now: u32) -> MetricId {
        let id = self.next_id;
        self.next_id = MetricId(id.0 + 1);
        let policy = self.points.intern_policy(policy, now).unwrap();
        self.points.create(&[(id, policy, &name(metric))], now).unwrap();
        self.known.add(id, &name(metric));
        id
    }

    fn values(&self, id: MetricId, stage: Stage, now: u32) -> Vec<(u32, f64)> {
        // The window that makes a query choose exactly this stage.
        let from = i64::from(now) - stage.span_secs() as i64;
        let got = self.points.fetch(&[id], from, i64::from(now), i64::from(now), &Cancel::never());
        let got = got.unwrap().remove(0).unwrap();
        assert_eq!(got.range.step, stage.step_secs);
        got.values.iter().enumerate().map(|(at, &value)| (got.range.time(at), value)).collect()
    }
}

fn name(metric: usize) -> String {
    format!("metric.m{metric}")
}

/// What a metric is called after it was renamed.
fn new_name(metric: usize) -> String {
    format!("renamed.m{metric}")
}

/// What was written to a metric since it was created.
#[derive(Clone, Default)]
struct Written {
    /// The last value by stage-0 slot.
    raw: BTreeMap<u32, f64>,
    /// Points older than stage 0: the level that took each, its time and value.
    direct: Vec<(usize, u32, f64)>,
    /// How often the policy changed.
    moves: usize,
}

impl Written {
    fn policy(&self, metric: usize) -> Policy {
        let text = self.moves.checked_sub(1).map_or(FIRST_POLICIES[metric], |nth| NEXT_POLICIES[nth]);
        text.parse().unwrap()
    }

    /// What a slot of a stage should read as.
    fn expected(&self, policy: &Policy, level: usize, slot: u32) -> Option<f64> {
        let step = policy.retention.stages()[level].step_secs;
        let mut raw = self.raw.range(slot..slot + step).map(|(_, &v)| v);
        if level == 0 {
            return raw.next_back();
        }
        let inside = |t: u32| (slot..slot + step).contains(&t);
        let direct = self.direct.iter().filter(|(entered, t, _)| *entered <= level && inside(*t));
        let all = raw.map(Partial::point).chain(direct.map(|(.., v)| Partial::direct(*v)));
        let partial = all.fold(Partial::EMPTY, |acc, one| policy.aggregator.merge(acc, one));
        policy.aggregator.finish(partial, policy.slots_at(level), policy.x_files_factor)
    }

    /// A range of time near to this one whose erasure the map can tell: slots at its edges must have all their points in stage 0.
    /// Where they have not, the range is widened to whole slots.
    fn exact(&self, policy: &Policy, (from, until): (u32, u32), now: u32) -> (u32, u32) {
        let stages = policy.retention.stages();
        let raw_since = now - u32::try_from(stages[0].span_secs()).unwrap();
        let is_known = |edge: u32| {
            stages.iter().skip(1).all(|stage| {
                let slot = stage.floor(edge)..stage.floor(edge) + stage.step_secs;
                let is_direct = self.direct.iter().any(|(_, time, _)| slot.contains(time));
                !is_direct && self.raw.range(slot).all(|(&time, _)| time > raw_since)
            })
        };
        if self.moves == 0 && is_known(from) && is_known(until) {
            return (from, until);
        }
        (from / 3600 * 3600, until.div_ceil(3600) * 3600)
    }

    /// Would a point replace another one in a slot that points have entered directly? There it counts as one more instead, and
    /// whether it does depends on what is in memory: no map says that.
    fn is_ambiguous(&self, policy: &Policy, timestamp: u32) -> bool {
        let stages = policy.retention.stages();
        let entered =
            |stage: &Stage| self.direct.iter().any(|(_, t, _)| stage.floor(*t) == stage.floor(timestamp));
        self.raw.contains_key(&stages[0].floor(timestamp)) && stages.iter().skip(1).any(entered)
    }
}

struct World {
    dir: tempfile::TempDir,
    engine: Option<Engine>,
    now: u32,
    written: Vec<Written>,
    /// What the renamed ones have.
    renamed: Vec<Written>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = Some(Engine::open(dir.path(), NOW));
        let written = vec![Written::default(); FIRST_POLICIES.len()];
        Self { dir, engine, now: NOW, renamed: written.clone(), written }
    }

    fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    /// The process dies after a record is in the log, before the catalogue hears of it.
    fn die_after_logging(&mut self, frame: &[u8]) {
        let store = &self.engine().store;
        let (log_dir, floor) = (store.log_dir.clone(), store.points.snapshot().position().log_floor);
        self.engine = None;
        Log::open(&log_dir, floor).unwrap().append(frame).unwrap();
        self.crash();
    }

    fn crash(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(self.dir.path(), self.now));
    }

    fn run(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Write { metric, age, value } => self.write(metric, now - age, f64::from(value)),
            Step::Delete(metric) => {
                if let Some(id) = self.engine().id(metric) {
                    self.engine().points.delete(&[id]).unwrap();
                    self.engine().known.remove(id);
                    self.written[metric] = Written::default();
                }
            }
            Step::Rename(metric) => self.rename(metric),
            Step::Erase { metric, age, secs } => self.erase(metric, now - age, secs),
            Step::Move => self.change_policy(),
            Step::Cut => drop(self.engine().points.cut().unwrap()),
            Step::Fill => {
                self.engine().points.fill(now).unwrap();
                self.engine().points.expire(now).unwrap();
            }
            Step::Tidy => drop(self.engine().store.points.tidy().unwrap()),
            Step::Crash => self.crash(),
            Step::Forward(secs) => self.now += secs,
        }
    }

    fn write(&mut self, metric: usize, timestamp: u32, value: f64) {
        let now = self.now;
        let policy = self.written[metric].policy(metric);
        let level = policy.retention.stages().iter().position(|s| s.covers_age(u64::from(now - timestamp)));
        let written = &mut self.written[metric];
        match level {
            // What an earlier policy has in its aggregated stages only fills gaps: see `check`.
            Some(1..) if metric == MOVING => return,
            Some(0) if written.is_ambiguous(&policy, timestamp) => return,
            Some(0) => drop(written.raw.insert(policy.retention.raw().floor(timestamp), value)),
            Some(level) => written.direct.push((level, timestamp, value)),
            None => {}
        }
        let engine = self.engine();
        let id = engine.id(metric).unwrap_or_else(|| engine.create(metric, &policy, now));
        let done = engine.points.append(&[(id, Point { timestamp, value })], now).unwrap();
        assert_eq!((done.stored, done.too_old.len()), if level.is_some() { (1, 0) } else { (0, 1) });
    }

    fn rename(&mut self, metric: usize) {
        let Some(id) = self.engine().id(metric) else { return };
        let engine = self.engine();
        if let Some(other) = engine.known.0.get(&new_name(metric)).copied() {
            engine.points.delete(&[other]).unwrap();
            engine.known.remove(other);
        }
        engine.points.rename(&[(id, new_name(metric))]).unwrap();
        assert!(engine.known.rename(id, &new_name(metric)));
        self.renamed[metric] = std::mem::take(&mut self.written[metric]);
    }

    fn erase(&mut self, metric: usize, from: u32, secs: u32) {
        let now = self.now;
        let Some(id) = self.engine().id(metric) else { return };
        let written = &mut self.written[metric];
        let (from, until) = written.exact(&written.policy(metric), (from, from + secs), now);
        let raw = written.raw.len();
        written.raw.retain(|time, _| !(from..until).contains(time));
        let gone = (raw - written.raw.len()) as u64;
        written.direct.retain(|(_, time, _)| !(from..until).contains(time));
        let points = &self.engine().points;
        let trial = points.count_erased(&[id], Stretch { from, until }, &Cancel::never()).unwrap();
        let erased = points.erase(&[id], Stretch { from, until }).unwrap();
        assert_eq!(trial, erased);
        // Of the points that the map has, those past their retention may be gone from the store.
        assert!(erased[0].points <= gone, "{erased:?}, {gone}");
        let again = points.erase(&[id], Stretch { from, until }).unwrap();
        assert_eq!((again[0].points, again[0].aggregates), (0, 0), "they were erased already");
    }

    fn change_policy(&mut self) {
        let (now, moves) = (self.now, self.written[MOVING].moves);
        if let (Some(id), Some(next)) = (self.engine().id(MOVING), NEXT_POLICIES.get(moves)) {
            let points = &self.engine().points;
            let policy = points.intern_policy(&next.parse().unwrap(), now).unwrap();
            points.move_to(&[(id, policy)], now).unwrap();
            self.written[MOVING].moves += 1;
        }
    }

    /// Every stage of every metric, read as a query reads it, against the map.
    fn check(&mut self, after: &str) {
        for metric in 0..FIRST_POLICIES.len() {
            self.check_metric(metric, &name(metric), self.written[metric].clone(), after);
            self.check_metric(metric, &new_name(metric), self.renamed[metric].clone(), after);
        }
    }

    fn check_metric(&mut self, metric: usize, name: &str, written: Written, after: &str) {
        let (now, policy) = (self.now, written.policy(metric));
        let Some(id) = self.engine().known.0.get(name).copied() else {
            assert!(written.raw.is_empty() && written.direct.is_empty(), "{name} is gone after {after}");
            return;
        };
        for (level, &stage) in policy.retention.stages().iter().enumerate() {
            // Where stage 0 is gone, data of earlier policies fills gaps as well as it can.
            let known_from = if written.moves > 0 { now - 3600 } else { 0 };
            for (slot, value) in self.engine().values(id, stage, now) {
                if slot < known_from {
                    continue;
                }
                let want = written.expected(&policy, level, slot).unwrap_or(f64::NAN);
                let same = (value - want).abs() < 1e-9 || (value.is_nan() && want.is_nan());
                let age = now - slot.min(now);
                assert!(
                    same,
                    "after {after}: {name} stage {stage} slot {slot} (age {age}): got {value}, want {want}"
                );
            }
        }
    }
}

/// Each step, and then a crash at that very place if `crashing`.
fn run(steps: &[Step], crashing: bool) {
    let mut world = World::new();
    for (nth, step) in steps.iter().enumerate() {
        world.run(step);
        world.check(&format!("step {nth}, {step:?}"));
        if crashing {
            world.crash();
            world.check(&format!("a crash behind step {nth}, {step:?}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_stage_reads_as_the_plain_map_says(steps in proptest::collection::vec(step(), 1..60)) {
        run(&steps, false);
    }

    #[test]
    fn a_crash_behind_any_step_changes_nothing(steps in proptest::collection::vec(step(), 1..20)) {
        run(&steps, true);
    }
}

fn write(metric: usize, age: u32, value: i32) -> Step {
    Step::Write { metric, age, value }
}

fn both_ways(steps: &[Step]) {
    run(steps, false);
    run(steps, true);
}

#[test]
fn a_late_point_is_in_every_stage_at_once_and_after_a_restart() {
    let mut steps: Vec<Step> = (0..50).map(|i| write(0, 3000 - i * 10, i as i32)).collect();
    steps.extend([
        Step::Cut,
        Step::Forward(350),
        Step::Fill,
        Step::Cut,
        write(0, 3200, 40),
        Step::Cut,
        Step::Crash,
        write(0, 3100, 40),
        Step::Crash,
    ]);
    run(&steps, false);
}

#[test]
fn a_point_older_than_stage_0_counts_once_while_its_stage_is_filled_in() {
    // The mark of the hours is behind the point when it comes, and moves over it while the point is in memory.
    both_ways(&[
        write(1, 0, 1),
        Step::Cut,
        Step::Forward(20_000),
        write(1, 5000, 7),
        write(1, 4000, 9),
        Step::Fill,
        Step::Cut,
        Step::Fill,
    ]);
}

#[test]
fn a_point_older_than_stage_0_is_added_to_slots_that_are_not_filled_in_yet() {
    both_ways(&[
        write(1, 0, 1),
        write(1, 10, 2),
        Step::Cut,
        Step::Forward(4000),
        write(1, 4000, 7),
        Step::Cut,
        Step::Fill,
    ]);
}

#[test]
fn a_second_point_older_than_stage_0_reaches_every_coarser_stage_too() {
    both_ways(&[
        write(1, 0, 1),
        Step::Forward(20_000),
        Step::Fill,
        write(1, 12_000, 7),
        Step::Cut,
        write(1, 12_500, 9),
        Step::Cut,
    ]);
}

#[test]
fn a_late_point_that_waits_in_memory_keeps_the_finer_data_of_its_slot() {
    // Three points make a slot of 10 s, three late ones fall into it, and an hour passes before the cut. Were stage 0 dropped
    // meanwhile, the late ones alone would be taken for all of the slot.
    let edge = NOW - NOW % 3600 + 3600;
    both_ways(&[
        Step::Forward(edge - 10 - NOW),
        write(2, 0, 30),
        Step::Forward(1),
        write(2, 0, 31),
        Step::Forward(500),
        Step::Cut,
        Step::Fill,
        write(2, 499, 1),
        write(2, 498, 2),
        Step::Forward(7200),
        Step::Fill,
        Step::Cut,
    ]);
}

#[test]
fn a_stage_that_a_changed_policy_keeps_counts_each_point_once() {
    both_ways(&[
        write(MOVING, 30, 5),
        write(MOVING, 0, 7),
        Step::Move,
        write(MOVING, 0, 8),
        Step::Cut,
        Step::Fill,
    ]);
}

#[test]
fn aggregates_of_an_earlier_policy_do_not_appear_beside_their_own_points() {
    // One point a minute, not at its start: the first slots of the minutes are empty.
    let mut steps: Vec<Step> = (1..20).map(|i| write(MOVING, i * 60 + NOW % 60 - 30, 5)).collect();
    steps.extend([Step::Cut, Step::Fill, Step::Move, Step::Move, Step::Forward(120), Step::Fill]);
    run(&steps, false);
}

#[test]
fn a_deletion_that_only_the_log_has_is_final() {
    let mut world = World::new();
    world.run(&write(0, 0, 1));
    world.run(&Step::Cut);
    let id = world.engine().id(0).unwrap();
    let mut frame = Vec::new();
    encode_deleted(&[id], &mut frame);
    world.die_after_logging(&frame);
    assert_eq!(world.engine().id(0), None);
    // A cut lets the log forget the deletion.
    world.run(&write(1, 0, 1));
    world.run(&Step::Cut);
    world.crash();
    assert_eq!(world.engine().id(0), None, "a deleted metric came back");
    assert!(world.engine().next_id > id, "its id must not be used again");
}

#[test]
fn the_id_of_a_metric_that_was_deleted_before_it_was_recorded_is_not_used_again() {
    run(&[write(0, 0, 1), Step::Delete(0), Step::Cut, Step::Crash, write(3, 0, 2), Step::Cut], false);
}

#[test]
fn a_new_name_that_only_the_log_has_is_kept() {
    let mut world = World::new();
    world.run(&write(0, 0, 1));
    world.run(&Step::Cut);
    let id = world.engine().id(0).unwrap();
    let mut frame = Vec::new();
    encode_renamed(&[(id, new_name(0))], &mut frame);
    world.die_after_logging(&frame);
    world.renamed[0] = std::mem::take(&mut world.written[0]);
    world.check("the replay");
    world.run(&write(0, 0, 2));
    world.run(&Step::Cut);
    world.crash();
    world.check("a cut that removed the record");
}

#[test]
fn a_name_goes_to_another_metric_before_the_next_cut() {
    both_ways(&[
        write(0, 20, 1),
        Step::Rename(0),
        write(0, 10, 2),
        Step::Rename(0),
        write(0, 0, 3),
        Step::Crash,
        Step::Delete(0),
        write(0, 0, 4),
        Step::Cut,
    ]);
}

#[test]
fn erased_slots_are_made_again_at_the_edges_and_stay_erased_after_merges() {
    let mut steps: Vec<Step> = (0..340).map(|i| write(0, 3400 - i * 10, i as i32 % 7)).collect();
    steps.extend([Step::Cut, Step::Forward(190), Step::Fill, Step::Forward(4), Step::Fill]);
    steps.push(Step::Erase { metric: 0, age: 3111, secs: 777 });
    // A point that comes later is stored, and one cut after the other makes a merge due.
    for age in [3000, 2500, 2400, 100, 50, 40] {
        steps.extend([write(0, age, 9), Step::Cut]);
    }
    steps.extend([Step::Tidy, Step::Erase { metric: 0, age: 2600, secs: 300 }, Step::Tidy, Step::Crash]);
    run(&steps, false);
}

#[test]
fn an_erased_slot_stays_erased_under_another_method() {
    let mut world = World::new();
    for i in 0..60 {
        world.run(&write(MOVING, 3000 - i * 10, 5));
    }
    for step in [Step::Cut, Step::Forward(300), Step::Fill] {
        world.run(&step);
    }
    let (now, id) = (world.now, world.engine().id(MOVING).unwrap());
    let points = &world.engine().points;
    let erased = points.erase(&[id], Stretch { from: now - 7200, until: now }).unwrap();
    assert_eq!(erased[0].points, 60);
    assert!(erased[0].aggregates >= 10, "{erased:?}");
    let policy = points.intern_policy(&"360*10s:600*60s|max|0".parse().unwrap(), now).unwrap();
    points.move_to(&[(id, policy)], now).unwrap();
    let policy: Policy = "360*10s:600*60s|max|0".parse().unwrap();
    for &stage in policy.retention.stages() {
        let values = world.engine().values(id, stage, now);
        assert!(values.iter().all(|(_, value)| value.is_nan()), "{stage}: {values:?}");
    }
}
