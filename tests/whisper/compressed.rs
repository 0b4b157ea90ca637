//! go-carbon's compressed format.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plumbago::whisper::{Archive, Format, Method, Reader, Series, parse, write};
use plumbago_model::{Aggregator, Point, Stage};
use serde_json::{Value, json};

use super::peer::Peer;
use super::random::Random;
use super::shown::Shown;

const START: u32 = 1_700_000_400;

/// Steps and lengths.
const RETENTIONS: [&[(u32, u32)]; 4] = [
    &[(1, 300), (10, 120), (60, 100)],
    &[(10, 1000)],
    &[(7, 40), (49, 60), (98, 700)],
    &[(60, 1440), (3600, 48)],
];

const METHODS: [&str; 6] = ["average", "sum", "last", "max", "min", "first"];

/// A new compressed file.
fn create(go: &mut Peer, path: &Path, archives: &[(u32, u32)], more: &Value) {
    let mut request =
        json!({"do": "create", "path": path, "archives": archives, "compressed": true, "pointsPerBlock": 40});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    go.ask(&request);
}

/// Writes points in some calls, as time goes on, and returns all of them.
fn fill(go: &mut Peer, path: &Path, step: u32, until: u32, shape: u32, random: &mut Random) -> Vec<Point> {
    let points = random.points(START, until, step, 12, shape);
    let mut rest = &points[..];
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(rest.len().min(1 + random.below(60) as usize));
        go.update(path, batch, batch.last().unwrap().timestamp);
        rest = later;
    }
    points
}

fn read(path: &Path, now: u32) -> Series {
    let series = Reader::new().read(path, now).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(series.header.format, Format::Compressed);
    series
}

#[test]
fn every_point_that_go_whisper_shows_is_read() {
    let Some(mut go) = Peer::go_whisper("every_point_that_go_whisper_shows_is_read") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (mut compared, mut extended) = (0, 0);
    for number in 0..METHODS.len() * RETENTIONS.len() * 5 {
        let path = directory.path().join(format!("{number}.wsp"));
        let (method, archives) = (METHODS[number % 6], RETENTIONS[number / 6 % 4]);
        let (shape, factor) = ((number / 24) as u32, [0.0, 0.4, 1.0][number % 3]);
        create(&mut go, &path, archives, &json!({"method": method, "factor": factor}));
        assert!(read(&path, START).archives.iter().all(|archive| archive.points.is_empty()));
        let empty = fs::metadata(&path).unwrap().len();
        let mut random = Random::new(number as u64 + 1);
        let (step, slots) = archives[0];
        let until = START + step * (slots / 2 + random.below(slots * 2));
        let points = fill(&mut go, &path, step, until, shape, &mut random);
        go.ask(&json!({"do": "check", "path": path}));
        extended += usize::from(fs::metadata(&path).unwrap().len() > empty);
        let now = points.last().unwrap().timestamp;
        for at in [now, now + step * slots / 3] {
            compared += compare(&mut go, &path, at, now);
        }
    }
    assert!(compared > 10_000, "{compared} points were compared");
    assert!(extended > 10, "{extended} files had values that need larger blocks");
}

/// Compares what is shown at `now` of a file that was last written at `written`. Of the slots that still wait in buffers,
/// go-whisper shows some and not others: `an_ended_metric_keeps_its_last_points` is about those.
fn compare(go: &mut Peer, path: &Path, now: u32, written: u32) -> usize {
    let series = read(path, now);
    let before = read(path, written);
    let mut compared = 0;
    for (level, archive) in series.archives.iter().enumerate() {
        let start = now - archive.stage.span_secs() as u32;
        let theirs = go.fetch(path, start, now, now, &json!({})).unwrap();
        let ours = Shown::of_archive(archive, start, now);
        assert_eq!((ours.first, ours.step), (theirs.first, theirs.step));
        let settled = if level == 0 { now + 1 } else { settled(&before.archives[level - 1], ours.step) };
        let both = ours.slots().zip(theirs.slots());
        for ((time, ours), (_, theirs)) in both.filter(|((time, _), _)| *time < settled) {
            assert_eq!(ours, theirs, "{}: {} at {time}, now {now}", path.display(), archive.stage);
            compared += usize::from(ours.is_some());
        }
    }
    compared
}

/// The time before which all slots of `step` have been passed on: buffers hold two of them, on each of two levels.
fn settled(finer: &Archive, step: u32) -> u32 {
    let mut slots: Vec<u32> = finer.points.iter().map(|point| point.timestamp / step * step).collect();
    slots.dedup();
    slots.iter().rev().nth(3).copied().unwrap_or(0)
}

