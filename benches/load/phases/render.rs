//! Reads a day of minutes over HTTP with warm caches: single queries as JSON, first while the points are in memory and then from
//! disk; a dashboard with parallel queries; a picture.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Latency, time_get};
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// How long a peer may take until stored points appear in answers.
const VISIBLE_AFTER: Duration = Duration::from_secs(3);

/// Points of each series.
const DAY: usize = 1440;

/// How many times faster than a peer a query of 100 series or more has to be.
const RATIOS: [(&str, f64); 2] = [("VictoriaMetrics", 5.0), ("go-carbon", 20.0)];

/// How many times faster than graphite-web a picture has to be, whose answer over HTTP takes longer still.
const PICTURE_RATIO: f64 = 3.0;

/// The queries that a dashboard sends at once, each over a day.
const PANELS: [&str; 20] = [
    "history.rack0.host1.load",
    "aliasByNode(history.rack1.host1[0-9].load,1,2)",
    "sumSeries(history.rack2.*.load)",
    "averageSeries(history.rack3.*.load)",
    "maxSeries(history.*.host7.load)",
    "movingAverage(history.rack4.host1[0-9].load,10)",
    "groupByNode(history.rack[0-4].*.load,1,\"sumSeries\")",
    "scale(history.rack5.host2[0-9].load,100)",
    "highestCurrent(history.rack6.*.load,5)",
    "perSecond(history.rack7.host1[0-9].load)",
    "summarize(history.rack8.host1[0-9].load,\"1h\",\"sum\")",
    "minSeries(history.rack9.*.load)",
    "history.rack1.host2[0-9].load",
    "alias(sumSeries(history.rack4.*.load),\"all\")",
    "averageSeries(history.*.host3.load)",
    "derivative(history.rack2.host4[0-9].load)",
    "movingAverage(sumSeries(history.rack5.*.load),30)",
    "offset(history.rack6.host5[0-9].load,1)",
    "limit(history.rack7.*.load,10)",
    "aliasByNode(history.rack8.host[1-3].load,2)",
];

/// The query, its name in the table, and the milliseconds that it may take at the median.
const QUERIES: [(&str, &str, Bar); 5] = [
    ("history.rack3.host7.load", "1 × 1,440", Bar::AtMost(0.5)),
    ("history.rack3.*.load", "100 × 1,440", Bar::AtMost(10.0)),
    ("sumSeries(history.*.*.load)", "sumSeries of 1,000 × 1,440", Bar::AtMost(25.0)),
    ("movingAverage(history.rack3.*.load,10)", "movingAverage, 100 × 1,440", Bar::None),
    ("groupByNode(history.rack3.*.load,1,\"sumSeries\")", "groupByNode, 100 × 1,440", Bar::None),
];

/// Where the points are when they are read.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Memory,
    Disk,
}

/// Sends a day of 1,000 metrics and times each query, before and after the points are written out.
pub(crate) fn run(server: &mut Running, report: &mut Report) -> Result<()> {
    let names = (0..1000).map(|i| format!("history.rack{}.host{}.load", i / 100, i % 100));
    let mut load = Load::gauges(names);
    // Points of an earlier phase must not be in memory.
    server.flush()?;
    let before = server.stored()?;
    let stamps = minutes_until_now(DAY);
    let sent = load.send(server.ports.carbon, &stamps)?;
    server.wait_stored(before, sent.points)?;
    let window = (stamps[0] - 60, stamps[DAY - 1]);
    if !server.kind.reads_own_writes() {
        std::thread::sleep(VISIBLE_AFTER);
    }
    queries(server, Place::Memory, window, report)?;
    server.flush()?;
    queries(server, Place::Disk, window, report)?;
    dashboard(server, window, report)?;
    if server.kind.draws() {
        picture(server, window, report)?;
    }
    Ok(())
}

/// Times each query.
fn queries(server: &Running, place: Place, (from, until): (u64, u64), report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let mut client = Client::connect(server.ports.http)?;
    for (target, what, bar) in QUERIES {
        let path = format!("/render?format=json&from={from}&until={until}&target={}", escape(target));
        let (latency, answer) = time_get(&mut client, &path)?;
        let (series, points) = shape(&answer)?;
        let note = format!("{series} series, {points} values, p99 {:.2}", latency.p99);
        let (row, bar) = match place {
            Place::Memory => (format!("render {what}, in memory, p50"), Bar::None),
            Place::Disk => (format!("render {what}, p50"), bar),
        };
        report.add(label, &row, "ms", bar, latency.p50, note);
        report.held(label, &row, points);
        if place == Place::Disk && (series == 100 || target.contains('(')) {
            report.beat(&row, &RATIOS);
        }
    }
    Ok(())
}

