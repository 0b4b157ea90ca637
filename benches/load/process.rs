//! The server process from outside: starts and kills it, and measures its CPU time, memory and bytes on disk.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// `/proc` counts CPU time in these on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A child that is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` with its output in `log`.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let out =
            fs::File::options().create(true).append(true).open(log).context("open the log of the server")?;
        let err = out.try_clone()?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .with_context(|| format!("start {}", command.get_program().display()))?;
        Ok(Self { child })
    }

    /// CPU seconds used so far, user and system.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(&format!("/proc/{}/stat", self.child.id()))
    }

    /// Resident megabytes: now, and the maximum so far.
    pub(crate) fn rss_mb(&self) -> Result<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> Option<f64> {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok().map(|kib: f64| kib * 1024.0 / 1e6)
        };
        field("VmRSS:").zip(field("VmHWM:")).context("no memory figures in /proc: is the server still alive?")
    }

    /// [`wait_idle`] for a second.
    pub(crate) fn wait_idle(&self, limit: Duration) -> Result<Instant> {
        wait_idle(self.child.id(), Duration::from_secs(1), limit)
    }

    /// Waits for its end, and gives the most memory that it had, in megabytes.
    pub(crate) fn finish(mut self) -> Result<f64> {
        let mut peak = 0.0_f64;
        loop {
            if let Some(end) = self.end() {
                anyhow::ensure!(end.success(), "{end}");
                return Ok(peak);
            }
            peak = peak.max(self.rss_mb().map_or(0.0, |(_, most)| most));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// How it ended, if it has.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills it with SIGKILL and waits for its end.
    pub(crate) fn kill(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until a process is idle: less than a tenth of a core for `quiet`. Returns when that time began.
pub(crate) fn wait_idle(pid: u32, quiet: Duration, limit: Duration) -> Result<Instant> {
    let stat = format!("/proc/{pid}/stat");
    let give_up = Instant::now() + limit;
    let allowed = quiet.as_secs_f64() / 10.0;
    let (mut since, mut busy) = (Instant::now(), cpu_seconds(&stat)?);
    while since.elapsed() < quiet {
        std::thread::sleep(Duration::from_millis(50));
        let cpu = cpu_seconds(&stat)?;
        if cpu - busy > allowed {
            (since, busy) = (Instant::now(), cpu);
        }
        if Instant::now() > give_up {
            bail!("process {pid} is still busy after {limit:?}");
        }
    }
    Ok(since)
}

/// CPU seconds this process has used.
pub(crate) fn own_cpu_seconds() -> Result<f64> {
    cpu_seconds("/proc/self/stat")
}

/// Bytes of the directory on disk, as `du` counts them.
pub(crate) fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

fn cpu_seconds(stat: &str) -> Result<f64> {
    let text =
        fs::read_to_string(stat).with_context(|| format!("read {stat}: is the server still alive?"))?;
    // The second field is the program's name in brackets and may contain blanks; the numbers begin after it.
    let numbers = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |n: usize| numbers.split_whitespace().nth(n).and_then(|field| field.parse::<f64>().ok());
    let ticks = field(11).zip(field(12)).map(|(user, system)| user + system);
    Ok(ticks.context("unexpected format of /proc stat")? / TICKS_PER_SECOND)
}
