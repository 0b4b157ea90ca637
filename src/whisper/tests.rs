//! Files as a whole: written, read back, and read from a fixture.

use std::fs;
use std::path::Path;

use plumbago_model::{Aggregator, Dialect, Point, Policy, Retention};
use proptest::prelude::*;

use super::*;

/// A retention, and for each of its stages which slots of the present round have a point.
fn series() -> impl Strategy<Value = (Retention, u32, Vec<Vec<bool>>)> {
    let ratios = proptest::collection::vec((2u32..8, 1u32..20), 0..3);
    let fine = (1u32..70, 8u32..40, ratios);
    let retention = fine.prop_map(|(step, slots, ratios)| {
        let mut pairs = vec![(step, slots)];
        let (mut step, mut slots) = (step, slots);
        for (ratio, more) in ratios {
            (step, slots) = (step * ratio, slots.div_ceil(ratio) + more + 8);
            pairs.push((step, slots));
        }
        Retention::new(pairs).unwrap()
    });
    (retention, 1_000_000u32..4_000_000_000).prop_flat_map(|(retention, now)| {
        let stages = retention.stages().iter();
        let slots: Vec<_> =
            stages.map(|stage| proptest::collection::vec(any::<bool>(), stage.points as usize)).collect();
        (Just(retention), Just(now), slots)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read((retention, now, slots) in series(), method in 0usize..8, factor in 0u8..=10) {
        let policy = Policy {
            retention: retention.clone(),
            aggregator: Aggregator::ALL[method],
            x_files_factor: f64::from(factor) / 10.0,
            dialect: Dialect::Carbon,
        };
        let archives: Vec<Vec<Point>> = retention
            .stages()
            .iter()
            .zip(&slots)
            .map(|(stage, slots)| {
                let oldest = stage.floor(now) - (stage.points - 1) * stage.step_secs;
                let times = (0..).zip(slots).filter(|(_, has)| **has).map(|(at, _)| oldest + at * stage.step_secs);
                times.map(|timestamp| Point { timestamp, value: f64::from(timestamp) / 7.0 }).collect()
            })
            .collect();
        let bytes = encode(&policy, &archives.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        let back = parse(&bytes, now).unwrap();
        prop_assert_eq!(&back.header.retention, &policy.retention);
        prop_assert_eq!(back.header.method, Method::Known(policy.aggregator));
        prop_assert_eq!(back.header.x_files_factor, policy.x_files_factor);
        for (found, wanted) in back.archives.iter().zip(&archives) {
            prop_assert_eq!(&found.points, wanted);
            prop_assert_eq!(found.ahead, 0);
        }

        // Nothing is lost and nothing is there twice.
        let finest = &back.archives[0].points.clone();
        let stretches = back.stretches();
        let total = stretches[0].points.len() + stretches[0].covered.len();
        prop_assert_eq!(total, finest.len());
        for (level, coarse) in stretches.iter().enumerate().skip(1) {
            for slot in &coarse.points {
                let end = slot.timestamp + coarse.stage.step_secs;
                let inside = |point: &&Point| (slot.timestamp..end).contains(&point.timestamp);
                let finer = stretches[..level].iter().flat_map(|stretch| &stretch.points);
                prop_assert_eq!(finer.filter(inside).count(), 0);
            }
        }
    }
}

#[test]
fn a_file_is_replaced_in_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/c.wsp");
    let policy: Policy = "6*10s:6*60s|max|0.5".parse().unwrap();
    let point = |timestamp| Point { timestamp, value: 2.5 };
    write(&path, &policy, &[&[point(1000)], &[point(960)]]).unwrap();
    write(&path, &policy, &[&[point(1010)], &[]]).unwrap();
    let series = Reader::new().read(&path, 1015).unwrap();
    assert_eq!(series.archives[0].points, [point(1010)]);
    assert_eq!(series.archives[1].points, []);
    let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing unfinished is left");

    let blocked = directory.path().join("a/b");
    let error = write(&blocked, &policy, &[&[], &[]]).unwrap_err().to_string();
    assert!(error.contains("rename a file to") && error.contains("a/b"), "{error}");
    assert_eq!(fs::read_dir(directory.path().join("a")).unwrap().count(), 1, "nothing unfinished is left");
}

#[test]
fn a_large_file_is_read_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.wsp");
    let policy: Policy = "400000*1s:500*3600s|sum|0".parse().unwrap();
    let last = 1_700_000_000u32;
    let fine: Vec<Point> = (last - 399_999..=last)
        .filter(|t| t % 7 != 0)
        .map(|timestamp| Point { timestamp, value: 1.0 })
        .collect();
    let coarse = [Point { timestamp: last - last % 3600, value: 5.0 }];
    write(&path, &policy, &[&fine, &coarse]).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 4 << 20);
    let mut reader = Reader::new();
    let series = reader.read(&path, last).unwrap();
    assert_eq!(series.archives[0].points, fine);
    assert_eq!(series.archives[1].points, coarse);
    assert_eq!(series, parse(&fs::read(&path).unwrap(), last).unwrap());

    // Some rounds later the ring begins in the middle.
    let later = reader.read(&path, last + 150_000).unwrap();
    let from = last + 150_000 - 399_999;
    assert_eq!(later.archives[0].points[..], fine[fine.partition_point(|p| p.timestamp < from)..]);
}

#[test]
fn what_is_no_file_is_named_in_the_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut reader = Reader::new();
    let mut refusal = |path: &Path| reader.read(path, 1000).unwrap_err().to_string();
    assert!(refusal(directory.path()).contains("not a file"));
    let missing = directory.path().join("missing.wsp");
    assert!(refusal(&missing).contains("missing.wsp: open: "));
    let empty = directory.path().join("empty.wsp");
    fs::write(&empty, b"").unwrap();
    assert!(refusal(&empty).contains("empty.wsp: the file is empty"));
    fs::write(&empty, b"whisper_compressed").unwrap();
    assert!(refusal(&empty).contains("the header ends at byte 63, but the file has 18 bytes"));
}
