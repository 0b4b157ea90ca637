//! What logins and scopes cost those who ask: the same requests to a server without logins, and to one with them by a user who sees
//! everything and by one whose scope has to be looked at.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Latency;
use crate::client::{Client, escape};
use crate::labelled::{Form, Texts};
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now, now};
use crate::targets::Running;
use crate::targets::plumbago::Plumbago;

/// Points of each metric that is rendered.
const DAY: usize = 1440;

/// How often each request is made by each caller, in turns: a machine is not the same from one second to the next.
const TURNS: usize = 200;

/// Several subtrees of the scope match names, so that each name is compared with more than one.
const SUBTREES: [&str; 7] = ["nobody.has.this", "history", "servers", "cpu", "disk", "net", "http"];

/// All tagged series have such a tag.
const TAGS: [&str; 2] = ["nobody;has=this", "*;env=*"];

/// Requests of the usual sizes.
const REQUESTS: [(&str, &str); 5] = [
    ("find of 1,000 names", "/metrics/find?format=json&query=servers.dc1.*"),
    ("find of 10,000 names", "/metrics/find?format=json&query=servers.dc1.*.cpu.*"),
    ("render of 1 × 1,440", "history.rack3.host7.load"),
    ("render of 100 × 1,440", "history.rack3.*.load"),
    ("sumSeries of 1,000 × 1,440", "sumSeries(history.*.*.load)"),
];

/// Requests for tagged series.
const TAGGED: [(&str, &str); 4] = [
    ("render of 10 series by tag", "seriesByTag('name=disk.used','host=host42')"),
    ("render of 1,000 series by tag", "seriesByTag('name=disk.used','dc=dc1')"),
    ("find of 1,000 series by tag", "/tags/findSeries?expr=name=disk.used&expr=dc=dc1"),
    ("completion of a value", "/tags/autoComplete/values?expr=name=disk.used&tag=host&valuePrefix=host1"),
];

/// Points of one POST, and how many of them a caller sends in a row.
const BATCH: usize = 1000;
const BATCHES: usize = 4;

/// Hosts with tagged series.
const HOSTS: usize = 500;

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
    let subtrees = add_user(&closed, "subtrees", &SUBTREES)?;
    let tags = add_user(&closed, "tags", &TAGS)?;

    let (mut open, mut closed) = (Running::start(&open, scratch)?, Running::start(&closed, scratch)?);
    let stamps = minutes_until_now(DAY);
    let metrics = if quick { 100_000 } else { 1_000_000 };
    for server in [&mut open, &mut closed] {
        fill(server, metrics, &stamps)?;
    }
    let bar = Bar::AtMost(1.05);
    let callers = |what: &'static str, token: &str| -> Result<[Caller; 3]> {
        let caller = |what, bar, client| Caller { what, bar, client };
        let ask_closed =
            |token: &str| Client::connect(closed.ports.http).map(|client| client.with_token(token));
        Ok([
            caller("without logins", Bar::None, Client::connect(open.ports.http)?),
            caller("with a login", bar, ask_closed(&everything)?),
            caller(what, bar, ask_closed(token)?),
        ])
    };
    let range = (stamps[0] - 60, stamps[DAY - 1]);
    let mut by_subtree = callers("with a scope of subtrees", &subtrees)?;
    for (what, request) in REQUESTS {
        compare(what, &path(request, range), &mut by_subtree, report)?;
    }
    let mut by_tag = callers("with a scope of tags", &tags)?;
    for (what, request) in TAGGED {
        compare(what, &path(request, range), &mut by_tag, report)?;
    }
    for callers in [&mut by_subtree, &mut by_tag] {
        send(callers, report)?;
    }
    Ok(())
}

/// The token of a user who is made with the command line.
fn add_user(server: &Plumbago, name: &str, scope: &[&str]) -> Result<String> {
    let mut command = Command::new(&server.binary);
    for setting in &server.settings {
        command.arg("--set").arg(setting);
    }
    command.args(["user", "add", name, "--role", "write"]);
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
    let sent = Load::tagged(HOSTS, 8).send(server.ports.carbon, &stamps[DAY - 1..])?;
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

/// One request by each caller in turn, each time beginning with another one; all must get the same answer. Each asks twice and counts the
/// second time, so that all find the caches as warm.
fn compare(what: &str, path: &str, callers: &mut [Caller; 3], report: &mut Report) -> Result<()> {
    let mut bytes = None;
    let ask = |caller: &mut Caller| -> Result<f64> {
        let first = caller.client.get(path)?.len();
        ensure!(*bytes.get_or_insert(first) == first, "{what}: {first} bytes {}", caller.what);
        let asked = Instant::now();
        caller.client.get(path)?;
        Ok(asked.elapsed().as_secs_f64() * 1e3)
    };
    in_turns(what, callers, ask, report)
}

/// The same series as KairosDB's JSON, which all have already.
fn send(callers: &mut [Caller; 3], report: &mut Report) -> Result<()> {
    let mut texts = Texts::new(Form::Json, 0, BATCH * BATCHES, BATCH);
    let mut stamp = now() / 60 * 60;
    let post = |caller: &mut Caller| -> Result<f64> {
        let mut times = Vec::new();
        stamp -= 1;
        texts.round(stamp, |body| {
            let began = Instant::now();
            let (status, answer) = caller.client.post("/api/v1/datapoints", "", body)?;
            ensure!(status == 204, "{status}: {}", String::from_utf8_lossy(answer));
            times.push(began.elapsed().as_secs_f64() * 1e3);
            Ok(())
        })?;
        Ok(Latency::of(times).p50)
    };
    in_turns("JSON in batches of 1,000", callers, post, report)
}

/// Compares the median times of a piece of work.
fn in_turns(
    what: &str,
    callers: &mut [Caller; 3],
    mut work: impl FnMut(&mut Caller) -> Result<f64>,
    report: &mut Report,
) -> Result<()> {
    let mut times = [const { Vec::new() }; 3];
    let began = Instant::now();
    for turn in 0..TURNS + 3 {
        for nth in 0..callers.len() {
            let nth = (turn + nth) % callers.len();
            let time = work(&mut callers[nth])?;
            if turn >= 3 {
                times[nth].push(time);
            }
        }
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