/// What each archive of a file must have if nothing is missing: every slot from the points that are in it.
fn expected(
    points: &[Point],
    archives: &[(u32, u32)],
    factor: f32,
    apply: impl Fn(&[f64]) -> f64,
) -> Vec<Vec<Point>> {
    let mut levels = vec![points.to_vec()];
    for pair in archives.windows(2) {
        let (fine, coarse) = (pair[0].0, pair[1].0);
        levels.push(slots(levels.last().unwrap(), fine, coarse, factor, &apply));
    }
    levels
}

fn slots(points: &[Point], fine: u32, coarse: u32, factor: f32, apply: &dyn Fn(&[f64]) -> f64) -> Vec<Point> {
    let mut slots: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for point in points {
        slots.entry(point.timestamp / coarse * coarse).or_default().push(point.value);
    }
    slots.retain(|_, values| values.len() as f32 / (coarse / fine) as f32 >= factor);
    slots.iter().map(|(&timestamp, values)| Point { timestamp, value: apply(values) }).collect()
}

/// The part of some points that an archive shows at `now`.
fn live(points: &[Point], step: u32, slots: u32, now: u32) -> Vec<Point> {
    let last = now - now % step;
    let oldest = last - (slots - 1) * step;
    points.iter().copied().filter(|p| (oldest..=last).contains(&p.timestamp)).collect()
}

#[test]
fn an_ended_metric_keeps_its_last_points() {
    let Some(mut go) = Peer::go_whisper("an_ended_metric_keeps_its_last_points") else { return };
    let directory = tempfile::tempdir().unwrap();
    for (number, method) in METHODS.into_iter().enumerate() {
        let path = directory.path().join(format!("{number}.wsp"));
        let archives = [(10, 300), (60, 200), (600, 400)];
        let factor = [0.0, 0.5][number % 2];
        create(&mut go, &path, &archives, &json!({"method": method, "factor": factor}));
        let mut random = Random::new(number as u64 + 1);
        let points = fill(&mut go, &path, 10, START + 2500, 1, &mut random);
        let apply = |values: &[f64]| match method {
            "average" => values.iter().sum::<f64>() / values.len() as f64,
            "sum" => values.iter().sum(),
            "last" => values[values.len() - 1],
            "max" => values.iter().copied().fold(f64::MIN, f64::max),
            "min" => values.iter().copied().fold(f64::MAX, f64::min),
            _ => values[0],
        };
        let wanted = expected(&points, &archives, factor as f32, apply);
        let end = points.last().unwrap().timestamp;
        // While it is written, when the finest archive has expired, and when only the coarsest is left.
        for now in [end, end + 3100, end + 20_000] {
            let series = read(&path, now);
            for ((archive, wanted), (step, slots)) in series.archives.iter().zip(&wanted).zip(archives) {
                assert_eq!(
                    archive.points,
                    live(wanted, step, slots, now),
                    "{method}: {} at {now}",
                    archive.stage
                );
            }
        }
        let late = read(&path, end + 20_000);
        assert!(
            late.archives[..2].iter().all(|a| a.points.is_empty()) && !late.archives[2].points.is_empty()
        );
        let stretches = late.stretches();
        let last = stretches[2].points.last().unwrap().timestamp;
        assert!(factor > 0.0 || end - last < 600, "the last slot has the points that were in the buffers");
    }
}

#[test]
fn points_out_of_order_are_read_from_the_buffers() {
    let Some(mut go) = Peer::go_whisper("points_out_of_order_are_read_from_the_buffers") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.wsp");
    create(&mut go, &path, &[(10, 300), (60, 200)], &json!({"method": "sum", "factor": 0.0}));
    let mut random = Random::new(3);
    let mut now = START;
    for _ in 0..40 {
        let points: Vec<Point> = (0..10)
            .map(|_| Point { timestamp: now - 10 * random.below(12), value: random.value(2) })
            .collect();
        go.update(&path, &points, now);
        compare(&mut go, &path, now, now);
        now += 20;
    }
}

#[test]
fn every_method_of_a_mix_is_read() {
    let Some(mut go) = Peer::go_whisper("every_method_of_a_mix_is_read") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.wsp");
    let archives = [(1, 7200), (60, 600), (300, 500)];
    let names = ["average", "sum", "p50", "p99.5", "max"];
    create(
        &mut go,
        &path,
        &archives,
        &json!({"method": "mix", "mix": names, "factor": 0.2, "pointsPerBlock": 400}),
    );
    let points = fill(&mut go, &path, 1, START + 6000, 1, &mut Random::new(5));
    go.ask(&json!({"do": "check", "path": path}));
    let end = points.last().unwrap().timestamp;
    let methods = [
        Method::Known(Aggregator::Average),
        Method::Known(Aggregator::Sum),
        Method::Percentile(50.0),
        Method::Percentile(99.5),
        Method::Known(Aggregator::Max),
    ];
    for now in [end, end + 7000, end + 20_000] {
        let series = read(&path, now);
        assert_eq!(series.header.method, Method::Mix);
        assert_eq!(series.header.retention.to_string(), "7200*1s:600*60s:500*300s");
        assert_eq!(series.methods(), methods);
        assert_eq!(series.archives[0].points, live(&points, 1, 7200, now));
        for (&method, name) in methods.iter().zip(names) {
            let one = series.clone().only(method);
            let steps: Vec<u32> = one.archives.iter().map(|archive| archive.stage.step_secs).collect();
            assert_eq!(steps, [1, 60, 300]);
            for archive in &one.archives[1..] {
                compare_mixed(&mut go, &path, archive, name, &points, now);
            }
        }
        let stretches = series.stretches();
        assert_eq!(stretches.iter().map(|stretch| stretch.count).collect::<Vec<_>>(), [1, 60, 300]);
    }
}

