//! Points into Cassandra: at a steady rate for minutes, in a burst, and whether all of them arrived.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::METRICS;
use super::biggraphite::BigGraphite;
use super::names::NEW;
use super::plumbago::OnCassandra;
use crate::client::{Client, escape};
use crate::phases::render::shape;
use crate::process::Process;
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::{PATIENCE, Ports, Running};

/// One round of all metrics in this time is 95 k points/s; a day of minutes takes five minutes to send.
const SUSTAINED: Duration = Duration::from_millis(210);
/// Five rounds a second are 100 k.
const BURST: Duration = Duration::from_millis(200);

/// Metrics that are read afterwards, and their share of [`METRICS`].
const SAMPLE: &str = "servers.*.host1?.cpu.*";
const SAMPLED: usize = 100;

/// Sends at a steady rate and waits until the last point is in Cassandra. Returns the timestamps.
pub(crate) fn sustained(server: &mut Running, rounds: usize, report: &mut Report) -> Result<Vec<u64>> {
    let stamps = minutes_until_now(rounds);
    let before = server.stored()?;
    let cpu = server.process()?.cpu_seconds()?;
    let sent = Load::servers(METRICS, 8).every(SUSTAINED).send(server.ports.carbon, &stamps)?;
    let stored = server.wait_stored(before, sent.points)?;
    let seconds = stored.duration_since(sent.began).as_secs_f64();
    let micros = (server.process()?.cpu_seconds()? - cpu) * 1e6 / sent.points as f64;
    let note = format!(
        "sent at a steady rate for {:.0} s, all there {:.0} s later",
        sent.seconds,
        seconds - sent.seconds
    );
    report.add(
        "Plumbago",
        "points stored, 20 k metrics",
        "points/s",
        Bar::AtLeast(60_000.0),
        sent.points as f64 / seconds,
        note,
    );
    report.add(
        "Plumbago",
        "CPU of the server, without Cassandra's",
        "µs/point",
        Bar::AtMost(5.0),
        micros,
        String::new(),
    );
    // Aggregates too: the next server must find everything.
    server.flush()?;
    Ok(stamps)
}

/// A minute in which more arrives than it can deliver in a minute.
pub(crate) fn burst(server: &mut Running, rounds: usize, report: &mut Report) -> Result<()> {
    let before = server.stored()?;
    let sent =
        Load::servers(METRICS, 8).every(BURST).send(server.ports.carbon, &minutes_until_now(rounds))?;
    let stored = server.wait_stored(before, sent.points)?;
    let later = stored.duration_since(sent.began).as_secs_f64() - sent.seconds;
    let note = format!("all in Cassandra {later:.0} s later");
    let rate = sent.points as f64 / sent.seconds;
    report.add("Plumbago", "burst of a minute, 20 k metrics", "points/s", Bar::AtLeast(99_500.0), rate, note);
    Ok(())
}

/// The share of the sent points that another server, which has only the tables, finds for a sample of the metrics.
pub(crate) fn found(
    server: &mut Running,
    stamps: &[u64],
    whose: &'static str,
    report: &mut Report,
) -> Result<()> {
    let (first, last) = stamps.first().zip(stamps.last()).context("something was sent")?;
    let target = escape(SAMPLE);
    let path = format!("/render?format=json&from={}&until={last}&target={target}", first - 60);
    let mut client = Client::connect(server.ports.http)?;
    let (series, values) = shape(client.get(&path)?)?;
    let share = values as f64 * 100.0 / (SAMPLED * stamps.len()) as f64;
    let bar = Bar::AtLeast(100.0);
    report.add(
        whose,
        "points found afterwards",
        "%",
        bar,
        share,
        format!("in {series} of {METRICS} metrics"),
    );
    Ok(())
}

/// BigGraphite's carbon: the same metrics, which already exist, as fast as it accepts points. Returns the timestamps.
pub(crate) fn biggraphite(
    theirs: &BigGraphite,
    tables: &OnCassandra,
    scratch: &Path,
    rounds: usize,
    report: &mut Report,
) -> Result<Vec<u64>> {
    const FRESH: usize = 1000;
    let directory = tempfile::Builder::new().prefix("bench-").tempdir_in(scratch)?;
    let ports = Ports::free()?;
    let carbon = theirs.carbon(directory.path(), ports.carbon, [ports.spare[0], ports.spare[1]])?;
    let names = (0..FRESH).map(|i| format!("fresh.rack{}.host{}.load", i / 100, i % 100));
    let sent = Load::gauges(names).send(ports.carbon, &minutes_until_now(1))?;
    let seconds = digested(&carbon)?.duration_since(sent.began).as_secs_f64();
    report.add(
        "BigGraphite",
        NEW,
        "metrics/s",
        Bar::None,
        FRESH as f64 / seconds,
        format!("{FRESH} of them"),
    );
    // Plumbago creates the names, because BigGraphite would take minutes.
    let mut server = Running::start(tables, scratch)?;
    Load::servers(METRICS, 8).send(server.ports.carbon, &minutes_until_now(1))?;
    server.flush()?;
    drop(server);
    let mut load = Load::servers(METRICS, 8);
    load.send(ports.carbon, &minutes_until_now(1))?;
    digested(&carbon)?;
    let stamps = minutes_until_now(rounds);
    let cpu = carbon.cpu_seconds()?;
    let sent = load.send(ports.carbon, &stamps)?;
    let seconds = digested(&carbon)?.duration_since(sent.began).as_secs_f64();
    let micros = (carbon.cpu_seconds()? - cpu) * 1e6 / sent.points as f64;
    let rate = sent.points as f64 / seconds;
    let note = format!("{rounds} rounds as fast as it accepts them");
    report.add("BigGraphite", "points stored, 20 k metrics", "points/s", Bar::None, rate, note);
    report.add(
        "BigGraphite",
        "CPU of the server, without Cassandra's",
        "µs/point",
        Bar::None,
        micros,
        String::new(),
    );
    Ok(stamps)
}

/// When its work was done. It starts a second or two after points arrive, and pauses now and then.
fn digested(carbon: &Process) -> Result<Instant> {
    let pause = Duration::from_secs(3);
    std::thread::sleep(pause);
    loop {
        let idle = carbon.wait_idle(PATIENCE)?;
        let cpu = carbon.cpu_seconds()?;
        std::thread::sleep(pause);
        if carbon.cpu_seconds()? - cpu < 0.3 {
            return Ok(idle);
        }
    }
}
