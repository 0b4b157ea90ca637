//! The seeds of the fuzz target `whisper`, which are files that the other programs wrote: both formats are read here without them.
//!
//! `UPDATE_SEEDS=1 cargo test --test library whisper::seeds` writes them again.

use std::fs;
use std::path::{Path, PathBuf};

use plumbago::whisper::{Format, Method, Reader, Series};
use plumbago_model::{Aggregator, Point};
use serde_json::json;

use super::peer::Peer;

/// The present time of the seeds; the fuzz target has the same.
const NOW: u32 = 1_700_000_990;
const ARCHIVES: [(u32, u32); 2] = [(10, 20), (60, 10)];

fn seed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/whisper").join(name)
}

/// Up to the present, with gaps, more than the finest archive keeps. The values repeat, so that compressed files stay small.
fn points() -> Vec<Point> {
    let times = (NOW - 440..=NOW).step_by(10).filter(|time| time % 70 != 0);
    times.map(|timestamp| Point { timestamp, value: f64::from(timestamp / 50 % 20) / 8.0 }).collect()
}

/// The points that the finest archive still has.
fn recent() -> Vec<Point> {
    points().into_iter().filter(|point| point.timestamp > NOW - 200).collect()
}

/// The slots of the coarser archive, made by `apply`, without those that are less than half known.
fn coarse(apply: fn(&[f64]) -> f64) -> Vec<Point> {
    let points = points();
    let groups =
        points.chunk_by(|a, b| a.timestamp / 60 == b.timestamp / 60).filter(|group| group.len() >= 3);
    let slot = |group: &[Point]| {
        let values: Vec<f64> = group.iter().map(|point| point.value).collect();
        Point { timestamp: group[0].timestamp / 60 * 60, value: apply(&values) }
    };
    groups.map(slot).collect()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn read(name: &str) -> Series {
    if std::env::var_os("UPDATE_SEEDS").is_some() {
        update(name);
    }
    Reader::new().read(&seed(name), NOW).unwrap()
}

#[test]
fn a_plain_file_is_read() {
    let series = read("plain");
    assert_eq!(
        (series.header.format, series.header.method),
        (Format::Plain, Method::Known(Aggregator::Average))
    );
    assert_eq!(series.archives[0].points, recent());
    assert_eq!(series.archives[1].points, coarse(average));
}

#[test]
fn a_compressed_file_is_read() {
    let series = read("compressed");
    assert_eq!((series.header.format, series.header.method), (Format::Compressed, Method::First));
    assert_eq!(series.archives[0].points, recent());
    assert_eq!(series.archives[1].points, coarse(|values| values[0]), "also those that are not over");
}

#[test]
fn a_mix_is_read() {
    let series = read("mix");
    assert_eq!(series.methods(), [Method::Known(Aggregator::Average), Method::Percentile(100.0)]);
    assert_eq!(series.archives[0].points, recent());
    assert_eq!(series.archives[1].points, coarse(average));
    assert_eq!(series.archives[2].points, coarse(|values| values.iter().copied().fold(f64::MIN, f64::max)));
}

/// Writes a seed as the other programs write it.
fn update(name: &str) {
    let path = seed(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    let (peer, more) = match name {
        "plain" => (Peer::whisper(name), json!({"method": "average"})),
        "compressed" => (Peer::go_whisper(name), json!({"method": "first", "compressed": true})),
        _ => {
            let mix = json!({"method": "mix", "mix": ["average", "p100"], "compressed": true, "pointsPerBlock": 20});
            (Peer::go_whisper(name), mix)
        }
    };
    let mut peer = peer.expect("the program that writes it");
    let mut request = json!({"do": "create", "path": path, "archives": ARCHIVES, "factor": 0.5});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    peer.ask(&request);
    for batch in points().chunks(7) {
        peer.update(&path, batch, batch[batch.len() - 1].timestamp);
    }
}
