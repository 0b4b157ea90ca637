//! What the command line does to a running server: import, copy, backup and deletion.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};
use plumbago::whisper;
use plumbago_model::{Point, Policy};

use super::{Latency, create};
use crate::process::Process;
use crate::report::{Bar, Report};
use crate::send::{Load, minutes_until_now, now};
use crate::targets::Running;
use crate::workload::{self, Noise};

/// Points of each file: a day of minutes.
const POINTS: usize = 1440;
/// A tenth of the metrics: two of the twenty subsystems.
const TENTH: &str = "servers.*.*.{cpu,mem}.*";

/// Imports a tree of `files` whisper files into a running server, then copies everything to a second one.
pub(crate) fn import_and_copy(
    files: usize,
    server: &mut Running<'_>,
    scratch: &Path,
    report: &mut Report,
) -> Result<()> {
    let label = server.kind.label();
    let tools = Tools::of(server, scratch)?;
    let tree = tools.directory.path().join("whisper");
    write_tree(&tree, files)?;
    let points = (files * POINTS) as f64;
    let url = url(server);
    let ran = tools.run(&["import", "whisper", &tree.to_string_lossy(), "--keep-policy", "--url", &url])?;
    let size = format!("{} k whisper files of {POINTS} points", files / 1000);
    let note = format!("{:.1} s", ran.seconds);
    report.add(label, &format!("import, {size}"), "points/s", Bar::AtLeast(3e6), points / ran.seconds, note);
    let rate = files as f64 / ran.seconds;
    report.add(
        label,
        &format!("the same import, {size}"),
        "files/s",
        Bar::AtLeast(2000.0),
        rate,
        String::new(),
    );
    let what = format!("memory of the import, {size}");
    report.add(label, &what, "MB", Bar::AtMost(500.0), ran.peak_mb, String::new());

    let other = Running::start(server.kind, scratch)?;
    let target = format!("http://{}", other.ports.http);
    let ran = tools.run(&["copy", "imported.**", "--to", &target, "--url", &url])?;
    let what = format!("copy to another server, {} k metrics of {POINTS} points", files / 1000);
    let note = format!("{:.1} s, {:.0} MB for the command", ran.seconds, ran.peak_mb);
    report.add(label, &what, "points/s", Bar::AtLeast(2e6), points / ran.seconds, note);
    Ok(())
}

/// Backs a server with many metrics up, again after another round, and deletes a tenth of them while a sender goes on.
pub(crate) fn backup_and_delete(
    size: &str,
    (metrics, rounds): (usize, usize),
    server: &mut Running<'_>,
    scratch: &Path,
    report: &mut Report,
) -> Result<()> {
    let label = server.kind.label();
    let tools = Tools::of(server, scratch)?;
    let url = url(server);
    let mut load = Load::servers(metrics, 8);
    send(server, &mut load, rounds)?;
    server.flush()?;
    let directory = tools.directory.path().join("backup").to_string_lossy().into_owned();
    for (what, bar) in [("backup", Bar::None), ("backup again, a round later", Bar::AtMost(5.0))] {
        let ran = tools.run(&["backup", &directory, "--url", &url])?;
        let note = format!("{} rounds", if bar == Bar::None { rounds } else { rounds + 1 });
        report.add(label, &format!("{what}, {size} metrics"), "s", bar, ran.seconds, note);
        send(server, &mut load, 1)?;
    }
    delete(size, metrics, server, &tools, report)
}

fn delete(
    size: &str,
    metrics: usize,
    server: &mut Running<'_>,
    tools: &Tools,
    report: &mut Report,
) -> Result<()> {
    let (label, url) = (server.kind.label(), url(server));
    let (done, ports) = (AtomicBool::new(false), server.ports.clone());
    create::probe(&ports, &AtomicBool::new(true))?;
    let (ran, waits) = std::thread::scope(|scope| -> Result<_> {
        let probing = scope.spawn(|| create::probe(&ports, &done));
        let ran = tools.run(&["delete", TENTH, "--quiet", "--url", &url]);
        done.store(true, Ordering::Relaxed);
        Ok((ran?, probing.join().expect("the probe never panics")?))
    })?;
    let left = server.counter("/internal/metrics", "plumbago_metrics ")?;
    let what = format!("delete {} k of {size} metrics", metrics / 10_000);
    report.add(label, &what, "s", Bar::AtMost(2.0), ran.seconds, format!("{left} left"));
    let (count, latency) = (waits.len(), Latency::of(waits));
    let what = "existing metric meanwhile, sent → readable, p99";
    report.add(label, what, "ms", Bar::AtMost(200.0), latency.p99, format!("{count} probes"));
    Ok(())
}

fn send(server: &mut Running<'_>, load: &mut Load, rounds: usize) -> Result<()> {
    let before = server.stored()?;
    let sent = load.send(server.ports.carbon, &minutes_until_now(rounds))?;
    server.wait_stored(before, sent.points).map(drop)
}

fn url(server: &Running<'_>) -> String {
    format!("http://{}", server.ports.http)
}

/// Writes whisper files below `tree`, as carbon lays them out. They are in the page cache afterwards.
fn write_tree(tree: &Path, files: usize) -> Result<()> {
    let policy: Policy = "1440*60s|average|0.5".parse().map_err(anyhow::Error::msg)?;
    let mut noise = Noise::new(7);
    let first = u32::try_from(now())? / 60 * 60 - 60 * (POINTS as u32 - 1);
    for nth in 0..files {
        let value = |noise: &mut Noise| f64::from(noise.below(100_000)) / 100.0;
        let points: Vec<Point> = (0..POINTS as u32)
            .map(|minute| Point { timestamp: first + 60 * minute, value: value(&mut noise) })
            .collect();
        let path = tree.join("imported").join(workload::name(nth).replace('.', "/")).with_extension("wsp");
        whisper::write(&path, &policy, &[&points])?;
    }
    Ok(())
}

/// The command line, run as people run it.
struct Tools {
    command: PathBuf,
    directory: tempfile::TempDir,
}

/// What a command cost.
struct Ran {
    seconds: f64,
    peak_mb: f64,
}

impl Tools {
    fn of(server: &Running<'_>, scratch: &Path) -> Result<Self> {
        let command = server.kind.command().context("this server has no command line")?.canonicalize()?;
        Ok(Self { command, directory: tempfile::Builder::new().prefix("bench-").tempdir_in(scratch)? })
    }

    fn run(&self, arguments: &[&str]) -> Result<Ran> {
        let log = self.directory.path().join("command.log");
        let mut command = Command::new(&self.command);
        let began = Instant::now();
        let process = Process::start(command.args(arguments).current_dir(&self.directory), &log)?;
        let peak_mb = process.finish().with_context(|| {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            format!("{}: {}", arguments.join(" "), said.chars().take(2000).collect::<String>())
        })?;
        Ok(Ran { seconds: began.elapsed().as_secs_f64(), peak_mb })
    }
}