/// All panels at once, again and again: how long until the last of them is there.
fn dashboard(server: &Running, (from, until): (u64, u64), report: &mut Report) -> Result<()> {
    const ROUNDS: usize = 100;
    let (address, start) = (server.ports.http, Barrier::new(PANELS.len()));
    let ask = |target: &str| -> Result<Vec<f64>> {
        let path = format!(
            "/render?format=json&maxDataPoints=800&from={from}&until={until}&target={}",
            escape(target)
        );
        let mut client = Client::connect(address)?;
        let mut times = Vec::with_capacity(ROUNDS);
        // A panel that fails must not leave the others waiting.
        let mut failed = None;
        for _ in 0..ROUNDS {
            start.wait();
            let asked = Instant::now();
            failed = failed.or(client.get(&path).err());
            times.push(asked.elapsed().as_secs_f64() * 1e3);
        }
        failed.map_or(Ok(times), |error| Err(error.context(format!("panel {target}"))))
    };
    let panels = std::thread::scope(|scope| -> Result<Vec<Vec<f64>>> {
        let asked: Vec<_> = PANELS.iter().map(|target| scope.spawn(|| ask(target))).collect();
        asked.into_iter().map(|panel| panel.join().expect("a panel never panics")).collect()
    })?;
    let last = |round: usize| panels.iter().map(|panel| panel[round]).fold(0.0, f64::max);
    let latency = Latency::of((0..ROUNDS).map(last).collect());
    let note = format!("until the last panel is there; p50 {:.1}", latency.p50);
    let label = server.kind.label();
    report.add(label, "dashboard of 20 panels at once, p99", "ms", Bar::AtMost(100.0), latency.p99, note);
    Ok(())
}

fn picture(server: &Running, (from, until): (u64, u64), report: &mut Report) -> Result<()> {
    let target = escape("history.rack3.host[12]?.load");
    let path = format!("/render?format=png&width=800&height=400&from={from}&until={until}&target={target}");
    let (latency, answer) = time_get(&mut Client::connect(server.ports.http)?, &path)?;
    let note = format!("{} bytes, p99 {:.1}", answer.len(), latency.p99);
    let label = server.kind.label();
    report.add(label, "PNG 800 × 400, 20 lines × 1,440, p50", "ms", Bar::AtMost(20.0), latency.p50, note);
    let data = format!("/render?format=json&from={from}&until={until}&target={target}");
    let (_, answer) = time_get(&mut Client::connect(server.ports.http)?, &data)?;
    if let Some(theirs) = graphite_web(&answer)? {
        let note = format!("graphite-web draws it in {theirs:.1} ms without HTTP");
        let bar = Bar::AtLeast(PICTURE_RATIO);
        report.add(
            label,
            "the same PNG, times faster than graphite-web",
            "×",
            bar,
            theirs / latency.p50,
            note,
        );
    }
    Ok(())
}

/// Milliseconds in which graphite-web draws these series, if it is installed: its drawing alone.
fn graphite_web(answer: &[u8]) -> Result<Option<f64>> {
    let Some(place) = std::env::var_os("GRAPHITE_WEB").filter(|place| !place.is_empty()) else {
        return Ok(None);
    };
    let answer: Value = serde_json::from_slice(answer)?;
    let mut text = String::new();
    for series in answer.as_array().context("series")? {
        for point in series["datapoints"].as_array().context("points")? {
            let _ = write!(text, "{} ", point[0].as_f64().unwrap_or(0.0));
        }
        text.push('\n');
    }
    let values = std::env::temp_dir().join(format!("plumbago-picture-{}", std::process::id()));
    std::fs::write(&values, text)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures/capture.py");
    let mut python = Command::new(Path::new(&place).join("bin/python"));
    let output = python.arg(script).arg("--time").arg(&values).output()?;
    std::fs::remove_file(&values)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "graphite-web did not draw: {errors}");
    Ok(Some(String::from_utf8_lossy(&output.stdout).trim().parse()?))
}

/// The number of series in an answer, and of all values in it that are not null.
pub(crate) fn shape(answer: &[u8]) -> Result<(usize, usize)> {
    let answer: Value = serde_json::from_slice(answer)?;
    let series = answer.as_array().map_or(&[][..], Vec::as_slice);
    let known = |point: &&Value| point.get(0).is_some_and(|value| !value.is_null());
    let values =
        |series: &Value| series["datapoints"].as_array().map_or(0, |p| p.iter().filter(known).count());
    Ok((series.len(), series.iter().map(values).sum()))
}
