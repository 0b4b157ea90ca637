//! Carbon's format.

use std::path::Path;

use plumbago::whisper::name::{TagFiles, of_path, to_path};
use plumbago::whisper::{Format, Method, Reader, Series, write};
use plumbago_model::{Aggregator, Point, Policy};
use serde_json::json;

use super::peer::Peer;
use super::random::Random;
use super::shown::Shown;

/// Steps and lengths, some of them odd.
const RETENTIONS: [&[(u32, u32)]; 5] = [
    &[(1, 60), (10, 60), (60, 100)],
    &[(7, 13), (49, 20), (98, 1000)],
    &[(60, 100)],
    &[(10, 6), (60, 7)],
    &[(3, 1300), (3600, 24), (86_400, 10)],
];

const START: u32 = 1_700_000_123;

#[test]
fn every_point_that_whisper_shows_is_read() {
    let Some(mut whisper) = Peer::whisper("every_point_that_whisper_shows_is_read") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (number, (method, archives)) in cases().enumerate() {
        let path = directory.path().join(format!("{number}.wsp"));
        let factor = [0.0, 0.3, 0.5, 1.0][number % 4];
        let create = json!({"do": "create", "path": path, "archives": archives, "factor": factor, "method": method.name()});
        whisper.ask(&create);
        let mut random = Random::new(number as u64 + 1);
        let mut now = START;
        // The first look is at a file that was never written, the last ones at rings that went round.
        for round in 0..4 {
            now = compare(&mut whisper, &path, now, &mut random, &mut compared);
            fill(&mut whisper, &path, archives, now, round, &mut random);
        }
        compare(&mut whisper, &path, now, &mut random, &mut compared);
        let header = Reader::new().read(&path, now).unwrap().header;
        assert_eq!((header.format, header.method), (Format::Plain, Method::Known(method)));
        assert_eq!(header.x_files_factor, factor);
    }
    assert!(compared > 10_000, "{compared} points were compared");
}

/// Every method with every retention.
fn cases() -> impl Iterator<Item = (Aggregator, &'static [(u32, u32)])> {
    Aggregator::ALL.into_iter().flat_map(|method| RETENTIONS.map(|archives| (method, archives)))
}

/// Writes points up to `now`: in one call or one by one, some of them old, some before their time.
fn fill(whisper: &mut Peer, path: &Path, archives: &[(u32, u32)], now: u32, round: u32, random: &mut Random) {
    let (step, slots) = archives[0];
    let mut points = random.points(now - step * slots * 2 / 3, now, step, slots / 10 + 2, round);
    if round == 1 {
        let reach = archives.iter().map(|(step, slots)| step * slots).max().unwrap();
        points.extend((0..30).map(|_| Point { timestamp: now - random.below(reach), value: 7.25 }));
    }
    if round == 2 {
        points.extend((1..4).map(|late| Point { timestamp: now + late * step, value: 9.5 }));
    }
    if round == 3 {
        for point in &points {
            let (time, bits) = (point.timestamp, point.value.to_bits());
            whisper.ask(&json!({"do": "update_one", "path": path, "time": time, "bits": bits, "now": now}));
        }
    } else {
        whisper.update(path, &points, now);
    }
}

/// Compares all archives and some ranges now and later, and returns a time that is later still.
fn compare(whisper: &mut Peer, path: &Path, now: u32, random: &mut Random, compared: &mut usize) -> u32 {
    let mut reader = Reader::new();
    let fine = reader.read(path, now).unwrap().archives[0].stage;
    let mut at = now;
    for _ in 0..3 {
        let series = reader.read(path, at).unwrap();
        for archive in &series.archives {
            let start = at - archive.stage.span_secs() as u32;
            let theirs =
                whisper.fetch(path, start, at, at, &json!({"step": archive.stage.step_secs})).unwrap();
            let ours = Shown::of_archive(archive, start, at);
            assert_eq!(ours, theirs, "{}: {} at {at}", path.display(), archive.stage);
            assert_eq!(ours.values.len(), archive.stage.points as usize);
            assert_eq!(
                archive.points.len(),
                ours.values.iter().flatten().count(),
                "no point is left out of it"
            );
            *compared += archive.points.len();
        }
        for _ in 0..4 {
            compare_range(whisper, path, &series, at, random);
        }
        at += random.below(fine.span_secs() as u32);
    }
    at
}

fn compare_range(whisper: &mut Peer, path: &Path, series: &Series, now: u32, random: &mut Random) {
    let longest = series.header.retention.span_secs() as u32;
    let start = now - random.below(longest + longest / 4);
    let end = start + 1 + random.below(now - start + 1);
    // A range inside of one slot is answered with the slot after it, which is not the question here.
    let theirs = whisper.fetch(path, start, end, now, &json!({}));
    let ours = Shown::of_series(series, start, end, now);
    if ours.as_ref().is_none_or(|shown| !shown.values.is_empty()) {
        assert_eq!(ours, theirs, "{}: from {start} to {end} at {now}", path.display());
    }
}

