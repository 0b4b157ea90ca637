//! What each command does with the store.
//!
//! The embedded store belongs to one process. While a server runs on it, `find`, `read` and `write` go through that
//! server's own ports ([`remote`]); the other commands say that it has to be stopped.

mod inspect;
mod names;
mod query;
mod remote;
mod schema;

use anyhow::{Context, Result, bail};
use serde_json::json;

pub(super) use inspect::{dump, fsck};
pub(super) use names::{clean, repair};
pub(super) use query::{find, read, write};
pub(super) use schema::schema;

use super::{Delete, Info, Output, Usage, UsageError, to_stdout, words};
use crate::config::Config;
use crate::index::FindLimits;
use crate::model::glob::Glob;
use crate::model::{Cancel, MetricId, Span, name};
use crate::server::Engine;
use crate::store::StoreError;

/// Metrics deleted in one go.
const DELETE_BATCH: usize = 10_000;

/// Runs the server.
pub(super) fn serve(config: Config) -> Result<()> {
    crate::server::run(config)
}

/// The spelling a name is stored under.
pub(super) fn canonical_name(raw: &str, max_bytes: usize) -> Result<String> {
    Ok(name::canonical(raw, max_bytes)?.into_owned())
}

/// Opens a store that is there, or `None` when a running server has it. Looking for something makes no directory.
fn open(config: &Config) -> Result<Option<Engine>> {
    let path = &config.store.path;
    if !path.join("catalogue.redb").exists() {
        bail!("there is no data directory at {}; set store.path to the one of your server", path.display());
    }
    open_or_make(config)
}

/// Opens the store, making it if it is not there, or `None` when a running server has it.
fn open_or_make(config: &Config) -> Result<Option<Engine>> {
    match Engine::open(config.clone()) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_alone(config: &Config) -> Result<Engine> {
    open(config)?.with_context(|| {
        format!(
            "the data directory {} is in use by a running server; stop it first",
            config.store.path.display()
        )
    })
}

fn leaves(engine: &Engine, glob: &str) -> Result<Vec<(MetricId, String)>> {
    let glob = Glob::parse(glob).map_err(|e| UsageError(e.to_string()))?;
    let limits = FindLimits { max_hits: usize::MAX };
    Ok(engine.index.find_leaves(&glob, limits, &Cancel::never())?)
}

/// Deletes metrics with their points.
pub(super) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let found = leaves(&engine, &arguments.glob)?;
    if !arguments.dry_run {
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        engine.points.cut()?;
        for (done, batch) in ids.chunks(DELETE_BATCH).enumerate() {
            engine.delete(batch)?;
            if ids.len() > DELETE_BATCH {
                eprint!("\rdeleted {} of {}", (done * DELETE_BATCH + batch.len()), ids.len());
            }
        }
    }
    to_stdout(|out| {
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        match output {
            Output::Json => writeln!(out, "{}", json!({ "deleted": !arguments.dry_run, "metrics": names }))?,
            Output::Text => names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        }
        let verb = if arguments.dry_run { "would be deleted" } else { "deleted" };
        eprintln!("{} metrics {verb}", names.len());
        Ok(())
    })
}

/// Prints how many metrics a glob has and what they take up.
pub(super) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let found = leaves(&engine, &arguments.glob)?;
    let mut ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    let bytes = engine.chunk_bytes(&ids)?;
    to_stdout(|out| {
        match output {
            Output::Json => writeln!(out, "{}", json!({ "metrics": ids.len(), "bytes": bytes }))?,
            Output::Text => writeln!(out, "{bytes} bytes in {} metrics", ids.len())?,
        }
        Ok(())
    })
}

/// Prints numbers about the store.
pub(super) fn stats(config: &Config, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let policies = engine.points.policies().all();
    let numbers = json!({
        "path": config.store.path,
        "metrics": engine.index.read().len(),
        "block_bytes": engine.stored_bytes(),
        "points_in_log": engine.points.held(),
        "index_bytes": engine.index.read().memory_bytes(),
        "policies": policies.iter().map(|(_, p)| p.to_string()).collect::<Vec<_>>(),
    });
    to_stdout(|out| print_fields(&numbers, output, out))
}

/// Prints what is known about one metric.
pub(super) fn info(config: &Config, arguments: &Info, output: Output) -> Result<()> {
    let name = canonical_name(&arguments.name, config.ingest.max_name_bytes)
        .map_err(|e| UsageError(e.to_string()))?;
    let engine = open_alone(config)?;
    let id = engine.index.read().lookup(name.as_bytes());
    let id =
        id.with_context(|| format!("there is no metric `{name}`; `plumbago find` lists those there are"))?;
    let (policy, span) = engine.points.state(id).context("the metric is being deleted")?;
    let policy = engine.points.policies().get(policy).context("its policy is not in the catalogue")?;
    let time = |t: u32| jiff::Timestamp::from_second(i64::from(t)).map(|t| t.to_string()).unwrap_or_default();
    let first = if span == Span::EMPTY { "never".to_owned() } else { time(span.first) };
    let last = last_point(&engine, id, span)?
        .map_or_else(|| "never".to_owned(), |(t, v)| format!("{v} at {}", time(t)));
    let fields = json!({
        "name": name,
        "id": id.0,
        "uuid": name::biggraphite_id(&name).to_string(),
        "retention": words::retention(&policy.retention),
        "aggregation": policy.aggregator.name(),
        "x_files_factor": policy.x_files_factor,
        "data_since": first,
        "last_point": last,
        "block_bytes": engine.chunk_bytes(&[id])?,
    });
    to_stdout(|out| print_fields(&fields, output, out))
}

/// Spans are kept by the hour; the point itself is read.
fn last_point(engine: &Engine, id: MetricId, span: Span) -> Result<Option<(u32, f64)>> {
    let (from, now) = (i64::from(span.last) - 2 * 3600, i64::from(crate::server::now()));
    let read = engine.points.fetch(&[id], from, i64::from(span.last), now, &Cancel::never())?;
    let Some(series) = read.into_iter().flatten().next() else { return Ok(None) };
    let at = series.values.iter().rposition(|v| !v.is_nan());
    Ok(at.map(|at| (series.range.time(at), series.values[at])))
}

/// One field per line, or all of them as JSON.
fn print_fields(fields: &serde_json::Value, output: Output, out: &mut dyn std::io::Write) -> Result<()> {
    if let (Output::Text, Some(object)) = (output, fields.as_object()) {
        for (key, value) in object {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            writeln!(out, "{:<16}{text}", key.replace('_', " "))?;
        }
        return Ok(());
    }
    Ok(writeln!(out, "{fields:#}")?)
}
