//! Finds series by tags and renders them, over HTTP, from one client.

use anyhow::Result;
use serde_json::Value;

use super::render::shape;
use super::time_get;
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::tagged::PER_HOST;
use crate::targets::Running;

/// Milliseconds that two matchers with a handful of results may take at the median.
const HANDFUL: Bar = Bar::AtMost(10.0);

/// Two matchers each. Among a million series they find 10, 50 and 10,000.
const QUERIES: [([&str; 2], Bar); 3] = [
    (["name=disk.used", "host=host42"], HANDFUL),
    (["name=disk.used", "host=~host42[0-4]$"], HANDFUL),
    (["name=disk.used", "dc=dc1"], Bar::None),
];

/// Sends the first points of `series` tagged series, and queries some of them. The bars are for a million.
pub(crate) fn run(
    size: &str,
    barred: bool,
    series: usize,
    server: &mut Running,
    report: &mut Report,
) -> Result<()> {
    let label = server.kind.label();
    let (stamp, rate) = create(series, server)?;
    let note = format!("{:.0} MB RSS afterwards", server.process()?.rss_mb()?.0);
    report.add(label, &format!("new series, {size} tagged"), "series/s", Bar::None, rate, note);
    let mut client = Client::connect(server.ports.http)?;
    for (matchers, limit) in QUERIES {
        let bar = if barred { limit } else { Bar::None };
        let target = format!("seriesByTag('{}','{}')", matchers[0], matchers[1]);
        // Some servers leave out the end of a window, so it ends a minute later.
        let window = format!("from={}&until={}", stamp - 240, stamp + 60);
        let path = format!("/render?format=json&{window}&target={}", escape(&target));
        let (latency, answer) = time_get(&mut client, &path)?;
        let (hits, values) = shape(&answer)?;
        let note = format!("{hits} series, {values} values, p99 {:.2}", latency.p99);
        let what = format!("render `{target}`, {size}, p50");
        report.add(label, &what, "ms", bar, latency.p50, note);
        report.held(label, &what, values);

        let path = format!("/tags/findSeries?expr={}&expr={}", escape(matchers[0]), escape(matchers[1]));
        let (latency, answer) = time_get(&mut client, &path)?;
        let hits = serde_json::from_slice::<Value>(&answer)?.as_array().map_or(0, Vec::len);
        let what = format!("findSeries `{}` `{}`, {size}, p50", matchers[0], matchers[1]);
        report.add(label, &what, "ms", bar, latency.p50, format!("{hits} hits, p99 {:.2}", latency.p99));
        report.held(label, &what, hits);
    }
    Ok(())
}

/// Sends one point to every series and waits until all are known. Returns the time of the points, and series per second.
fn create(series: usize, server: &mut Running) -> Result<(u64, f64)> {
    let mut load = Load::tagged(series / PER_HOST, 8);
    let before = server.stored()?;
    let stamps = minutes_until_now(1);
    let sent = load.send(server.ports.carbon, &stamps)?;
    let stored = server.wait_stored(before, sent.points)?;
    let seconds = stored.duration_since(sent.began).as_secs_f64().max(sent.seconds);
    server.flush()?;
    Ok((stamps[0], sent.points as f64 / seconds))
}