/// A policy, and points for each of its stages as of `now`.
fn material(number: usize, now: u32) -> (Policy, Vec<Vec<Point>>) {
    let (method, archives) = cases().nth(number).unwrap();
    let text: Vec<String> = archives.iter().map(|(step, slots)| format!("{slots}*{step}s")).collect();
    let policy: Policy = format!("{}|{method}|0.4", text.join(":")).parse().unwrap();
    let mut random = Random::new(number as u64);
    let points = |(step, slots): &(u32, u32)| {
        let oldest = now - now % step - (slots - 1) * step;
        random.points(oldest, now + 1, *step, 5, number as u32)
    };
    let points = archives.iter().map(points).collect();
    (policy, points)
}

#[test]
fn whisper_reads_what_we_write_and_goes_on() {
    let Some(mut whisper) = Peer::whisper("whisper_reads_what_we_write_and_goes_on") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for number in 0..cases().count() {
        let path = directory.path().join(format!("sub/{number}.wsp"));
        let (policy, points) = material(number, START);
        write(&path, &policy, &points.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        let info = whisper.ask(&json!({"do": "info", "path": path}));
        assert_eq!(info["method"], policy.aggregator.name());
        assert_eq!(info["longest"], policy.retention.span_secs());
        assert_eq!(info["factor"].as_f64().unwrap() as f32, 0.4);
        for (stage, points) in policy.retention.stages().iter().zip(&points) {
            let start = START - stage.span_secs() as u32;
            let shown = whisper.fetch(&path, start, START, START, &json!({"step": stage.step_secs})).unwrap();
            let theirs: Vec<(u32, u64)> = shown.slots().filter_map(|(t, v)| Some((t, v?))).collect();
            let ours: Vec<(u32, u64)> = points.iter().map(|p| (p.timestamp, p.value.to_bits())).collect();
            assert_eq!(theirs, ours, "{stage}");
            compared += ours.len();
        }
        let (_, archives) = cases().nth(number).unwrap();
        let mut random = Random::new(number as u64);
        let later = START + archives[0].0 * archives[0].1 / 2;
        fill(&mut whisper, &path, archives, later, 0, &mut random);
        compare(&mut whisper, &path, later, &mut random, &mut compared);
    }
    assert!(compared > 10_000, "{compared} points were compared");
}

#[test]
fn go_whisper_reads_what_we_write_and_we_what_it_writes() {
    let Some(mut go) = Peer::go_whisper("go_whisper_reads_what_we_write_and_we_what_it_writes") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for number in 0..cases().count() {
        let path = directory.path().join(format!("{number}.wsp"));
        let (policy, points) = material(number, START);
        write(&path, &policy, &points.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        compare_with_go(&mut go, &path, START);
        let (_, archives) = cases().nth(number).unwrap();
        // It has no name for the last three methods, and cannot aggregate with them.
        if Aggregator::ALL[..5].contains(&policy.aggregator) {
            let (step, slots) = archives[0];
            let later = START + step * slots / 3;
            let points = Random::new(number as u64).points(START, later, step, 3, 2);
            go.update(&path, &points, later);
            compare_with_go(&mut go, &path, later);
        }
    }
}

fn compare_with_go(go: &mut Peer, path: &Path, now: u32) {
    assert_eq!(go.ask(&json!({"do": "is_compressed", "path": path})), json!(false));
    let series = Reader::new().read(path, now).unwrap();
    for archive in &series.archives {
        let start = now - archive.stage.span_secs() as u32;
        let theirs = go.fetch(path, start, now, now, &json!({})).unwrap();
        assert_eq!(Shown::of_archive(archive, start, now), theirs, "{}: {}", path.display(), archive.stage);
    }
}

#[test]
fn names_have_the_paths_that_carbon_gives_them() {
    let Some(mut whisper) = Peer::whisper("names_have_the_paths_that_carbon_gives_them") else { return };
    let names = [
        "a",
        "servers.web-1.cpu.load",
        "größe.50%",
        "x;k=v",
        "disk.used;host=a.b.c;mount=/var/lib",
        "a_DOT_b;k=v",
        "disk;mount=/",
        "cpu;dc=eu;größe=\"50%\"",
    ];
    for name in names {
        for (files, hashed) in [(TagFiles::Readable, false), (TagFiles::Hashed, true)] {
            let theirs = whisper.ask(&json!({"do": "place", "name": name, "hashed": hashed}));
            let ours = to_path(name, files).unwrap();
            assert_eq!(theirs, json!(ours), "{name}");
            if !hashed {
                assert_eq!(of_path(&ours, 1000).unwrap(), name);
            }
        }
    }
}
