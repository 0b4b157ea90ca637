//! A small data directory with something of everything, and what a start shows of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use plumbago::disk::{Folder, Overlay, real};
use plumbago::rollup::{Names, Opened, Points};
use plumbago::store::embedded::{Embedded, inspect};
use plumbago_model::{Cancel, Event, MemoPlace, MetricId, Partial, Point, Policy, Stretch};

/// Not a multiple of any step here.
pub(super) const NOW: u32 = 1_700_000_123;

const POLICIES: [&str; 3] =
    ["360*10s:600*60s:48*3600s|average|0", "360*10s:600*60s|sum|0", "600*1s:360*10s:100*600s|max|0"];
const MEMO: MemoPlace<'_> = MemoPlace { keeper: ".", service: "s", service_key: "k", key: "m" };

/// What an index would know.
#[derive(Default)]
pub(super) struct Known(HashMap<String, MetricId>);

impl Names for Known {
    fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn add(&mut self, id: MetricId, name: &str) {
        self.0.insert(name.to_owned(), id);
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

/// An open store.
pub(super) struct Open {
    pub(super) store: Embedded,
    pub(super) points: Points,
    known: Known,
    next: u32,
    /// Points that were put here: metric, time, value, and whether it was replaced or erased since.
    sent: Vec<(MetricId, u32, f64, bool)>,
    /// What the start said, one line each.
    pub(super) said: Vec<String>,
}

impl Open {
    pub(super) fn of(dir: &Folder) -> Result<Self, String> {
        plumbago::log::check_formats(&dir.join("log")).map_err(|error| error.to_string())?;
        let store = Embedded::open_in(dir).map_err(|error| error.to_string())?;
        let mut known = Known::default();
        let (blocks, catalogue) = (Arc::clone(&store.points), Arc::clone(&store.metrics));
        let Opened { points, next_id, damage, .. } =
            Points::open(blocks, catalogue, &store.log_dir, 1_000_000, NOW, &mut known)
                .map_err(|error| error.to_string())?;
        let said = store.damage().iter().cloned().chain(damage).collect();
        Ok(Self { store, points, known, next: next_id.0, sent: Vec::new(), said })
    }

    fn create(&mut self, name: &str, policy: usize) -> MetricId {
        let id = MetricId(self.next);
        self.next += 1;
        let policy: Policy = POLICIES[policy].parse().unwrap();
        let policy = self.points.intern_policy(&policy, NOW).unwrap();
        self.points.create(&[(id, policy, name)], NOW).unwrap();
        self.known.add(id, name);
        id
    }

    /// Writes a point under a name, cuts, merges, and fills.
    pub(super) fn go_on(&mut self, name: &str) {
        let id = self.create(name, 0);
        self.put(id, &[10, 20], 5.0);
        self.points.cut().unwrap();
        self.store.points.tidy().unwrap();
        self.points.fill(NOW).unwrap();
        self.points.expire(NOW).unwrap();
    }

    fn put(&mut self, id: MetricId, ages: &[u32], value: f64) {
        let point = |age: &u32| (id, Point { timestamp: NOW - age, value: value + f64::from(*age) });
        let points: Vec<(MetricId, Point)> = ages.iter().map(point).collect();
        for (id, point) in &points {
            let same = self.sent.iter_mut().filter(|sent| sent.0 == *id && sent.1 == point.timestamp);
            same.for_each(|sent| sent.3 = true);
            self.sent.push((*id, point.timestamp, point.value, false));
        }
        self.points.append(&points, NOW).unwrap();
    }

    /// Everything that queries can see.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for (name, &id) in &self.known.0 {
            let Some((policy, _)) = self.points.state(id) else { continue };
            let policy = self.points.policies().get(policy).unwrap();
            let stages = policy.retention.stages().iter().map(|stage| {
                let from = i64::from(NOW) - stage.span_secs() as i64;
                let got = self.points.fetch(&[id], from, NOW.into(), NOW.into(), &Cancel::never());
                let got = got.unwrap().remove(0).unwrap();
                let slots = got.values.iter().enumerate().map(|(at, &value)| (got.range.time(at), value));
                slots.filter(|(_, value)| !value.is_nan()).collect()
            });
            let metric = Metric { policy: Policy::clone(&policy), stages: stages.collect() };
            seen.metrics.insert(name.clone(), metric);
        }
        let mut visit = |_, event: Event| {
            seen.events.push(format!("{event:?}"));
            std::ops::ControlFlow::Continue(())
        };
        self.store.events.scan(0..=NOW, &mut visit).unwrap();
        seen.memo = self.store.memos.read(MEMO).unwrap();
        seen
    }
}

/// A metric as queries see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric {
    policy: Policy,
    /// Slots with values, of each stage.
    stages: Vec<BTreeMap<u32, f64>>,
}

/// What queries see of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    metrics: BTreeMap<String, Metric>,
    events: Vec<String>,
    memo: Option<String>,
}

/// What is true about a store.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) now: Seen,
    /// The points that are there, by name.
    sent: Sent,
    /// And those that were there, but were replaced or erased since.
    outdated: Sent,
}

/// Times and values, by name.
type Sent = BTreeMap<String, Vec<(u32, f64)>>;

