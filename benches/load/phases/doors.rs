//! The doors of KairosDB's clients: points as JSON and as lines, a query that groups by a tag, and the calls of the catalogue.

use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::Latency;
use crate::client::Client;
use crate::labelled::{Form, Texts};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::tagged::PER_HOST;
use crate::targets::{PATIENCE, Running};

/// Connections that send at once.
const CONNECTIONS: usize = 8;

/// Points of one POST.
const BATCH: usize = 1000;

/// Lines that are written together.
const LINES: usize = 1000;

/// Hosts of the query, each a group: those of so many racks of forty.
const RACKS: usize = 25;
const HOSTS: usize = RACKS * 40;

/// Points of each series of the query.
const HOUR: usize = 60;

/// The metric of the query. One of its tags is the same for all of its series that are asked for.
const METRIC: &str = "cpu.user";

/// Counts the series by metric and tag.
const CARDINALITY: &str = "/api/v1/catalog/cardinality";

/// How many times we add a series and ask for the cardinality again.
const NEW_SERIES: usize = 50;

/// Milliseconds that a call of the catalogue may take at the median.
const CATALOGUE: Bar = Bar::AtMost(10.0);

/// What sending took.
struct Sent {
    points: u64,
    began: Instant,
    seconds: f64,
}

/// Sends the same series in each form, on a server that was just started.
pub(crate) fn ingest(quick: bool, server: &mut Running, report: &mut Report) -> Result<()> {
    let (series, rounds) = if quick { (10_000, 10) } else { (100_000, 40) };
    let label = server.kind.label();
    // The series are made by the first form, so that no figure has their creation in it.
    let mut carbon = texts(Form::Carbon, series, LINES);
    let before = server.stored()?;
    let made = lines(server.ports.carbon, &mut carbon, &minutes_until_now(1))?;
    server.wait_stored(before, made.points)?;
    let sizes = if quick { "10 k" } else { "100 k" };
    let mut figure = |server: &mut Running, what: &str, bar: Bar, form: Form, packed: bool| -> Result<f64> {
        let mut texts = texts(form, series, if form == Form::Json { BATCH } else { LINES });
        let (stored, cpu) = (server.stored()?, server.process()?.cpu_seconds()?);
        let stamps = minutes_until_now(rounds);
        let sent = match form {
            Form::Json => posts(server.ports.http, &mut texts, &stamps, packed)?,
            Form::Carbon => lines(server.ports.carbon, &mut texts, &stamps)?,
            Form::Telnet => lines(server.ports.spare[1], &mut texts, &stamps)?,
        };
        server.wait_stored(stored, sent.points)?;
        // The clock runs until deferred work is done.
        let idle = server.process()?.wait_idle(PATIENCE)?.duration_since(sent.began).as_secs_f64();
        let rate = sent.points as f64 / idle.max(sent.seconds);
        let used = (server.process()?.cpu_seconds()? - cpu) / (sent.points as f64 / 1e6);
        let note = format!(
            "accepted at {:.0} k/s; {used:.2} CPU s/M points of the server",
            sent.points as f64 / sent.seconds / 1e3
        );
        report.add(label, &format!("{what}, {sizes} series"), "points/s", bar, rate, note);
        Ok(rate)
    };
    let plain = figure(server, "carbon plaintext with tags", Bar::None, Form::Carbon, false)?;
    // As fast as carbon's, within what two runs differ.
    let bar = if quick { Bar::None } else { Bar::AtLeast(plain * 0.7) };
    figure(server, "telnet put", bar, Form::Telnet, false)?;
    let bars = if quick { [Bar::None; 2] } else { [1_000_000.0, 500_000.0].map(Bar::AtLeast) };
    figure(server, "JSON in batches of 1,000", bars[0], Form::Json, false)?;
    figure(server, "the same as gzip", bars[1], Form::Json, true)?;
    Ok(())
}

/// One round of all series, a share for each connection.
fn texts(form: Form, series: usize, together: usize) -> Vec<Texts> {
    let hosts = series / PER_HOST;
    let edge = |c: usize| hosts * c / CONNECTIONS;
    let share = |c: usize| Texts::new(form, edge(c), (edge(c + 1) - edge(c)) * PER_HOST, together);
    (0..CONNECTIONS).map(share).collect()
}

