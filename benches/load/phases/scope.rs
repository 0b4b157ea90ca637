//! What logins and scopes cost those who ask: the same requests to a server without logins, and to one with them by a user who sees
//! everything and by one whose scope has to be looked at.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Latency;
use crate::client::{Client, escape};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now};
use crate::targets::Running;
use crate::targets::plumbago::Plumbago;

/// Points of each metric that is rendered.
const DAY: usize = 1440;

/// How often each request is made by each caller, in turns: a machine is not the same from one second to the next.
const TURNS: usize = 200;

/// Both halves of the scope match names, so that each name is compared with more than one.
const SCOPE: [&str; 3] = ["nobody.has.this", "history", "servers"];

/// Requests of the usual sizes.
const REQUESTS: [(&str, &str); 5] = [
    ("find of 1,000 names", "/metrics/find?format=json&query=servers.dc1.*"),
    ("find of 10,000 names", "/metrics/find?format=json&query=servers.dc1.*.cpu.*"),
    ("render of 1 × 1,440", "history.rack3.host7.load"),
    ("render of 100 × 1,440", "history.rack3.*.load"),
    ("sumSeries of 1,000 × 1,440", "sumSeries(history.*.*.load)"),
];

/// Who asks.
struct Caller {
    what: &'static str,
    bar: Bar,
    client: Client,
}

/// Measures both servers side by side.
pub(crate) fn run(binary: &Path, quick: bool, scratch: &Path, report: &mut Report) -> Result<()> {
    let files = tempfile::Builder::new().prefix("bench-users-").tempdir_in(scratch)?;
    let open = Plumbago::new(binary);
    let settings =
        ["users", "tokens"].map(|name| format!("auth.{name}_file={}", files.path().join(name).display()));
    let closed = Plumbago { settings: settings.to_vec(), ..Plumbago::new(binary) };
    let everything = add_user(&closed, "everything", &[])?;
    let scoped = add_user(&closed, "scoped", &SCOPE)?;

    let (mut open, mut closed) = (Running::start(&open, scratch)?, Running::start(&closed, scratch)?);
    let stamps = minutes_until_now(DAY);
    let metrics = if quick { 100_000 } else { 1_000_000 };
    for server in [&mut open, &mut closed] {
        fill(server, metrics, &stamps)?;
    }
    let connect = |server: &Running<'_>| Client::connect(server.ports.http);
    let mut callers = [
        Caller { what: "without logins", bar: Bar::None, client: connect(&open)? },
        Caller { what: "with a login", bar: Bar::None, client: connect(&closed)?.with_token(&everything) },
        Caller {
            what: "with a scope",
            bar: Bar::AtMost(1.05),
            client: connect(&closed)?.with_token(&scoped),
        },
    ];
    for (what, request) in REQUESTS {
        compare(what, &path(request, (stamps[0] - 60, stamps[DAY - 1])), &mut callers, report)?;
    }
    Ok(())
}

/// The token of a user who is made with the command line.
fn add_user(server: &Plumbago, name: &str, scope: &[&str]) -> Result<String> {
    let mut command = Command::new(&server.binary);
    for setting in &server.settings {
        command.arg("--set").arg(setting);
    }
    command.args(["user", "add", name, "--role", "read"]);
    for part in scope {
        command.args(["--scope", part]);
    }
    let output = command.output()?;
    ensure!(output.status.success(), "user add: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Many names to find, and a day of a thousand metrics to render, all of it written out.
fn fill(server: &mut Running<'_>, metrics: usize, stamps: &[u64]) -> Result<()> {
    let sent = Load::servers(metrics, 8).send(server.ports.carbon, &stamps[DAY - 1..])?;
    // A server with logins shows its counters to those who log in only, so idleness has to do.
    server.wait_stored(None, sent.points)?;
    let names = (0..1000).map(|i| format!("history.rack{}.host{}.load", i / 100, i % 100));
    let sent = Load::gauges(names).send(server.ports.carbon, stamps)?;
    server.wait_stored(None, sent.points).map(drop)
}

fn path(request: &str, (from, until): (u64, u64)) -> String {
    match request.strip_prefix('/') {
        Some(_) => request.to_owned(),
        None => format!("/render?format=json&from={from}&until={until}&target={}", escape(request)),
    }
}

/// One request by each caller in turn; all must get the same answer. Each asks twice and counts the second time, so that all find the
/// caches as warm.
fn compare(what: &str, path: &str, callers: &mut [Caller; 3], report: &mut Report) -> Result<()> {
    let mut times = [const { Vec::new() }; 3];
    let began = Instant::now();
    for turn in 0..TURNS + 3 {
        let mut answers = Vec::new();
        for (caller, times) in callers.iter_mut().zip(&mut times) {
            answers.push(caller.client.get(path)?.len());
            let asked = Instant::now();
            caller.client.get(path)?;
            if turn >= 3 {
                times.push(asked.elapsed().as_secs_f64() * 1e3);
            }
        }
        ensure!(answers.iter().all(|bytes| *bytes == answers[0]), "{what}: answers of {answers:?} bytes");
        if turn > 20 && began.elapsed() > Duration::from_secs(15) {
            break;
        }
    }
    let [without, rest @ ..] = times.map(|times| Latency::of(times).p50);
    for (caller, time) in callers[1..].iter().zip(rest) {
        let note = format!("{time:.3} ms, {without:.3} {}", callers[0].what);
        report.add("Plumbago", &format!("{what} {}", caller.what), "×", caller.bar, time / without, note);
    }
    Ok(())
}
