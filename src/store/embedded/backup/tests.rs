//! Backups of a store that changes meanwhile.

use std::path::Path;

use super::super::Embedded;
use super::*;
use crate::disk;
use crate::store::{Column, Position};
use plumbago_model::{Aggregator, MetricId, MetricRecord, Policy, PolicyId, SlotRange, Span, Stage};

fn stage() -> Stage {
    policy().retention.raw()
}

fn policy() -> Policy {
    "8640*10s|average|0.5".parse().unwrap()
}

/// Commits one slot of metric 0 as cut `number`.
fn commit(store: &Embedded, number: u64) {
    let mut cut = store.points.begin().unwrap();
    let column = Column { times: vec![number as u32 * 10], values: vec![number as f64], counts: Vec::new() };
    cut.put(stage(), MetricId(0), Aggregator::Average, &column).unwrap();
    cut.commit(Position { cut: number, log_floor: number, marks: Vec::new() }).unwrap();
}

fn store(dir: &Path, cuts: u64) -> Embedded {
    let store = Embedded::open(dir).unwrap();
    store.metrics.add_policies(&[(PolicyId(0), policy())]).unwrap();
    let record =
        MetricRecord { id: MetricId(0), name: "a".into(), policies: vec![PolicyId(0)], span: Span::EMPTY };
    store.metrics.create(&[record]).unwrap();
    (1..=cuts).for_each(|number| commit(&store, number));
    store
}

fn values(dir: &Path) -> Vec<f64> {
    let store = Embedded::open(dir).unwrap();
    let range = SlotRange { start: 0, step: 10, len: 100 };
    let windows =
        store.points.snapshot().read(stage(), &[(MetricId(0), Aggregator::Average)], range).unwrap();
    windows[0].values.iter().copied().filter(|value| !value.is_nan()).collect()
}

fn restored(backup: &Path, into: &Path) -> Restored {
    let headway = Headway::default();
    Verified::new(&backup.into(), &headway).unwrap().restore(&into.into(), &headway).unwrap()
}

#[test]
fn a_backup_is_the_store_as_of_its_commit_and_the_next_adds_what_is_new() {
    let root = tempfile::tempdir().unwrap();
    let [data, backup, first, second] =
        ["data", "backup", "first", "second"].map(|name| root.path().join(name));
    let store = store(&data, 3);
    let made = store.back_up(&backup, &Headway::default()).unwrap();
    assert_eq!((made.number, made.files, made.linked, made.copied, made.kept), (1, 4, 3, 1, 0));
    assert_eq!(restored(&backup, &first).metrics, 1);
    commit(&store, 4);
    let made = store.back_up(&backup, &Headway::default()).unwrap();
    // The catalogue of the first backup is removed.
    assert_eq!((made.number, made.linked, made.copied, made.kept, made.removed), (2, 1, 1, 3, 1));
    // A merge replaces the four blocks by one, and they stay in the backup until the next.
    store.points.tidy().unwrap();
    restored(&backup, &second);
    assert_eq!(values(&first), [1.0, 2.0, 3.0]);
    assert_eq!(values(&second), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_block_that_was_merged_away_is_still_copied() {
    let root = tempfile::tempdir().unwrap();
    let [data, backup, target] = ["data", "backup", "target"].map(|name| root.path().join(name));
    let store = store(&data, 5);
    let still = store.blocks.hold_still().unwrap();
    assert!(store.points.tidy().unwrap() > 0, "nothing was merged, so this shows nothing");
    let place = Place::take(&(&*backup).into(), &data).unwrap();
    let headway = Headway::default();
    let done = BackedUp { number: 1, ..BackedUp::default() };
    let mut work = Work { place: &place, headway: &headway, known: HashMap::new(), done, files: Vec::new() };
    work.run(&store.blocks, &still).unwrap();
    assert_eq!((work.done.linked, work.done.copied), (0, 6), "five blocks and the catalogue");
    let header = Header::new(1, 0, still.state.position.cut, Vec::new());
    Manifest { header, files: work.files }.write(&(&*backup).into()).unwrap();
    drop(place);
    restored(&backup, &target);
    assert_eq!(values(&target), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn what_is_in_the_way_is_refused_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let store = store(&data, 1);
    let refusal = |dir: &Path| store.back_up(dir, &Headway::default()).unwrap_err().to_string();
    assert!(refusal(&data.join("backup")).contains("inside of the data directory"));
    assert!(!data.join("backup").exists());
    let other = root.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "dear").unwrap();
    assert!(refusal(&other).contains("`letter.txt`"));

    let backup = root.path().join("backup");
    store.back_up(&backup, &Headway::default()).unwrap();
    let held = Place::take(&(&*backup).into(), &data).unwrap();
    assert!(refusal(&backup).contains("another backup or restore is using"));
    drop(held);
    let verified = Verified::new(&(&*backup).into(), &Headway::default()).unwrap();
    let error = verified.restore(&(&*other).into(), &Headway::default()).unwrap_err().to_string();
    assert!(error.contains("is not empty (`letter.txt`)"), "{error}");
    assert!(matches!(verified.restore(&(&*data).into(), &Headway::default()), Err(StoreError::Refused(_))));
}

#[test]
fn an_interrupted_restore_is_not_opened_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let [data, backup, target] = ["data", "backup", "target"].map(|name| root.path().join(name));
    let store = store(&data, 3);
    store.back_up(&backup, &Headway::default()).unwrap();
    let verified = Verified::new(&(&*backup).into(), &Headway::default()).unwrap();
    let stopped = Headway::default();
    stopped.stop();
    assert!(verified.restore(&(&*target).into(), &stopped).is_err());
    // One file was written before the interruption.
    let entry = &verified.manifest.files[0];
    let disk = disk::real();
    let source = disk.open(&backup.join(&entry.file), Open::Read).unwrap();
    file::copy(&*source, &*disk, &target.join(&entry.path), entry.modified_ns, &Headway::default()).unwrap();
    let error = Embedded::open(&target).err().unwrap().to_string();
    assert!(error.contains("was not finished"), "{error}");
    let restored = verified.restore(&(&*target).into(), &Headway::default()).unwrap();
    assert_eq!(restored.files, 3, "four files, and one of them was there");
    assert_eq!(values(&target), [1.0, 2.0, 3.0]);
}

#[test]
fn a_backup_of_another_history_keeps_nothing_of_the_same_name() {
    let root = tempfile::tempdir().unwrap();
    let [one, two, backup, target] = ["one", "two", "backup", "target"].map(|name| root.path().join(name));
    drop({
        let store = store(&one, 2);
        store.back_up(&backup, &Headway::default()).unwrap();
        store
    });
    let other = store(&two, 1);
    let mut cut = other.points.begin().unwrap();
    let column = Column { times: vec![20], values: vec![7.0], counts: Vec::new() };
    cut.put(stage(), MetricId(0), Aggregator::Average, &column).unwrap();
    cut.commit(Position { cut: 2, log_floor: 2, marks: Vec::new() }).unwrap();
    let made = other.back_up(&backup, &Headway::default()).unwrap();
    assert_eq!((made.kept, made.linked, made.removed), (0, 2, 3));
    restored(&backup, &target);
    assert_eq!(values(&target), [1.0, 7.0]);
}
