//! Whisper files: how fast an import can read them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use plumbago::whisper::{Reader, Series, parse, write};
use plumbago_model::{Point, Policy};
use serde_json::{Value, json};

/// A usual retention: 69,360 points, 832 kB.
const POLICY: &str = "8640*10s:43200*60s:17520*3600s|average|0.5";
const NOW: u32 = 1_700_000_000;

/// Prints points per second on one core, for files that the system has in memory.
pub(crate) fn run() {
    let directory = tempfile::tempdir().unwrap();
    let policy: Policy = POLICY.parse().unwrap();
    for (name, every) in [("full", 1), ("every third slot", 3), ("never written", u32::MAX)] {
        let archives: Vec<Vec<Point>> =
            policy.retention.stages().iter().map(|stage| gauge(*stage, every)).collect();
        let path = directory.path().join("plain.wsp");
        write(&path, &policy, &archives.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        measure(&format!("plain, {name}"), &path);
    }
    match compressed(directory.path(), &policy) {
        Some(path) => measure("compressed", &path),
        None => {
            println!("compressed       TEST_GO_WHISPER does not name what scripts/peers go-whisper prints")
        }
    }
}

/// Two decimals around a level.
fn gauge(stage: plumbago_model::Stage, every: u32) -> Vec<Point> {
    let last = stage.floor(NOW);
    let slots = (0..stage.points).rev().filter(|at| every != u32::MAX && at % every == 0);
    let value = |at: u32| f64::from(at.wrapping_mul(2_654_435_761) >> 22) / 100.0 + 50.0;
    slots.map(|at| Point { timestamp: last - at * stage.step_secs, value: value(at) }).collect()
}

/// Points of the finest stage in go-carbon's format, sent as a carbon would: some at a time.
fn compressed(directory: &Path, policy: &Policy) -> Option<PathBuf> {
    let program = std::env::var_os("TEST_GO_WHISPER")?;
    let path = directory.join("compressed.wsp");
    let archives: Vec<_> =
        policy.retention.stages().iter().map(|stage| (stage.step_secs, stage.points)).collect();
    let create = json!({"do": "create", "path": path, "archives": archives, "method": "average", "factor": 0.5,
        "compressed": true});
    let mut requests = format!("{create}\n");
    for batch in gauge(policy.retention.raw(), 1).chunks(100) {
        let points: Vec<Value> = batch.iter().map(|p| json!([p.timestamp, p.value.to_bits()])).collect();
        let now = batch.last().unwrap().timestamp;
        requests += &format!("{}\n", json!({"do": "update", "path": path, "points": points, "now": now}));
    }
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    child.wait().unwrap();
    Some(path)
}

/// The best of several rounds, since the machine may have other work.
fn measure(name: &str, path: &Path) {
    let mut reader = Reader::new();
    let bytes = std::fs::read(path).unwrap();
    let count = |series: &Series| series.archives.iter().map(|archive| archive.points.len()).sum::<usize>();
    let series = reader.read(path, NOW).unwrap();
    let slots: u32 = series.archives.iter().map(|archive| archive.stage.points).sum();
    let points = count(&series);
    let reading = best(|| reader.read(path, NOW).unwrap());
    let decoding = best(|| parse(&bytes, NOW).unwrap());
    let merging = best(|| reader.read(path, NOW).unwrap().stretches());
    let rate = |seconds: f64| points as f64 / seconds / 1e6;
    println!(
        "{name:24} {points:6} points of {slots:6}, {:4} kB  decode {:4.0} M/s  read {:4.0} M/s  read and merge {:4.0} M/s  {:4.0} files/s",
        bytes.len() / 1000,
        rate(decoding),
        rate(reading),
        rate(merging),
        1.0 / merging
    );
}

fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..300 {
        let start = Instant::now();
        std::hint::black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
