//! What others notice of thousands of connections that want nothing, of clients that leave, and of heavy renders.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::{Latency, time_get};
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;

/// Points of each metric that is rendered.
const DAY: usize = 1440;

/// Renders at once.
const RENDERS: usize = 64;

/// A render of a usual size: it must not become slower.
const USUAL: &str = "history.rack3.*.load";

/// Renders that take long enough to be left.
const LONG: [(&str, &str, &str); 6] = [
    ("movingMedian(history.*.*.load,200)", "json", "a function"),
    ("history.*.*.load", "json", "a long answer"),
    ("history.*.*.load", "png", "a picture"),
    ("sortByName(smartSummarize(history.*.*.load,'5min','median'))", "json", "medians"),
    ("holtWintersForecast(history.rack[0-4].*.load)", "json", "a forecast"),
    ("group(history.*.*.load,history.*.*.load,history.*.*.load,history.*.*.load)", "csv", "a table"),
];

/// Measures all of it on a server that was just started.
pub(crate) fn run(connections: usize, server: &mut Running, report: &mut Report) -> Result<()> {
    let names = (0..1000).map(|i| format!("history.rack{}.host{}.load", i / 100, i % 100));
    let mut load = Load::gauges(names);
    let stamps = minutes_until_now(DAY);
    let sent = load.send(server.ports.carbon, &stamps)?;
    server.wait_stored(Some(0), sent.points)?;
    server.flush()?;
    let window = (stamps[0] - 60, stamps[DAY - 1]);
    crowd(connections, server, window, report)?;
    abandoned(server, window, report)?;
    beside_renders(server, window, report)?;
    memory(server, window, report)
}

fn path(target: &str, format: &str, (from, until): (u64, u64)) -> String {
    format!("/render?format={format}&from={from}&until={until}&target={}", escape(target))
}

/// Connections that are idle, slow, half-open: their memory, and how long others take beside them.
fn crowd(connections: usize, server: &mut Running, window: (u64, u64), report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let mut client = Client::connect(server.ports.http)?;
    let usual = path(USUAL, "json", window);
    let mut lines = Load::servers(1000, 1);
    // Both are taken in turns, because the machine itself is not the same from one minute to the next.
    let mut before = Beside::measure(&mut client, &usual, server, &mut lines)?;
    let (rss, _) = server.process()?.rss_mb()?;
    let began = Instant::now();
    let held = hold(connections, server.ports.http, server.ports.carbon)?;
    let opened = began.elapsed().as_secs_f64();
    let counted = |server: &mut Running, name: &str| server.counter("/internal/metrics", name);
    let give_up = Instant::now() + Duration::from_secs(30);
    while (counted(server, "plumbago_http_connections ")? + counted(server, "plumbago_connections ")?)
        < connections as u64
    {
        ensure!(Instant::now() < give_up, "the server does not have all connections");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (with, peak) = server.process()?.rss_mb()?;
    let beside = Beside::measure(&mut client, &usual, server, &mut lines)?;
    drop(held);
    before = before.better(Beside::measure(&mut client, &usual, server, &mut lines)?);
    let what = format!("memory of {connections} connections");
    let note = format!("opened in {opened:.1} s, peak {peak:.0} MB in all");
    report.add(label, &what, "MB", Bar::AtMost(200.0), with - rss, note);
    let mut slower = |what: &str, before: f64, with: f64| {
        let note = format!("{with:.2} ms, {before:.2} without");
        let what = format!("{what} beside {connections} connections");
        report.add(label, &what, "×", Bar::AtMost(1.05), with / before, note);
    };
    slower("render of 100 × 1,440", before.render, beside.render);
    slower("storing 100,000 points", before.ingest, beside.ingest);
    Ok(())
}

/// The times of those who have something to do, in milliseconds.
struct Beside {
    render: f64,
    ingest: f64,
}

impl Beside {
    fn measure(client: &mut Client, path: &str, server: &mut Running, lines: &mut Load) -> Result<Self> {
        let (render, _) = time_get(client, path)?;
        let mut times = Vec::new();
        for _ in 0..15 {
            let stored = server.stored()?;
            let sent = lines.send(server.ports.carbon, &minutes_until_now(100))?;
            let done = server.wait_stored(stored, sent.points)?;
            times.push((done - sent.began).as_secs_f64() * 1e3);
        }
        Ok(Self { render: render.p50, ingest: Latency::of(times).p50 })
    }

    fn better(self, other: Self) -> Self {
        Self { render: self.render.min(other.render), ingest: self.ingest.min(other.ingest) }
    }
}

/// Opens connections of all kinds. They stay until they are dropped.
fn hold(count: usize, http: SocketAddr, carbon: SocketAddr) -> Result<Vec<TcpStream>> {
    (0..count)
        .map(|nth| {
            let (address, said): (_, &[u8]) = match nth % 10 {
                // Idle from the beginning, as one whose client is gone without a word.
                0 | 1 => (http, b""),
                // Idle after a request.
                2..=4 => (http, b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n"),
                // Slow: half of a request.
                5 | 6 => (http, b"GET /render?target=a HTTP/1.1\r\nhost: x\r\nx-slow: "),
                // Senders who are idle, and who stop in the middle of a line.
                7 | 8 => (carbon, b""),
                _ => (carbon, b"some.metric.that.never.ends"),
            };
            let mut stream = TcpStream::connect(address)
                .with_context(|| format!("connection {nth} (ulimit -n must allow more than {count})"))?;
            stream.write_all(said)?;
            if matches!(nth % 10, 2..=4) {
                stream.set_read_timeout(Some(Duration::from_secs(20)))?;
                stream.read_exact(&mut [0; 12])?;
            }
            Ok(stream)
        })
        .collect()
}

/// How long work goes on after its client has left.
fn abandoned(server: &mut Running, window: (u64, u64), report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let address = server.ports.http;
    let active = |server: &mut Running| -> Result<usize> {
        let answer = server.control()?.get("/internal/queries")?;
        let answer: serde_json::Value = serde_json::from_slice(answer)?;
        Ok(answer["active"].as_array().map_or(0, Vec::len))
    };
    for (target, format, what) in LONG {
        let mut times = Vec::new();
        for round in 0..12_u64 {
            let mut asking = TcpStream::connect(address)?;
            asking.set_nodelay(true)?;
            let path = path(target, format, window);
            asking.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())?;
            while active(server)? == 0 {}
            // Each time in another phase of the work.
            std::thread::sleep(Duration::from_millis(round * 15));
            if active(server)? == 0 {
                continue;
            }
            drop(asking);
            let left = Instant::now();
            while active(server)? > 0 {
                ensure!(left.elapsed() < Duration::from_secs(60), "{target} does not end");
            }
            times.push(left.elapsed().as_secs_f64() * 1e3);
        }
        let line = format!("abandoned work goes on for, at most: {what}");
        match times.iter().copied().reduce(f64::max) {
            Some(longest) => {
                let note = format!("{} times, p50 {:.1}", times.len(), Latency::of(times).p50);
                report.add(label, &line, "ms", Bar::AtMost(100.0), longest, note);
            }
            None => {
                let why = "it was over before its client left".to_owned();
                report.unmeasured(label, &line, "ms", Bar::AtMost(100.0), why);
            }
        }
    }
    Ok(())
}

/// Runs `work` while that many clients render without a pause.
fn while_rendering<T>(
    address: SocketAddr,
    paths: &[String],
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<u16>)> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..RENDERS)
            .map(|nth| {
                let (over, path) = (&over, &paths[nth % paths.len()]);
                scope.spawn(move || -> Result<Vec<u16>> {
                    let mut client = Client::connect(address)?;
                    let mut statuses = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        statuses.push(client.request("GET", path)?.0);
                    }
                    Ok(statuses)
                })
            })
            .collect();
        let outcome = work();
        over.store(true, Ordering::Relaxed);
        let mut statuses = Vec::new();
        for client in clients {
            statuses.extend(client.join().expect("a client never panics")?);
        }
        Ok((outcome?, statuses))
    })
}

