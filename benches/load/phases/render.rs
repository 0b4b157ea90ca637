//! Reading a day of minutes back as JSON, over HTTP, from one client, everything warm.

use anyhow::Result;
use serde_json::Value;

use super::time_get;
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// Points of each series.
const DAY: usize = 1440;

/// What to ask, how it is written in the table, and what it may take in milliseconds at the median.
const QUERIES: [(&str, &str, Bar); 5] = [
    ("history.rack3.host7.load", "1 × 1,440", Bar::AtMost(0.5)),
    ("history.rack3.*.load", "100 × 1,440", Bar::AtMost(10.0)),
    ("sumSeries(history.*.*.load)", "sumSeries of 1,000 × 1,440", Bar::AtMost(25.0)),
    ("movingAverage(history.rack3.*.load,10)", "movingAverage, 100 × 1,440", Bar::None),
    ("groupByNode(history.rack3.*.load,1,\"sumSeries\")", "groupByNode, 100 × 1,440", Bar::None),
];

/// Sends a day of 1,000 metrics, has it written out, and times each query.
pub(crate) fn run(server: &mut Running, report: &mut Report) -> Result<()> {
    let names = (0..1000).map(|i| format!("history.rack{}.host{}.load", i / 100, i % 100));
    let mut load = Load::gauges(names);
    let before = server.stored()?;
    let stamps = minutes_until_now(DAY);
    let sent = load.send(server.ports.carbon, &stamps)?;
    server.wait_stored(before, sent.points)?;
    server.flush()?;
    let (from, until) = (stamps[0] - 60, stamps[DAY - 1]);
    let mut client = Client::connect(server.ports.http)?;
    for (target, what, bar) in QUERIES {
        let path = format!("/render?format=json&from={from}&until={until}&target={}", escape(target));
        let (latency, answer) = time_get(&mut client, &path)?;
        let (series, points) = shape(&answer)?;
        let note = format!("{series} series, {points} values, p99 {:.2}", latency.p99);
        report.add(server.kind.label(), &format!("render {what}, p50"), "ms", bar, latency.p50, note);
    }
    Ok(())
}

/// How many series an answer has, and how many values in all that are not null.
pub(crate) fn shape(answer: &[u8]) -> Result<(usize, usize)> {
    let answer: Value = serde_json::from_slice(answer)?;
    let series = answer.as_array().map_or(&[][..], Vec::as_slice);
    let known = |point: &&Value| point.get(0).is_some_and(|value| !value.is_null());
    let values =
        |series: &Value| series["datapoints"].as_array().map_or(0, |p| p.iter().filter(known).count());
    Ok((series.len(), series.iter().map(values).sum()))
}
