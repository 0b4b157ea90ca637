//! Globs and reads, by both servers on the same tables. BigGraphite answers in its own process, Plumbago over HTTP.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::biggraphite::Accessor;
use super::plumbago::wait_counter;
use crate::client::{Client, escape};
use crate::phases::render::shape;
use crate::phases::{Latency, time_get};
use crate::report::{Bar, Report};
use crate::targets::Running;

/// Patterns, and how many times faster than BigGraphite the look-up through SASI has to be.
const GLOBS: [(&str, f64); 5] = [
    ("servers.dc1.host6.cpu.*", 1.0),
    ("servers.dc1.host1*.cpu.load1", 2.0),
    ("servers.*.host42.mem.usage", 1.0),
    ("*.*.*.cpu.load1", 1.0),
    ("servers.dc2.**", 1.0),
];

/// What is read, and how many times faster than BigGraphite it has to be: the time that BigGraphite took on the machine for which
/// the bars were set, divided by the time allowed, in milliseconds. Most of the time is spent in Cassandra itself.
const READS: [(&str, &str, f64); 2] = [
    ("servers.dc1.host1.cpu.load1", "1 × 1,440", 5.8 / 4.0),
    ("servers.*.host1?.cpu.*", "100 × 1,440", 512.0 / 150.0),
];

/// Measures BigGraphite.
pub(crate) fn biggraphite(accessor: &mut Accessor, stamps: &[u64], report: &mut Report) -> Result<()> {
    let (from, until) = span(stamps)?;
    for (pattern, what, _) in READS {
        let (times, points) = accessor.fetch(pattern, from, until + 60)?;
        let latency = Latency::of(times);
        report.add("BigGraphite", &read_row(what), "ms", Bar::None, latency.p50, format!("{points} values"));
    }
    for (pattern, _) in GLOBS {
        let (times, hits) = accessor.glob(pattern)?;
        let latency = Latency::of(times);
        report.add(
            "BigGraphite",
            &find_row("sasi", pattern),
            "ms",
            Bar::None,
            latency.p50,
            format!("{hits} hits"),
        );
    }
    Ok(())
}

/// Reads points through a server that has none on its own disk.
pub(crate) fn read(server: &mut Running, stamps: &[u64], report: &mut Report) -> Result<()> {
    let (from, until) = span(stamps)?;
    let mut client = Client::connect(server.ports.http)?;
    for (target, what, times) in READS {
        let path = format!("/render?format=json&from={from}&until={until}&target={}", escape(target));
        let (latency, answer) = time_get(&mut client, &path)?;
        let (series, values) = shape(&answer)?;
        let note = format!("{series} series, {values} values, p99 {:.1}", latency.p99);
        let row = read_row(what);
        report.add("Plumbago", &row, "ms", faster(report, &row, times), latency.p50, note);
    }
    Ok(())
}

/// Finds names through `index`.
pub(crate) fn find(server: &mut Running, index: &str, metrics: usize, report: &mut Report) -> Result<()> {
    if index == "memory" {
        wait_counter(server, "plumbago_metrics ", metrics as u64)?;
        wait_counter(server, "plumbago_names_loaded ", 1)?;
    }
    let mut client = Client::connect(server.ports.http)?;
    for (pattern, times) in GLOBS {
        let path = format!("/metrics/find?format=json&query={}", escape(pattern));
        let (latency, answer) = time_get(&mut client, &path)?;
        let hits = serde_json::from_slice::<Value>(&answer)?.as_array().map_or(0, Vec::len);
        let row = find_row(index, pattern);
        let note = format!("{hits} hits, p99 {:.2}", latency.p99);
        report.add("Plumbago", &row, "ms", faster(report, &row, times), latency.p50, note);
    }
    Ok(())
}

/// A bar: this many times faster than BigGraphite.
fn faster(report: &Report, row: &str, times: f64) -> Bar {
    report.value("BigGraphite", row).map_or(Bar::None, |theirs| Bar::AtMost(theirs / times))
}

fn span(stamps: &[u64]) -> Result<(u64, u64)> {
    let (first, last) = stamps.first().zip(stamps.last()).context("something was sent")?;
    Ok((first - 60, *last))
}

fn read_row(what: &str) -> String {
    format!("read {what}, p50")
}

fn find_row(index: &str, pattern: &str) -> String {
    format!("find `{pattern}`, {index}, p50")
}