/// How long points take beside heavy renders.
fn beside_renders(server: &mut Running, window: (u64, u64), report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let paths = [path("movingMedian(history.rack1.*.load,50)", "json", window)];
    let mut lines = Load::servers(1000, 1);
    let mut time = |server: &mut Running| -> Result<f64> {
        let stored = server.stored()?;
        let began = Instant::now();
        let sent = lines.send(server.ports.carbon, &minutes_until_now(500))?;
        server.wait_stored(stored, sent.points)?;
        Ok(sent.points as f64 / began.elapsed().as_secs_f64())
    };
    time(server)?;
    let alone = time(server)?;
    let (beside, statuses) = while_rendering(server.ports.http, &paths, || {
        std::thread::sleep(Duration::from_secs(1));
        time(server)
    })?;
    let note = format!("{alone:.0} alone; {} renders meanwhile", statuses.len());
    report.add(label, &format!("ingest beside {RENDERS} renders"), "points/s", Bar::None, beside, note);
    Ok(())
}

/// The memory of heavy renders at once, above what the server had before.
fn memory(server: &mut Running, window: (u64, u64), report: &mut Report) -> Result<()> {
    let label = server.kind.label();
    let heavy = [
        ("history.*.*.load", "json"),
        ("scale(history.*.*.load,2)", "json"),
        ("movingAverage(history.*.*.load,50)", "json"),
        ("history.*.*.load", "pickle"),
        ("history.*.*.load", "csv"),
        ("sumSeries(history.*.*.load)", "json"),
        ("history.rack1.*.load", "png"),
        ("randomWalk('x',1)", "raw"),
    ];
    let paths = heavy.map(|(target, format)| path(target, format, window));
    let budget = server.counter("/internal/metrics", "plumbago_query_memory_limit_bytes ")? as f64 / 1e6;
    std::thread::sleep(Duration::from_secs(3));
    let (before, _) = server.process()?.rss_mb()?;
    let (most, statuses) = while_rendering(server.ports.http, &paths, || {
        let (began, mut most) = (Instant::now(), 0.0_f64);
        while began.elapsed() < Duration::from_secs(10) {
            most = most.max(server.process()?.rss_mb()?.0);
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(most)
    })?;
    std::thread::sleep(Duration::from_secs(5));
    let (after, _) = server.process()?.rss_mb()?;
    let count = |status: u16| statuses.iter().filter(|own| **own == status).count();
    let other = statuses.iter().filter(|status| ![200, 422, 503].contains(status)).count();
    let note = format!(
        "budget {budget:.0}; {} answered, {} × 422, {} × 503, {other} others",
        count(200),
        count(422),
        count(503)
    );
    let what = format!("memory of {RENDERS} heavy renders at once");
    report.add(label, &what, "MB", Bar::AtMost(budget + 100.0), most - before, note);
    let what = format!("memory kept after {RENDERS} heavy renders");
    report.add(label, &what, "MB", Bar::AtMost(100.0), after - before, String::new());
    Ok(())
}
