//! Finding metrics by pattern, over HTTP, from one client.

use anyhow::Result;
use serde_json::Value;

use super::time_get;
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::targets::Running;

/// Patterns and what they may take, in milliseconds at the median.
const QUERIES: [(&str, Bar); 4] = [
    ("servers.*", Bar::AtMost(0.5)),
    ("servers.dc1.*", Bar::None),
    ("servers.*.host1*.{cpu,mem}.load?", Bar::AtMost(2.0)),
    ("servers.dc1.*.cpu.*", Bar::AtMost(6.0)),
];

/// Asks each pattern of a server that holds the metrics already. The bars are for a million of them.
pub(crate) fn run(size: &str, barred: bool, server: &mut Running, report: &mut Report) -> Result<()> {
    let mut client = Client::connect(server.ports.http)?;
    for (query, bar) in QUERIES {
        let path = server.kind.find_path(&escape(query));
        let (latency, answer) = time_get(&mut client, &path)?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let hits = answer.get("metrics").unwrap_or(&answer).as_array().map_or(0, Vec::len);
        let bar = if barred { bar } else { Bar::None };
        let note = format!("{hits} hits, p99 {:.2}", latency.p99);
        report.add(
            server.kind.label(),
            &format!("find `{query}`, {size}, p50"),
            "ms",
            bar,
            latency.p50,
            note,
        );
    }
    Ok(())
}