/// Runs `work` on each of the texts at once and measures from the start of all to the end of the last.
fn at_once(
    texts: &mut [Texts],
    rounds: usize,
    work: impl Fn(&mut Texts, &Barrier) -> Result<()> + Sync,
) -> Result<Sent> {
    let points = texts.iter().map(Texts::len).sum::<usize>() as u64 * rounds as u64;
    let start = Barrier::new(texts.len() + 1);
    let mut began = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let senders: Vec<_> = texts.iter_mut().map(|texts| scope.spawn(|| work(texts, &start))).collect();
        start.wait();
        began = Instant::now();
        senders.into_iter().try_for_each(|sender| sender.join().expect("a sender never panics"))
    })?;
    Ok(Sent { points, began, seconds: began.elapsed().as_secs_f64() })
}

fn lines(address: std::net::SocketAddr, texts: &mut [Texts], stamps: &[u64]) -> Result<Sent> {
    at_once(texts, stamps.len(), |texts, start| {
        let connected = TcpStream::connect_timeout(&address, Duration::from_secs(5));
        start.wait();
        let mut stream = connected?;
        for &stamp in stamps {
            texts.round(stamp, |bytes| stream.write_all(bytes)).context("send lines")?;
        }
        stream.shutdown(Shutdown::Write).context("close the sending side")
    })
}

/// Posts every piece, and takes its answer before the next one. Packed bodies are made before the clock starts.
fn posts(address: std::net::SocketAddr, texts: &mut [Texts], stamps: &[u64], packed: bool) -> Result<Sent> {
    at_once(texts, stamps.len(), |texts, start| {
        let connected = Client::connect(address);
        let ready = if packed { pack(texts, stamps) } else { Ok(Vec::new()) };
        start.wait();
        let (mut client, ready) = (connected?, ready?);
        let mut post = |headers: &str, body: &[u8]| match client.post("/api/v1/datapoints", headers, body)? {
            (204, _) => Ok(()),
            (status, answer) => {
                bail!("{status}: {}", String::from_utf8_lossy(&answer[..answer.len().min(300)]))
            }
        };
        for body in &ready {
            post("Content-Encoding: gzip\r\n", body)?;
        }
        let plain = if packed { &[][..] } else { stamps };
        for &stamp in plain {
            texts.round(stamp, |body| post("", body))?;
        }
        Ok(())
    })
}

fn pack(texts: &mut Texts, stamps: &[u64]) -> Result<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    for &stamp in stamps {
        texts.round(stamp, |body| -> Result<()> {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(body)?;
            bodies.push(packed.finish()?);
            Ok(())
        })?;
    }
    Ok(bodies)
}

/// Queries and catalogue calls over `series` series, on a server that was just started. The bars are for a million.
pub(crate) fn queries(
    size: &str,
    barred: bool,
    series: usize,
    server: &mut Running,
    report: &mut Report,
) -> Result<()> {
    let mut all = Load::tagged(series / PER_HOST, CONNECTIONS);
    let before = server.stored()?;
    let sent = all.send(server.ports.carbon, &minutes_until_now(1))?;
    server.wait_stored(before, sent.points)?;
    let hosts = (series / PER_HOST).min(HOSTS);
    let names = (0..hosts).flat_map(crate::tagged::names);
    let mut asked =
        Load::gauges(names.filter(|name| name.starts_with(METRIC) && name.contains(";core=core0;")));
    let (before, stamps) = (server.stored()?, minutes_until_now(HOUR));
    let sent = asked.send(server.ports.carbon, &stamps)?;
    server.wait_stored(before, sent.points)?;
    server.flush()?;
    server.process()?.wait_idle(PATIENCE)?;
    let bar = |bar: Bar| if barred { bar } else { Bar::None };
    grouped(size, bar(Bar::AtMost(100.0)), (hosts, &stamps), server, report)?;
    catalogue(size, bar(CATALOGUE), server, report)
}

