//! `rename`: metrics under other names, with their history.

use anyhow::{Context as _, Result, bail};

use super::cluster;
use super::copy::Order;
use super::door::Door;
use crate::cli::{Output, Rename, to_stdout, words};
use crate::config::{Config, StoreKind};
use crate::http::{Care as _, Renamed};

/// Renames metrics, in the store or through the server that runs on it.
pub(in crate::cli) fn rename(config: &Config, arguments: &Rename, output: Output) -> Result<()> {
    let (old, new, trial) = (&*arguments.old, &*arguments.new, arguments.dry_run);
    if arguments.server.url.is_none() && config.store.kind == StoreKind::Cassandra {
        let has_tags = old.contains(';') || new.contains(';');
        let mut order = Order::everything(config, old, new, !has_tags)?;
        order.trial = trial;
        return cluster::rename(config, &order, output);
    }
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
    print(&renamed, output)
}

fn print(renamed: &Renamed, output: Output) -> Result<()> {
    to_stdout(|out| {
        if output.is_data() {
            return Ok(output.indented(out, &serde_json::to_value(renamed)?)?);
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
