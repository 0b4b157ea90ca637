//! `du`, `stats` and `info` on a cluster.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::super::{canonical_name, meter, nothing_matches, open, print_fields};
use super::{Stages, default_policy, leaves, names};
use crate::cli::{Info, Output, Usage, UsageError, table, to_stdout, words};
use crate::config::Config;
use crate::server::now;
use crate::store::cassandra::names::{Names, identity};
use crate::store::cassandra::{Held, TableSize, held, row_bytes, sizes, writers};
use plumbago_model::glob::Glob;
use plumbago_model::{Selection, Stage, StageKind};

/// Metrics counted together.
const BATCH: usize = 200;
/// Counts the rows of all metrics that match.
pub(in crate::cli::operations) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    let selection =
        Selection::with_all_below(&arguments.glob).map_err(|error| UsageError(error.to_string()))?;
    let names = names(config)?;
    let found = selected(&names, &selection)?;
    let (stages, default) = (Stages::new(names.cluster())?, default_policy(config));
    let mut by_stage: BTreeMap<Stage, u64> = BTreeMap::new();
    for (done, batch) in found.chunks(BATCH).enumerate() {
        meter::show("counted", done * BATCH, found.len());
        let records = names.records(batch, &default)?;
        let metrics: Vec<_> =
            records.iter().map(|(name, record)| stages.by_id(name, &record.policy)).collect();
        let counted = held(names.cluster(), &metrics, now())?;
        for ((_, stages), counts) in metrics.iter().zip(&counted) {
            for (stage, held) in stages.iter().zip(counts) {
                *by_stage.entry(*stage).or_default() += held.rows;
            }
        }
    }
    meter::clear();
    let sum =
        |kind| by_stage.iter().filter(|(stage, _)| stage.kind == kind).map(|(_, rows)| rows).sum::<u64>();
    let (points, aggregates) = (sum(StageKind::Raw), sum(StageKind::Aggregated));
    let bytes = points * row_bytes(StageKind::Raw) + aggregates * row_bytes(StageKind::Aggregated);
    to_stdout(|out| {
        if output.is_data() {
            let rows: serde_json::Map<String, Value> =
                by_stage.iter().map(|(stage, rows)| (stage.to_string(), json!(rows))).collect();
            let fields = json!({
                "metrics": found.len(), "points": points, "rows": points + aggregates, "rows_by_stage": rows,
                "estimated_bytes": bytes,
            });
            return Ok(output.line(out, &fields)?);
        }
        let metrics = words::count(found.len() as u64, "metric");
        let points = words::count(points, "point");
        writeln!(out, "{points} and {} in {metrics}", words::count(aggregates, "aggregate"))?;
        let rows: Vec<_> =
            by_stage.iter().map(|(stage, rows)| [rows.to_string(), stage.to_string()]).collect();
        table::print(out, ["rows", "stage"], &rows)?;
        let size = words::size(bytes);
        Ok(writeln!(out, "about {size} on each replica before compression (an estimate by rows)")?)
    })?;
    if found.is_empty() { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

/// The names of all metrics to count, sorted.
fn selected(names: &Names, selection: &Selection) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for pattern in selection.patterns() {
        // What was appended can make a pattern deeper than any name; such a pattern matches nothing.
        if Glob::parse(&pattern).is_ok() {
            found.extend(leaves(names, &pattern)?.into_iter().filter(|name| selection.takes(name)));
        }
    }
    Ok(found.into_iter().collect())
}

