//! `backup` and `restore`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::door::Door;
use super::meter;
use super::remote::Server;
use crate::cli::{Backup, Output, Restore, UsageError, to_stdout, words};
use crate::config::{Config, StoreKind};
use crate::http::{BackedUp, BackupState, Backups as _};
use crate::store::embedded::backup::{Restored, Verified};
use crate::store::{Headway, StoreError};

/// How often the progress is shown.
const LOOK: Duration = Duration::from_millis(200);

/// Backs up the store, which a server may have open.
pub(in crate::cli) fn backup(config: &Config, arguments: &Backup, output: Output) -> Result<()> {
    must_be_embedded(config)?;
    let dir = std::path::absolute(&arguments.dir)?;
    let made = match Door::out(config, arguments.server.url.as_deref())? {
        Door::Server(server) => shown(|| state_of(&server).ok(), || ask(&server, &dir))?,
        Door::Store(engine) => shown(|| Some(engine.backup_state()), || Ok(engine.back_up(&dir)?))?,
    };
    to_stdout(|out| match output {
        Output::Json | Output::Csv => Ok(output.line(out, &serde_json::to_value(&made)?)?),
        Output::Table => {
            let BackedUp { number, files, bytes, linked, copied, copied_bytes, kept, removed, .. } = &made;
            let (files, copied_bytes) = (words::count(*files, "file"), words::size(*copied_bytes));
            writeln!(out, "backup {number} in {}: {files}, {}", made.dir.display(), words::size(*bytes))?;
            Ok(writeln!(
                out,
                "{linked} linked, {copied} copied ({copied_bytes}), {kept} kept, {removed} removed, in {:.1} s",
                made.seconds
            )?)
        }
    })?;
    complain_about(&made.lost, "are not in the backup; everything else is. `plumbago fsck` says more")
}

fn must_be_embedded(config: &Config) -> Result<()> {
    if config.store.kind == StoreKind::Embedded {
        return Ok(());
    }
    bail!(UsageError(
        "store.kind is cassandra: take a snapshot on every node with `nodetool snapshot`, and restore it with `nodetool import`, \
         as docs/OPERATIONS.md shows under \"On Cassandra\""
            .to_owned()
    ))
}

fn ask(server: &Server, dir: &Path) -> Result<BackedUp> {
    let dir =
        dir.to_str().context("the directory's name is not UTF-8, which a server cannot be asked for")?;
    let answer = server.patient().post("/internal/backup", &[("dir", dir)], &[])?;
    serde_json::from_slice(&answer).context("the server's answer; it may be of another version")
}

fn state_of(server: &Server) -> Result<BackupState> {
    Ok(serde_json::from_slice(&server.get("/internal/backup", &[])?)?)
}

/// Does the work, and shows meanwhile how far it is.
fn shown<T>(state: impl Fn() -> Option<BackupState> + Sync, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(LOOK);
                if let Some(state) = state().filter(|state| state.all_files > 0) {
                    meter::files((state.files, state.all_files), (state.bytes, state.all_bytes));
                }
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        let _ = watcher.join();
        meter::clear();
        done
    })
}

/// Brings a backup back into an empty data directory, or only checks it.
pub(in crate::cli) fn restore(config: &Config, arguments: &Restore, output: Output) -> Result<()> {
    must_be_embedded(config)?;
    let headway = Headway::default();
    let state = || {
        Some(BackupState {
            running: None,
            files: headway.files.get(),
            all_files: headway.all_files.get(),
            bytes: headway.bytes.get(),
            all_bytes: headway.all_bytes.get(),
        })
    };
    let verified = shown(state, || Ok(Verified::new(&arguments.dir.as_path().into(), &headway)?))?;
    if arguments.check {
        print_checked(&verified, output)?;
        return complain_about(verified.lost(), "were damaged when the backup was made, and are not in it");
    }
    let path = &config.store.path;
    let restored = shown(state, || verified.restore(&path.as_path().into(), &headway).map_err(goes_on))?;
    print_restored(path, &verified, &restored, output)?;
    complain_about(verified.lost(), "were damaged when the backup was made, and did not come back")
}

fn print_checked(verified: &Verified, output: Output) -> Result<()> {
    let (files, bytes, taken) = (verified.files(), verified.bytes(), verified.taken());
    to_stdout(|out| match output {
        Output::Json | Output::Csv => {
            let fields = json!({ "files": files, "bytes": bytes, "taken": taken, "lost": verified.lost() });
            Ok(output.line(out, &fields)?)
        }
        Output::Table => {
            let (files, bytes) = (words::count(files, "file"), words::size(bytes));
            Ok(writeln!(out, "{files}, {bytes}: every checksum is right; as of {}", time(taken))?)
        }
    })
}

fn print_restored(path: &Path, verified: &Verified, restored: &Restored, output: Output) -> Result<()> {
    let (files, bytes, taken) = (verified.files(), verified.bytes(), verified.taken());
    to_stdout(|out| match output {
        Output::Json | Output::Csv => {
            let fields = json!({
                "path": path, "metrics": restored.metrics, "files": files, "written": restored.files,
                "bytes": bytes, "taken": taken, "lost": verified.lost(),
            });
            Ok(output.line(out, &fields)?)
        }
        Output::Table => {
            let (metrics, files) = (words::count(restored.metrics, "metric"), words::count(files, "file"));
            let (path, bytes) = (path.display(), words::size(bytes));
            Ok(writeln!(out, "{metrics} in {path}: {files}, {bytes}, as of {}", time(taken))?)
        }
    })
}

/// A restore that the disk or a person interrupted is completed by running it again.
fn goes_on(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Io { .. } => {
            anyhow::anyhow!("{error}; run the same command again later, and it goes on from here")
        }
        other => other.into(),
    }
}

fn complain_about(lost: &[String], what: &str) -> Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    lost.iter().for_each(|path| eprintln!("damaged: {path}"));
    bail!("{} {what}", words::count(lost.len() as u64, "block"))
}

/// `2026-11-18T09:10:00Z`
fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| seconds.to_string(), |time| time.to_string())
}