impl Seen {
    /// What is seen here that is not true. Less than the truth is no lie. Where a whole block is gone, older ones may show what it had
    /// replaced: `with_outdated`.
    pub(super) fn lies(&self, truth: &Truth, with_outdated: bool) -> Vec<String> {
        let mut lies = Vec::new();
        for (name, metric) in &self.metrics {
            let points = |sent: &Sent| sent.get(name).cloned().unwrap_or_default();
            let mut sent = points(&truth.sent);
            sent.extend(points(&truth.outdated).into_iter().filter(|_| with_outdated));
            match truth.now.metrics.get(name) {
                Some(good) => metric.lies(good, &sent, |lie| lies.push(format!("{name}: {lie}"))),
                None => lies.push(format!("{name} is no metric")),
            }
        }
        lies.extend(self.events.iter().filter(|event| !truth.now.events.contains(event)).cloned());
        if self.memo.is_some() && self.memo != truth.now.memo {
            lies.push(format!("memo {:?}", self.memo));
        }
        lies
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.metrics.remove(name);
        self
    }
}

impl Metric {
    fn lies(&self, good: &Metric, sent: &[(u32, f64)], mut lie: impl FnMut(String)) {
        if self.policy != good.policy {
            return lie(format!("policy {}", self.policy));
        }
        for (level, (seen, good)) in self.stages.iter().zip(&good.stages).enumerate() {
            for (&slot, &value) in seen {
                if good.get(&slot) != Some(&value) && !self.is_of_some(level, slot, value, sent) {
                    lie(format!("level {level} slot {slot}: {value}, not {:?}", good.get(&slot)));
                }
            }
        }
    }

    /// Is a value what some of the points make that were sent into its slot? The others may be lost. A slot of stage 0 is one point.
    fn is_of_some(&self, level: usize, slot: u32, value: f64, sent: &[(u32, f64)]) -> bool {
        let step = self.policy.retention.stages()[level].step_secs;
        let inside: Vec<f64> = sent
            .iter()
            .filter(|(time, _)| (slot..slot + step).contains(time))
            .map(|(_, value)| *value)
            .collect();
        if level == 0 {
            return inside.contains(&value);
        }
        (1..1_u32 << inside.len()).any(|chosen| {
            let some = inside.iter().enumerate().filter(|(nth, _)| chosen >> nth & 1 == 1);
            let partial = some.fold(Partial::EMPTY, |all, (_, one)| {
                self.policy.aggregator.merge(all, Partial::point(*one))
            });
            self.policy.aggregator.finish(partial, self.policy.slots_at(level), self.policy.x_files_factor)
                == Some(value)
        })
    }
}

/// Writes a data directory whose metrics have this prefix, and gives what is in it. The last points are in the log alone.
pub(super) fn write(dir: &Path, prefix: &str) -> Truth {
    let mut open = Open::of(&dir.into()).unwrap();
    let value = prefix.len() as f64;
    let ids: Vec<MetricId> = (0..3)
        .flat_map(|policy| (0..2).map(move |nth| (policy, nth)))
        .map(|(policy, nth)| open.create(&format!("{prefix}.p{policy}.m{nth}"), policy))
        .collect();
    let tagged = open.create(&format!("{prefix};host=a;dc=b"), 0);
    let deleted = open.create(&format!("{prefix}.deleted"), 0);
    let renamed = open.create(&format!("{prefix}.old"), 1);
    for &id in ids.iter().chain([&tagged, &deleted, &renamed]) {
        open.put(id, &[30, 50, 400, 590, 3000, 7000, 40_000], value + f64::from(id.0));
    }
    open.points.cut().unwrap();
    // What later blocks replace, erase and hide must not come back.
    open.put(ids[0], &[30, 590], 1000.0 + value);
    open.put(ids[2], &[30, 3000], 2000.0 + value);
    open.points.delete(&[deleted]).unwrap();
    open.points.rename(&[(renamed, format!("{prefix}.new"))]).unwrap();
    open.known.rename(renamed, &format!("{prefix}.new"));
    open.known.remove(deleted);
    open.points.cut().unwrap();
    open.points.fill(NOW).unwrap();
    open.points.erase(&[ids[1]], Stretch { from: NOW - 600, until: NOW - 40 }).unwrap();
    open.sent.iter_mut().filter(|point| point.0 == ids[1]).for_each(|point| {
        point.3 |= (NOW - 600..NOW - 40).contains(&point.1);
    });
    open.points.cut().unwrap();
    let event = Event {
        when: NOW - 60,
        what: format!("{prefix} deploy"),
        tags: vec!["release".to_owned()],
        data: "v1".to_owned(),
    };
    open.store.events.add(&event).unwrap();
    open.store.memos.write(MEMO, prefix, 10).unwrap();
    // These are not cut.
    let late = open.create(&format!("{prefix}.late"), 1);
    for &id in ids.iter().chain([&tagged, &late]) {
        open.put(id, &[5, 1200], 3000.0 + value);
    }
    open.points.sync().unwrap();
    let (mut sent, mut outdated) = (Sent::new(), Sent::new());
    for (id, time, value, is_outdated) in &open.sent {
        let Some((name, _)) = open.known.0.iter().find(|(_, known)| *known == id) else { continue };
        let list = if *is_outdated { &mut outdated } else { &mut sent };
        list.entry(name.clone()).or_default().push((*time, *value));
    }
    drop(open);
    let again = Open::of(&Folder::on(Overlay::over(real()), dir)).unwrap();
    assert_eq!(again.said, [""; 0]);
    Truth { now: again.seen(), sent, outdated }
}

/// What `plumbago fsck` says of a data directory, problems and remarks.
pub(super) fn checked(dir: &Folder) -> Vec<String> {
    let report = match inspect::fsck(dir, |_, _| ()) {
        Ok(report) => report,
        Err(error) => return vec![error.to_string()],
    };
    let found = plumbago::log::replay_of(&dir.join("log"), report.store, report.log_floor, |_| ());
    let mut lines = report.problems;
    lines.extend(report.remarks);
    match found {
        Ok(found) => lines.extend(found.damage.into_iter().map(|damage| damage.detail)),
        Err(error) => lines.push(error.to_string()),
    }
    lines
}
