//! The embedded store under the contract, and what a damaged directory does.

use std::path::PathBuf;

use plumbago::store::embedded::{Embedded, inspect};
use plumbago::store::{Column, EventStore, MetricStore, PointStore, Position, StoreError};
use plumbago_model::{Aggregator, MetricId, SlotRange};

use super::{Subject, events, metrics, points};

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

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(Embedded::open(self.dir.path()).unwrap());
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

/// Two metrics, ten values, one block; gives its path.
fn one_block(store: &OnDisk) -> PathBuf {
    let stage = "8640*10s_0".parse().unwrap();
    let times: Vec<u32> = (0..10).map(|i| i * 10).collect();
    let values: Vec<f64> = times.iter().map(|&t| f64::from(t) + 0.25).collect();
    let mut cut = store.points().begin().unwrap();
    for metric in [1, 2] {
        let column = Column { times: times.clone(), values: values.clone(), counts: Vec::new() };
        cut.put(stage, MetricId(metric), Aggregator::Average, &column).unwrap();
    }
    cut.commit(Position { cut: 1, ..Position::default() }).unwrap();
    store.dir.path().join("points/10s-8640-raw/0/1-1.blk")
}

/// 8. A damaged file never yields a wrong value and never stops the rest.
#[test]
fn a_flipped_byte_anywhere_in_a_block_never_yields_a_wrong_value() {
    let mut store = OnDisk::new();
    let path = one_block(&store);
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x04;
        std::fs::write(&path, &bad).unwrap();
        store.store = None;
        // A flipped version number is refused as such; everything else opens.
        let Ok(opened) = Embedded::open(store.dir.path()) else { continue };
        let range = SlotRange::between(0, 100, 10);
        let asked = [(MetricId(1), Aggregator::Average), (MetricId(2), Aggregator::Average)];
        for window in opened.points.snapshot().read("8640*10s_0".parse().unwrap(), &asked, range).unwrap() {
            for (slot, value) in window.values.iter().enumerate() {
                assert!(
                    value.is_nan() || *value == slot as f64 * 10.0 + 0.25,
                    "byte {at}: slot {slot} is {value}"
                );
            }
        }
        drop(opened);
        let report = inspect::fsck(store.dir.path(), |_, _| ()).unwrap();
        assert!(!report.problems.is_empty(), "fsck does not see byte {at}");
    }
    std::fs::write(&path, &good).unwrap();
    assert_eq!(inspect::fsck(store.dir.path(), |_, _| ()).unwrap().problems, [""; 0]);
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
    assert!(text.contains("\n1 10 10.25\n") && text.contains("\n2 90 90.25\n"), "{text}");
    assert!(inspect::dump(&store.dir.path().join("LOCK"), &mut Vec::new()).is_err());
}
