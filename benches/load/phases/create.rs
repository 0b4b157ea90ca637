//! Creates metrics at full speed, and measures whether an existing metric is delayed meanwhile.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Latency;
use crate::client::Client;
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now, now};
use crate::targets::{Ports, Running};

/// The metric that already exists.
const PROBE: &str = "probe.existing";

/// Sends the first point of every metric of `load` and waits until all are stored.
pub(crate) fn run(
    size: &str,
    bar: Bar,
    server: &mut Running,
    load: &mut Load,
    report: &mut Report,
) -> Result<()> {
    let label = server.kind.label();
    let probes = server.kind.reads_own_writes();
    if probes {
        probe(&server.ports, &AtomicBool::new(true))?;
    }
    let before = server.stored()?;
    let done = AtomicBool::new(false);
    let ports = server.ports.clone();
    let (seconds, waits) = std::thread::scope(|scope| -> Result<_> {
        let probing = scope.spawn(|| if probes { probe(&ports, &done) } else { Ok(Vec::new()) });
        let created = flood(server, load, before);
        done.store(true, Ordering::Relaxed);
        Ok((created?, probing.join().expect("the probe never panics")?))
    })?;
    report.add(
        label,
        &format!("new metrics, {size}"),
        "metrics/s",
        bar,
        load.metrics() as f64 / seconds,
        String::new(),
    );
    if probes {
        let (count, latency) = (waits.len(), Latency::of(waits));
        let what = "existing metric meanwhile, sent → readable, p50";
        report.add(
            label,
            what,
            "ms",
            Bar::None,
            latency.p50,
            format!("p99 {:.0}, {count} probes", latency.p99),
        );
    }
    Ok(())
}

fn flood(server: &mut Running, load: &mut Load, before: Option<u64>) -> Result<f64> {
    let sent = load.send(server.ports.carbon, &minutes_until_now(1))?;
    let stored = server.wait_stored(before, sent.points)?;
    Ok(stored.duration_since(sent.began).as_secs_f64().max(sent.seconds))
}

/// Sends a new value to the probe metric and reads until it shows, at least once and until `done`. Returns the waits in ms.
pub(super) fn probe(ports: &Ports, done: &AtomicBool) -> Result<Vec<f64>> {
    let mut carbon = TcpStream::connect(ports.carbon)?;
    carbon.set_nodelay(true)?;
    let mut http = Client::connect(ports.http)?;
    let mut waits = Vec::new();
    while waits.is_empty() || !done.load(Ordering::Relaxed) {
        // A value that no earlier probe had, always for the same minute: each one overwrites a slot of an existing metric.
        let stamp = now();
        let value = f64::from(waits.len() as u32 % 1000) + 0.5;
        let asked = Instant::now();
        carbon.write_all(format!("{PROBE} {value} {stamp}\n").as_bytes())?;
        let path = format!("/render?target={PROBE}&format=json&from={}&until={}", stamp - 120, stamp + 60);
        while !has_value(http.get(&path)?, value) && asked.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        waits.push(asked.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(waits)
}

fn has_value(answer: &[u8], value: f64) -> bool {
    String::from_utf8_lossy(answer).contains(&format!("[{value},"))
}