/// An hour of minutes of a metric, a group for each value of a tag.
fn grouped(
    size: &str,
    bar: Bar,
    (hosts, stamps): (usize, &[u64]),
    server: &mut Running,
    report: &mut Report,
) -> Result<()> {
    let racks: Vec<String> = (0..RACKS).map(|rack| format!("rack{rack}")).collect();
    let query = json!({
        "start_absolute": stamps[0] * 1000,
        "end_absolute": stamps[stamps.len() - 1] * 1000,
        "metrics": [{
            "name": METRIC,
            "tags": { "core": ["core0"], "rack": racks },
            "group_by": [{ "name": "tag", "tags": ["host"] }],
            "aggregators": [{ "name": "avg", "sampling": { "value": 1, "unit": "minutes" } }],
        }],
    });
    let mut client = Client::connect(server.ports.http)?;
    let (latency, answer) = time_post(&mut client, "/api/v1/datapoints/query", &query.to_string())?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let found = &answer["queries"][0];
    let groups = found["results"].as_array().map_or(0, Vec::len);
    ensure!(
        groups == hosts && found["sample_size"] == hosts * HOUR,
        "{groups} groups of {} points instead of {hosts} of {HOUR} each",
        found["sample_size"]
    );
    let note = format!("{groups} groups, {} points, p99 {:.2}", found["sample_size"], latency.p99);
    let what = format!("query of an hour of minutes, a group for each of 1,000 hosts, {size}, p50");
    report.add(server.kind.label(), &what, "ms", bar, latency.p50, note);
    Ok(())
}

/// What clients ask before they query.
fn catalogue(size: &str, bar: Bar, server: &mut Running, report: &mut Report) -> Result<()> {
    let month = jiff::Zoned::now().strftime("%Y-%m").to_string();
    let mut client = Client::connect(server.ports.http)?;
    for path in [
        "/api/v1/metricnames".to_owned(),
        "/api/v1/metricnames?prefix=disk".to_owned(),
        "/api/v1/tagnames".to_owned(),
        "/api/v1/tagvalues".to_owned(),
        "/api/suggest?type=tagv&q=host4".to_owned(),
        format!("/api/v1/catalog/metrics?from={month}"),
        format!("/api/v1/catalog/tags?metric={METRIC}"),
        format!("/api/v1/catalog/tags?metric={METRIC}&tag=host"),
        CARDINALITY.to_owned(),
        format!("/api/v1/catalog/windows?metric={METRIC}"),
        "/api/v1/catalog/partitions".to_owned(),
    ] {
        let (latency, answer) = super::time_get(&mut client, &path)?;
        let note = format!("{} bytes, p99 {:.2}", answer.len(), latency.p99);
        let path = path.replace(&month, "MONTH");
        report.add(server.kind.label(), &format!("`{path}`, {size}, p50"), "ms", bar, latency.p50, note);
    }
    recounted_cardinality(size, server, &mut client, report)?;
    let query =
        json!({ "start_absolute": 1, "metrics": [{ "name": METRIC, "tags": { "rack": ["rack3"] } }] });
    let (latency, answer) = time_post(&mut client, "/api/v1/datapoints/query/tags", &query.to_string())?;
    let note = format!("{} bytes, p99 {:.2}", answer.len(), latency.p99);
    let what = format!("tags of the series of a rack, {size}, p50");
    report.add(server.kind.label(), &what, "ms", bar, latency.p50, note);
    Ok(())
}

/// Times the cardinality right after a new series has made the cached one stale.
fn recounted_cardinality(
    size: &str,
    server: &Running,
    client: &mut Client,
    report: &mut Report,
) -> Result<()> {
    let mut times = Vec::new();
    for nth in 0..NEW_SERIES {
        let time = minutes_until_now(1)[0] * 1000;
        let point =
            json!({ "name": "new", "tags": { "nth": nth.to_string() }, "timestamp": time, "value": 1 });
        let (status, _) = client.post("/api/v1/datapoints", "", point.to_string().as_bytes())?;
        ensure!(status == 204, "a point was answered {status}");
        let asked = Instant::now();
        client.get(CARDINALITY)?;
        times.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    let latency = Latency::of(times);
    let note = format!("{NEW_SERIES} times, p99 {:.2}", latency.p99);
    let what = format!("`{CARDINALITY}` after a new series, {size}, p50");
    report.add(server.kind.label(), &what, "ms", Bar::None, latency.p50, note);
    Ok(())
}

/// As [`super::time_get`].
fn time_post(client: &mut Client, path: &str, body: &str) -> Result<(Latency, Vec<u8>)> {
    let mut ask = || -> Result<Vec<u8>> {
        let (status, answer) = client.post(path, "", body.as_bytes())?;
        ensure!(status == 200, "{path}: {status}: {}", String::from_utf8_lossy(answer));
        Ok(answer.to_vec())
    };
    let mut answer = Vec::new();
    for _ in 0..3 {
        answer = ask()?;
    }
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.len() < 10 || (times.len() < 2000 && began.elapsed() < Duration::from_secs(3)) {
        let asked = Instant::now();
        ask()?;
        times.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    Ok((Latency::of(times), answer))
}
