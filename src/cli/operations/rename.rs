//! `rename`: metrics under other names, with their history.

use anyhow::{Context as _, Result, bail};

use super::door::Door;
use crate::cli::{Output, Rename, to_stdout, words};
use crate::config::Config;
use crate::http::{Care as _, Renamed};

/// Renames metrics, in the store or through the server that runs on it.
pub(in crate::cli) fn rename(config: &Config, arguments: &Rename, output: Output) -> Result<()> {
    let (old, new, trial) = (&*arguments.old, &*arguments.new, arguments.dry_run);
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let renamed: Renamed = match &door {
        Door::Store(engine) => engine.rename(old, new, trial)?,
        Door::Server(server) => {
            let params = [("from", old), ("to", new), ("dry_run", if trial { "1" } else { "0" })];
            let answer = server.patient().post("/internal/rename", &params, &[])?;
            serde_json::from_slice(&answer).context("the server's answer; it may be of another version")?
        }
    };
    if renamed.metrics.is_empty() {
        bail!("there is no metric `{old}` and none below it; `plumbago find` lists those there are");
    }
    door.hand_over()?;
    print(&renamed, output)
}

fn print(renamed: &Renamed, output: Output) -> Result<()> {
    to_stdout(|out| {
        if output == Output::Json {
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(renamed)?)?);
        }
        renamed.metrics.iter().try_for_each(|(old, new)| writeln!(out, "{old} -> {new}"))?;
        let count = words::count(renamed.metrics.len() as u64, "metric");
        let would = if renamed.renamed { "" } else { "would be " };
        let merged = match renamed.merged {
            0 => String::new(),
            merged => format!("; {merged} of them merged with metrics of the new names"),
        };
        eprintln!("{count} {would}renamed{merged}");
        Ok(())
    })
}