/// Compares with what go-whisper shows, and the slots with the points that they were made from.
fn compare_mixed(go: &mut Peer, path: &Path, archive: &Archive, name: &str, points: &[Point], now: u32) {
    let Stage { step_secs: step, points: count, .. } = archive.stage;
    let wanted = slots(points, 1, step, 0.2, &|values| aggregated(name, values));
    let wanted = live(&wanted, step, count, now);
    assert_eq!(archive.points, wanted, "{name}: {} at {now}", archive.stage);
    let start = now - archive.stage.span_secs() as u32;
    let theirs = go.fetch(path, start, now, now, &json!({"method": name})).unwrap();
    let ours = Shown::of_archive(archive, start, now);
    let end = points.last().unwrap().timestamp;
    // The last slot is shown by go-whisper even if too little of it is known.
    let settled = end - end % step;
    for ((time, ours), (_, theirs)) in
        ours.slots().zip(theirs.slots()).filter(|((time, _), _)| *time < settled)
    {
        assert_eq!(ours, theirs, "{name}: {} at {time}, now {now}", archive.stage);
    }
}

fn aggregated(name: &str, values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    match name {
        "average" => values.iter().sum::<f64>() / values.len() as f64,
        "sum" => values.iter().sum(),
        "max" => values.iter().copied().fold(f64::MIN, f64::max),
        _ => {
            values.sort_by(f64::total_cmp);
            let percent: f64 = name.trim_start_matches('p').parse().unwrap();
            let place = (values.len() - 1) as f64 * percent / 100.0;
            let (low, high) = (values[place as usize], values[place.ceil() as usize]);
            if place.fract() == 0.0 { high } else { high * place.fract() + low * (1.0 - place.fract()) }
        }
    }
}

/// `go-whisper convert`, which people use on files that carbon wrote.
#[test]
fn a_converted_file_has_the_same_points() {
    let Some(mut go) = Peer::go_whisper("a_converted_file_has_the_same_points") else { return };
    let directory = tempfile::tempdir().unwrap();
    let (plain, compressed) = (directory.path().join("plain.wsp"), directory.path().join("compressed.wsp"));
    // The converter leaves out what has expired by the clock of the machine.
    let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as u32;
    let policy = "2000*60s:1000*3600s|average|0.5".parse().unwrap();
    let mut random = Random::new(11);
    let now = clock - 60;
    let archives =
        [(60, 1990), (3600, 990)].map(|(step, slots)| random.points(now - step * slots, now, step, 5, 2));
    write(&plain, &policy, &[&archives[0], &archives[1]]).unwrap();
    go.ask(&json!({"do": "compress", "path": plain, "to": compressed}));
    let (before, after) = (Reader::new().read(&plain, now).unwrap(), read(&compressed, now));
    assert_eq!(before.archives, after.archives);
    assert_eq!(before.header.retention, after.header.retention);
}

#[test]
fn no_damage_changes_a_point() {
    let Some(mut go) = Peer::go_whisper("no_damage_changes_a_point") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("a.wsp");
    create(&mut go, &path, &[(10, 200), (60, 100)], &json!({"method": "average", "factor": 0.0}));
    let points = fill(&mut go, &path, 10, START + 3000, 2, &mut Random::new(9));
    let now = points.last().unwrap().timestamp;
    let good = fs::read(&path).unwrap();
    let series = parse(&good, now).unwrap();
    let (mut refused, mut harmless) = (0, 0);
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            match parse(&bytes, now) {
                Err(_) => refused += 1,
                Ok(found) => {
                    assert_eq!(found, series, "bit {bit} of byte {at}");
                    harmless += 1;
                }
            }
        }
    }
    assert!(
        refused > good.len(),
        "{refused} of {} changes were refused, {harmless} made no difference",
        good.len() * 8
    );
    for len in 0..good.len() {
        assert!(parse(&good[..len], now).is_err(), "{len} of {} bytes", good.len());
    }
}
