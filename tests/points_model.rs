//! The points of metrics against a plain map: random writes, late points, cuts, fills, merges, crashes and restarts, and
//! after each step every stage reads as the map says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use plumbago::log::{Log, Record, replay};
use plumbago::rollup::Points;
use plumbago::store::embedded::Embedded;
use plumbago_model::{Cancel, MetricId, MetricRecord, Partial, Point, Policy, PolicyId, Span};
use proptest::prelude::*;

const NOW: u32 = 1_700_000_000;
const METRICS: u32 = 3;
const POLICIES: [&str; 3] =
    ["360*10s:600*60s:48*3600s|average|0", "360*10s:600*60s:48*3600s|sum|0.5", "3600*1s:2000*10s|max|0"];

#[derive(Clone, Debug)]
enum Step {
    Write {
        metric: u32,
        age: u32,
        value: i32,
    },
    Cut,
    Fill,
    Tidy,
    /// The process dies: what was accepted must be there afterwards.
    Crash,
    Forward(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..METRICS, 0u32..3500, -50i32..50).prop_map(|(metric, age, value)| Step::Write { metric, age, value }),
        2 => Just(Step::Cut),
        2 => Just(Step::Fill),
        1 => Just(Step::Tidy),
        1 => Just(Step::Crash),
        2 => (1u32..400).prop_map(Step::Forward),
    ]
}

struct Engine {
    store: Embedded,
    points: Points,
}

impl Engine {
    fn open(dir: &Path, now: u32) -> Self {
        let store = Embedded::open(dir).unwrap();
        let floor = store.points.snapshot().position().log_floor;
        let log = Log::open(&store.log_dir, floor).unwrap();
        let points = Points::new(Arc::clone(&store.points), Arc::clone(&store.metrics), log, 1_000_000);
        for (id, policy) in store.metrics.policies().unwrap() {
            points.restore_policy(id, policy, now);
        }
        store.metrics.load(&mut |m| points.restore_metric(&m)).unwrap();
        let found = replay(&store.log_dir, floor, |record| match record {
            Record::Points { accepted, points: batch } => points.replay(&batch, accepted),
            Record::Policies(policies) => {
                policies.into_iter().for_each(|(id, p)| points.replay_policy(id, p, now))
            }
            Record::Metrics(metrics) => {
                for (id, policy, name) in metrics {
                    let record = MetricRecord { id, name, policies: vec![policy], span: Span::EMPTY };
                    points.restore_metric(&record);
                    points.replay_created(record);
                }
            }
            Record::Deleted(_) => {}
        });
        assert!(found.unwrap().damage.is_empty());
        Self { store, points }
    }
}

/// What was written, by metric and stage-0 slot.
type Model = BTreeMap<(u32, u32), f64>;

fn expected(model: &Model, metric: u32, policy: &Policy, level: usize, slot: u32) -> Option<f64> {
    let step = policy.retention.stages()[level].step_secs;
    let mut points = model.range((metric, slot)..(metric, slot + step)).map(|(_, &v)| v);
    if level == 0 {
        return points.next_back();
    }
    let partial = points.fold(Partial::EMPTY, |acc, v| policy.aggregator.merge(acc, Partial::point(v)));
    policy.aggregator.finish(partial, policy.slots_at(level), policy.x_files_factor)
}

/// Every stage of every metric, read as a query reads it, against the map.
fn check(engine: &Engine, model: &Model, policies: &[Policy], now: u32) {
    for (metric, policy) in policies.iter().enumerate() {
        for (level, stage) in policy.retention.stages().iter().enumerate() {
            // The window that makes a query choose exactly this stage.
            let from = i64::from(now) - stage.span_secs() as i64;
            let got = engine.points.fetch(
                &[MetricId(metric as u32)],
                from,
                i64::from(now),
                i64::from(now),
                &Cancel::never(),
            );
            let got = got.unwrap().remove(0).unwrap();
            assert_eq!(got.range.step, stage.step_secs);
            for (at, value) in got.values.iter().enumerate() {
                let slot = got.range.time(at);
                let want = expected(model, metric as u32, policy, level, slot).unwrap_or(f64::NAN);
                let same = value.to_bits() == want.to_bits()
                    || (value - want).abs() < 1e-9
                    || (value.is_nan() && want.is_nan());
                assert!(
                    same,
                    "metric {metric} stage {stage} slot {slot} (age {}): got {value}, want {want}",
                    now - slot
                );
            }
        }
    }
}

fn run(steps: Vec<Step>) {
    let dir = tempfile::tempdir().unwrap();
    let policies: Vec<Policy> = POLICIES.iter().map(|p| p.parse().unwrap()).collect();
    let mut now = NOW;
    let mut engine = Engine::open(dir.path(), now);
    for (i, policy) in policies.iter().enumerate() {
        let id = engine.points.intern_policy(policy, now).unwrap();
        assert_eq!(id, PolicyId(i as u32));
        engine.points.create(&[(MetricId(i as u32), id, &format!("metric.m{i}"))]).unwrap();
    }
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Write { metric, age, value } => {
                let timestamp = now - age;
                let point = Point { timestamp, value: f64::from(value) };
                let done = engine.points.append(&[(MetricId(metric), point)], now).unwrap();
                assert_eq!(done.stored, 1);
                let slot = policies[metric as usize].retention.raw().floor(timestamp);
                model.insert((metric, slot), point.value);
            }
            Step::Cut => {
                engine.points.cut().unwrap();
            }
            Step::Fill => {
                engine.points.fill(now).unwrap();
                engine.points.expire(now).unwrap();
            }
            Step::Tidy => {
                engine.store.points.tidy().unwrap();
            }
            Step::Crash => {
                drop(engine);
                engine = Engine::open(dir.path(), now);
            }
            Step::Forward(secs) => now += secs,
        }
        check(&engine, &model, &policies, now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_stage_reads_as_the_plain_map_says(steps in proptest::collection::vec(step(), 1..60)) {
        run(steps);
    }
}

#[test]
fn a_late_point_is_in_every_stage_at_once_and_after_a_restart() {
    let late = |age| Step::Write { metric: 0, age, value: 40 };
    let mut steps: Vec<Step> =
        (0..50).map(|i| Step::Write { metric: 0, age: 3000 - i * 10, value: i as i32 }).collect();
    steps.extend([
        Step::Cut,
        Step::Forward(350),
        Step::Fill,
        Step::Cut,
        late(3200),
        Step::Cut,
        Step::Crash,
        late(3100),
        Step::Crash,
    ]);
    run(steps);
}
