//! Finds metrics by pattern, over HTTP, from one client.

use anyhow::Result;
use serde_json::Value;

use super::{Latency, time_get};
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::targets::Running;

/// Patterns, and the milliseconds that each may take at the median.
const QUERIES: [(&str, Bar); 4] = [
    ("servers.*", Bar::AtMost(0.5)),
    ("servers.dc1.*", Bar::AtMost(1.0)),
    ("servers.*.host1*.{cpu,mem}.load?", Bar::AtMost(2.0)),
    ("servers.dc1.*.cpu.*", Bar::AtMost(6.0)),
];

/// A pattern with 44,440 hits among a million metrics, and the names per second that it must return.
const STREAM: (&str, Bar) = ("servers.*.host1*.{cpu,mem,disk,net}.*", Bar::AtLeast(1_000_000.0));

/// KairosDB's call for metrics, which has to find those without tags too.
const METRIC_NAMES: &str = "/api/v1/metricnames?prefix=servers.dc1.host12";

/// Measures each pattern on a server that already has the metrics. The bars are for a million of them.
pub(crate) fn run(size: &str, barred: bool, server: &mut Running, report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let bar = |bar: Bar| if barred { bar } else { Bar::None };
    let mut client = Client::connect(server.ports.http)?;
    for (query, limit) in QUERIES {
        let (latency, hits) = time_find(query, server, &mut client)?;
        let note = format!("{hits} hits, p99 {:.2}", latency.p99);
        let what = format!("find `{query}`, {size}, p50");
        report.add(label, &what, "ms", bar(limit), latency.p50, note);
        report.held(label, &what, hits);
    }
    // From the request to the last byte: an early first byte does not count.
    let (query, least) = STREAM;
    let (latency, hits) = time_find(query, server, &mut client)?;
    let note = format!("{hits} hits in {:.1} ms, p99 {:.1}", latency.p50, latency.p99);
    let rate = hits as f64 / latency.p50 * 1e3;
    let what = format!("find `{query}`, {size}, streamed");
    report.add(label, &what, "names/s", bar(least), rate, note);
    report.held(label, &what, hits);
    if server.kind.is_current() {
        let (latency, answer) = time_get(&mut client, METRIC_NAMES)?;
        let note = format!("{} bytes, p99 {:.2}", answer.len(), latency.p99);
        let what = format!("`{METRIC_NAMES}`, {size}, p50");
        report.add(label, &what, "ms", bar(Bar::AtMost(10.0)), latency.p50, note);
    }
    Ok(())
}

/// How long a pattern takes, and how many names it returns.
fn time_find(query: &str, server: &Running, client: &mut Client) -> Result<(Latency, usize)> {
    let (latency, answer) = time_get(client, &server.kind.find_path(&escape(query)))?;
    let answer: Value = serde_json::from_slice(&answer)?;
    Ok((latency, answer.get("metrics").unwrap_or(&answer).as_array().map_or(0, Vec::len)))
}
