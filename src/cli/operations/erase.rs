//! `delete --from --until`: the points of a stretch of time.

use anyhow::{Result, bail};
use serde_json::json;

use super::copy::time;
use super::door::Door;
use super::local::answer;
use super::{asks_cluster, cluster, only_directories};
use crate::cli::{Delete, Output, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::{Care as _, DeletedRange};
use plumbago_model::{Cancel, Stretch};

/// Deletes the points of metrics in a stretch of time. The metrics stay.
pub(super) fn delete_range(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    let (from, until) = stretch(config, arguments)?;
    let deleted = match asks_cluster(config, &arguments.server) {
        false => of_store(config, arguments, (from, until))?,
        true => cluster::delete_range(config, arguments, Stretch { from, until })?,
    };
    print(&deleted, output)?;
    if deleted.only_directories { Err(only_directories(&arguments.glob)) } else { Ok(()) }
}

/// In the store, or through the server that runs on it.
fn of_store(config: &Config, arguments: &Delete, (from, until): (u32, u32)) -> Result<DeletedRange> {
    Ok(match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => {
            engine.delete_range(&arguments.glob, (from, until), arguments.dry_run, &Cancel::never())?
        }
        Door::Server(server) => {
            let (from, until) = (from.to_string(), until.to_string());
            let trial = if arguments.dry_run { "1" } else { "0" };
            let params =
                [("query", &*arguments.glob), ("from", &*from), ("until", &*until), ("dry_run", trial)];
            answer(&server.patient().post("/internal/delete-range", &params, &[])?)?
        }
    })
}

fn stretch(config: &Config, arguments: &Delete) -> Result<(u32, u32)> {
    let from = time(config, arguments.from.as_deref())?.unwrap_or(0);
    let until = time(config, arguments.until.as_deref())?.unwrap_or(0);
    if from >= until {
        bail!(UsageError(format!(
            "--from is {from} and --until is {until}, in seconds since 1970: nothing lies between them"
        )));
    }
    Ok((from, until))
}

fn print(deleted: &DeletedRange, output: Output) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => {
                let fields = json!({ "deleted": deleted.deleted, "metrics": deleted.metrics });
                output.line(out, &fields)?;
            }
            Output::Table => {
                deleted.metrics.iter().try_for_each(|metric| writeln!(out, "{}", metric.name))?
            }
        }
        let sum =
            |count: fn(&crate::http::DeletedSlots) -> u64| deleted.metrics.iter().map(count).sum::<u64>();
        let points = words::count(sum(|metric| metric.points), "point");
        let aggregates = words::count(sum(|metric| metric.aggregates), "aggregate");
        let remade = words::count(sum(|metric| metric.remade), "aggregate");
        let metrics = words::count(deleted.metrics.len() as u64, "metric");
        let would = if deleted.deleted { "" } else { "would be " };
        eprintln!(
            "{points} and {aggregates} of {metrics} {would}deleted, {remade} at the edges {would}made again"
        );
        Ok(())
    })
}