/// Prints everything that the cluster knows about one metric.
pub(in crate::cli::operations) fn info(config: &Config, arguments: &Info, output: Output) -> Result<()> {
    let name = canonical_name(&arguments.name, config.ingest.max_name_bytes)
        .map_err(|error| UsageError(error.to_string()))?;
    let names = names(config)?;
    let mut records = names.records(std::slice::from_ref(&name), &default_policy(config))?;
    let record = records.remove(&name);
    let record = record
        .with_context(|| format!("there is no metric `{name}`; `plumbago find` lists those there are"))?;
    let stages = Stages::new(names.cluster())?.of(&record.policy);
    let counted = held(names.cluster(), &[(identity::id(&name), stages.clone())], now())?;
    let counted: Vec<(Stage, Held)> = stages.into_iter().zip(counted.into_iter().flatten()).collect();
    let mut fields = json!({
        "name": name,
        "uuid": identity::id(&name).to_string(),
        "retention": words::retention(&record.policy.retention),
        "aggregation": record.policy.aggregator.name(),
        "x_files_factor": record.policy.x_files_factor,
        "created": moment(record.created_ms),
        "updated": moment(record.updated_ms),
        "read": moment(record.read_ms),
        "data_since": seconds(counted.iter().filter_map(|(_, held)| held.first).min()),
        "last_point": seconds(counted.iter().filter_map(|(_, held)| held.last).max()),
    });
    match output {
        Output::Json | Output::Csv => fields["stages"] = counted.iter().map(stage_json).collect(),
        Output::Table => {
            for (stage, held) in &counted {
                let since = seconds(held.first);
                fields[format!("stage {}s", stage.step_secs)] = json!(format!(
                    "{}, from {since} to {}",
                    words::count(held.rows, "row"),
                    seconds(held.last)
                ));
            }
        }
    }
    to_stdout(|out| print_fields(&fields, output, out))
}

fn stage_json((stage, held): &(Stage, Held)) -> Value {
    json!({
        "stage": stage.to_string(), "rows": held.rows, "first": seconds(held.first), "last": seconds(held.last),
    })
}

/// Prints numbers about the whole cluster.
pub(in crate::cli::operations) fn stats(config: &Config, output: Output) -> Result<()> {
    let names = names(config)?;
    let counts = names.count(&mut meter::ring)?;
    meter::clear();
    let settings = names.cluster().settings();
    let mut tables = serde_json::Map::new();
    let mut keyspaces = vec![&settings.keyspace, &settings.keyspace_metadata];
    keyspaces.dedup();
    for keyspace in keyspaces {
        for (table, TableSize { partitions, bytes }) in sizes(names.cluster(), keyspace)? {
            let size = json!({ "estimated_partitions": partitions, "estimated_bytes": bytes });
            tables.insert(format!("{keyspace}.{table}"), size);
        }
    }
    let writers: Vec<Value> = writers(names.cluster())?
        .into_iter()
        .map(|w| json!({ "replica": w.replica, "writer": w.writer, "owner": w.owner, "seen": moment(w.seen_ms) }))
        .collect();
    let mut fields = json!({
        "metrics": counts.metrics,
        "directories": counts.directories,
        "metadata": counts.metadata,
        "spool_points": spool(config)?,
    });
    match output {
        Output::Json | Output::Csv => {
            fields["writers"] = json!(writers);
            fields["tables"] = Value::Object(tables);
            to_stdout(|out| print_fields(&fields, output, out))
        }
        Output::Table => to_stdout(|out| {
            print_fields(&fields, output, out)?;
            for writer in &writers {
                let text = |key: &str| writer[key].as_str().unwrap_or_default().to_owned();
                let (replica, number) = (&writer["replica"], &writer["writer"]);
                writeln!(
                    out,
                    "writer {number} of replica {replica}: {}, seen {}",
                    text("owner"),
                    text("seen")
                )?;
            }
            writeln!(out, "\nSizes of tables, as the nodes estimate them:")?;
            let rows: Vec<_> = tables
                .iter()
                .map(|(table, size)| {
                    let bytes = size["estimated_bytes"].as_u64().unwrap_or_default();
                    [words::size(bytes), size["estimated_partitions"].to_string(), table.clone()]
                })
                .collect();
            Ok(table::print(out, ["size", "partitions", "table"], &rows)?)
        }),
    }
}

/// Points in the data directory of this machine that are not in the cluster yet.
fn spool(config: &Config) -> Result<Value> {
    if !config.store.path.join("catalogue.redb").exists() {
        return Ok(json!("no data directory here"));
    }
    Ok(match open(config)? {
        Some(engine) => json!(engine.spooled()),
        None => json!("in use by a server; its plumbago_spool_points has the number"),
    })
}

fn moment(ms: Option<i64>) -> String {
    let time = ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}

fn seconds(secs: Option<u32>) -> String {
    moment(secs.map(|secs| i64::from(secs) * 1000))
}
