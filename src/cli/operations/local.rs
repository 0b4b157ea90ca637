//! The commands on the store in this machine's data directory.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::json;

use super::copy::{Order, Outcome};
use super::selection::Selection;
use super::{
    canonical_name, meter, nothing_matches, only_directories, open_alone, print_deleted, print_fields,
};
use crate::cli::{Delete, Info, Output, Usage, UsageError, to_stdout, words};
use crate::config::Config;
use crate::index::FindLimits;
use crate::rollup::Copied;
use crate::server::{CopyError, Engine};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, Span, name};

/// Metrics deleted together.
const DELETE_BATCH: usize = 10_000;

fn glob(text: &str) -> Result<Glob> {
    Ok(Glob::parse(text).map_err(|e| UsageError(e.to_string()))?)
}

fn leaves(engine: &Engine, text: &str) -> Result<Vec<(MetricId, String)>> {
    let limits = FindLimits::NONE;
    Ok(engine.index.find_leaves(&glob(text)?, limits, &Cancel::never())?)
}

/// Deletes metrics with their points.
pub(super) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let found = leaves(&engine, &arguments.glob)?;
    let has_directories = || -> Result<bool> {
        let limits = FindLimits::NONE;
        let nodes = engine.index.find(&glob(&arguments.glob)?, limits, &Cancel::never())?;
        Ok(nodes.iter().any(|node| node.directory))
    };
    let missed = found.is_empty() && has_directories()?;
    if !arguments.dry_run {
        let ids: Vec<MetricId> = found.iter().map(|(id, _)| *id).collect();
        engine.points.cut()?;
        for (done, batch) in ids.chunks(DELETE_BATCH).enumerate() {
            engine.delete(batch)?;
            meter::show("deleted", done * DELETE_BATCH + batch.len(), ids.len());
        }
        meter::clear();
    }
    let names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
    print_deleted(&names, arguments.dry_run, output)?;
    if missed { Err(only_directories(&arguments.glob)) } else { Ok(()) }
}

/// Copies metrics.
pub(super) fn copy(config: &Config, order: &Order, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let mut found: BTreeMap<String, MetricId> = BTreeMap::new();
    for pattern in &order.patterns {
        found.extend(leaves(&engine, pattern)?.into_iter().map(|(id, name)| (name, id)));
    }
    let names: Vec<String> = found.keys().cloned().collect();
    order.run(&names, output, &mut |source, target| {
        let id = found.get(source).copied().context("it was not found")?;
        Ok(match engine.copy(id, target, order.window, order.trial) {
            Ok(Copied { points, aggregates }) => Outcome::Copied { points, aggregates },
            Err(error @ CopyError::OtherPolicy { .. }) => Outcome::Refused(error.to_string()),
            Err(error) => return Err(error.into()),
        })
    })
}

/// Prints how many metrics match a glob, and their bytes.
pub(super) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    let selection = Selection::parse(&arguments.glob)?;
    let engine = open_alone(config)?;
    let ids: Vec<MetricId> = {
        let index = engine.index.read();
        let is_taken = |id: &MetricId| index.name(*id).is_some_and(|name| selection.takes(name));
        (0..engine.points.id_bound()).map(MetricId).filter(is_taken).collect()
    };
    let (bytes, in_log) = (engine.chunk_bytes(&ids)?, engine.points.held());
    to_stdout(|out| {
        match output {
            Output::Json => writeln!(out, "{}", json!({ "metrics": ids.len(), "bytes": bytes }))?,
            Output::Text => {
                writeln!(out, "{} in {}", words::size(bytes), words::count(ids.len() as u64, "metric"))?;
            }
        }
        Ok(())
    })?;
    if in_log > 0 {
        let points = words::count(in_log as u64, "point");
        eprintln!("{points} of the store are still in its log and not counted");
    }
    if ids.is_empty() { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

/// Prints numbers about the store.
pub(super) fn stats(config: &Config, output: Output) -> Result<()> {
    let engine = open_alone(config)?;
    let policies = engine.points.policies().all();
    let policies: Vec<_> = policies.iter().map(|(_, policy)| policy).collect();
    let (path, points) = (&config.store.path, engine.points.held());
    let (metrics, index) = {
        let index = engine.index.read();
        (index.len(), index.memory_bytes() as u64)
    };
    let blocks = engine.stored_bytes();
    let fields = match output {
        Output::Json => json!({
            "path": path, "metrics": metrics, "block_bytes": blocks, "points_in_log": points, "index_bytes": index,
            "policies": policies.iter().map(|policy| policy.to_string()).collect::<Vec<_>>(),
        }),
        Output::Text => json!({
            "path": path, "metrics": metrics, "blocks": words::size(blocks), "points_in_log": points,
            "index_in_memory": words::size(index),
            "policies": policies.iter().map(|policy| words::policy(policy)).collect::<Vec<_>>(),
        }),
    };
    to_stdout(|out| print_fields(&fields, output, out))
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
    let last = engine
        .last_point(id, span, &Cancel::never())?
        .map_or_else(|| "never".to_owned(), |(t, v)| format!("{v} at {}", time(t)));
    let bytes = engine.chunk_bytes(&[id])?;
    let (size_key, size) = match output {
        Output::Json => ("block_bytes", json!(bytes)),
        Output::Text => ("in_blocks", json!(words::size(bytes))),
    };
    let fields = json!({
        "name": name,
        "id": id.0,
        "uuid": name::biggraphite_id(&name).to_string(),
        "retention": words::retention(&policy.retention),
        "aggregation": policy.aggregator.name(),
        "x_files_factor": policy.x_files_factor,
        "data_since": first,
        "last_point": last,
        (size_key): size,
    });
    to_stdout(|out| print_fields(&fields, output, out))
}
