//! The embedded store under the contract, and what a damaged directory does.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use plumbago::store::embedded::{Embedded, inspect};
use plumbago::store::{Column, EventStore, MemoStore, MetricStore, PointStore, Position, StoreError};
use plumbago_model::{Aggregator, MetricId, SlotRange};

use super::{Subject, events, memos, metrics, points};

struct OnDisk {
    dir: tempfile::TempDir,
    store: Option<Embedded>,
}

impl OnDisk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Some(Embedded::open(dir.path()).unwrap());
        Self { dir, store }
    }
}

impl Subject for OnDisk {
    fn points(&self) -> &dyn PointStore {
        &*self.store.as_ref().unwrap().points
    }

    fn metrics(&self) -> &dyn MetricStore {
        &*self.store.as_ref().unwrap().metrics
    }

    fn events(&self) -> &dyn EventStore {
        &*self.store.as_ref().unwrap().events
    }

    fn memos(&self) -> &dyn MemoStore {
        &*self.store.as_ref().unwrap().memos
    }

    fn reopen(&mut self) {
        self.store = None;
        // Other tests here start programs. A child that was just forked has the lock too, until its program begins.
        let give_up = Instant::now() + Duration::from_secs(30);
        self.store = loop {
            match Embedded::open(self.dir.path()) {
                Err(StoreError::InUse { .. }) if Instant::now() < give_up => std::thread::yield_now(),
                opened => break Some(opened.unwrap()),
            }
        };
    }
}

macro_rules! claims {
    ($module:ident: $($claim:ident,)*) => {
        $(#[test] fn $claim() { $module::$claim(OnDisk::new()); })*
    };
}

super::every_claim! { claims }

#[test]
fn a_second_opening_is_refused_with_the_path() {
    let first = OnDisk::new();
    let error = Embedded::open(first.dir.path()).err().unwrap();
    assert!(matches!(error, StoreError::InUse { .. }));
    assert!(error.to_string().contains(first.dir.path().to_str().unwrap()), "{error}");
}

const STAGE: &str = "8640*10s_0";

/// Cuts ten values of each metric, from `first` on. What a slot holds follows from metric and time.
fn cut(store: &OnDisk, number: u64, metrics: &[u32], first: u32) {
    let times: Vec<u32> = (0..10).map(|i| first + i * 10).collect();
    let mut cut = store.points().begin().unwrap();
    for &metric in metrics {
        let values = times.iter().map(|&time| value(metric, time)).collect();
        let column = Column { times: times.clone(), values, counts: Vec::new() };
        cut.put(STAGE.parse().unwrap(), MetricId(metric), Aggregator::Average, &column).unwrap();
    }
    cut.commit(Position { cut: number, ..Position::default() }).unwrap();
}

fn value(metric: u32, time: u32) -> f64 {
    f64::from(time) + f64::from(metric) / 4.0
}

/// Two metrics, ten values, one block; gives its path.
fn one_block(store: &OnDisk) -> PathBuf {
    cut(store, 1, &[1, 2], 0);
    store.dir.path().join("points/10s-8640-raw/0/1-1.blk")
}

/// The values of a metric from `first` on, which are right if they are there at all.
fn values(store: &Embedded, metric: u32, first: u32) -> usize {
    let range = SlotRange::between(first, first + 100, 10);
    let asked = [(MetricId(metric), Aggregator::Average)];
    let window = store.points.snapshot().read(STAGE.parse().unwrap(), &asked, range).unwrap().remove(0);
    let known = window.values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    known.inspect(|(at, found)| assert_eq!(**found, value(metric, window.range.time(*at)))).count()
}

/// 8. A damaged file loses what it held and says so; it never yields a wrong value, and never stops the rest from being read.
#[test]
fn a_flipped_byte_anywhere_in_a_block_never_yields_a_wrong_value_and_never_stops_the_rest() {
    let mut store = OnDisk::new();
    let path = one_block(&store);
    // A block beside it, one over it for another metric, and one in another partition.
    cut(&store, 2, &[1, 3], 200);
    cut(&store, 3, &[4], 0);
    cut(&store, 4, &[1, 2], 1_000_000);
    store.store = None;
    let good = std::fs::read(&path).unwrap();
    let mut lost = 0;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x04;
        std::fs::write(&path, &bad).unwrap();
        let report = inspect::fsck(&store.dir.path().into(), |_, _| ()).unwrap();
        assert!(!report.problems.is_empty(), "fsck does not see byte {at}");
        let opened = Embedded::open(store.dir.path()).unwrap_or_else(|error| panic!("byte {at}: {error}"));
        lost += 20 - values(&opened, 1, 0) - values(&opened, 2, 0);
        for (metric, first) in [(1, 200), (3, 200), (4, 0), (1, 1_000_000), (2, 1_000_000)] {
            assert_eq!(values(&opened, metric, first), 10, "byte {at} takes metric {metric} with it");
        }
    }
    assert!(lost > 0, "no damage was ever noticed in reading");
    std::fs::write(&path, &good).unwrap();
    assert_eq!(inspect::fsck(&store.dir.path().into(), |_, _| ()).unwrap().problems, [""; 0]);
    let opened = Embedded::open(store.dir.path()).unwrap();
    assert_eq!(values(&opened, 1, 0) + values(&opened, 2, 0), 20);
}

#[test]
fn leftovers_of_a_crash_are_swept_up_and_strangers_left_alone() {
    let mut store = OnDisk::new();
    let path = one_block(&store);
    let dir = path.parent().unwrap().to_owned();
    std::fs::copy(&path, dir.join("7-7.blk")).unwrap();
    std::fs::write(dir.join("2-2.blk.tmp"), b"half a block").unwrap();
    store.store = None;
    // Its header says cut 1, which a block in force covers: a merge whose sources were not removed yet.
    store.reopen();
    assert!(!dir.join("7-7.blk").exists());
    assert!(!dir.join("2-2.blk.tmp").exists());
    std::fs::write(dir.join("note.txt"), b"mine").unwrap();
    store.reopen();
    assert!(dir.join("note.txt").exists());
}

#[test]
fn dump_shows_the_values_of_a_block() {
    let store = OnDisk::new();
    let mut text = Vec::new();
    inspect::dump(&one_block(&store), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\n1 10 10.25\n") && text.contains("\n2 90 90.5\n"), "{text}");
    assert!(inspect::dump(&store.dir.path().join("LOCK"), &mut Vec::new()).is_err());
}
