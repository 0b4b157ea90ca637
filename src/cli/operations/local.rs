//! The commands on the store in this machine's data directory.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow};
use serde_json::json;

use super::copy::{Order, Outcome};
use super::door::Door;
use super::remote::Server;
use super::{canonical_name, nothing_matches, only_directories, print_deleted, print_fields};
use crate::cli::{Delete, Info, Output, Stats, Usage, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::{self, Care as _, CopiedMetric, Deleted, Description};
use plumbago_model::{Cancel, Policy, name};

/// Deletes metrics with their points, in the store or through the server that runs on it.
pub(super) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let Deleted { metrics, only_directories: missed, .. } = match &door {
        Door::Store(engine) => {
            engine.delete_matching(&arguments.glob, arguments.dry_run, &Cancel::never())?
        }
        Door::Server(server) => {
            let trial = if arguments.dry_run { "1" } else { "0" };
            let params = [("query", &*arguments.glob), ("dry_run", trial)];
            answer(&server.post("/internal/delete", &params, &[])?)?
        }
    };
    print_deleted(&metrics, arguments.dry_run, output)?;
    if missed { Err(only_directories(&arguments.glob)) } else { Ok(()) }
}

pub(super) fn answer<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).context("the server's answer; it may be of another version")
}

/// Copies metrics.
pub(super) fn copy(config: &Config, order: &Order, url: Option<&str>, output: Output) -> Result<()> {
    let door = Door::out(config, url)?;
    let mut found = BTreeSet::new();
    for pattern in &order.patterns {
        found.extend(door.names(pattern)?.into_iter().filter(|name| order.takes(name)));
    }
    let names: Vec<String> = found.into_iter().collect();
    order.run(&names, output, &mut |source, target| {
        let copied = match &door {
            Door::Store(engine) => engine.copy_metric(source, target, order.window, order.trial)?,
            Door::Server(server) => ask_to_copy(server, source, target, order)?,
        };
        let copied = copied.context("it is gone")?;
        Ok(match copied.refused {
            None => Outcome::Copied { points: copied.points, aggregates: copied.aggregates },
            Some(why) => Outcome::Refused(why),
        })
    })
}

fn ask_to_copy(server: &Server, source: &str, target: &str, order: &Order) -> Result<Option<CopiedMetric>> {
    let (from, until) = (order.window.0.to_string(), order.window.1.to_string());
    let trial = if order.trial { "1" } else { "0" };
    let params = [
        ("source", source),
        ("destination", target),
        ("from", &*from),
        ("until", &*until),
        ("dry_run", trial),
    ];
    Ok(Some(answer(&server.patient().post("/internal/copy", &params, &[])?)?))
}

/// Prints how many metrics a glob has and what they take up.
pub(super) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let used: http::Usage = match &door {
        Door::Store(engine) => engine.usage(&arguments.glob, &Cancel::never())?,
        Door::Server(server) => answer(&server.get("/internal/usage", &[("query", &arguments.glob)])?)?,
    };
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => {
                output.line(out, &json!({ "metrics": used.metrics, "bytes": used.bytes }))?;
            }
            Output::Table => {
                writeln!(out, "{} in {}", words::size(used.bytes), words::count(used.metrics, "metric"))?;
            }
        }
        Ok(())
    })?;
    if used.points_in_log > 0 {
        let points = words::count(used.points_in_log, "point");
        eprintln!("{points} of the store are still in its log, which is not counted");
    }
    if used.metrics == 0 { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

/// Prints numbers about the store.
pub(super) fn stats(config: &Config, arguments: &Stats, output: Output) -> Result<()> {
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let stats: http::Stats = match &door {
        Door::Store(engine) => engine.stats()?,
        Door::Server(server) => answer(&server.get("/internal/stats", &[])?)?,
    };
    let in_words =
        |text: &String| text.parse().map_or_else(|_| text.clone(), |policy| words::policy(&policy));
    let fields = match output {
        Output::Json | Output::Csv => json!(stats),
        Output::Table => json!({
            "path": stats.path, "metrics": stats.metrics, "blocks": words::size(stats.block_bytes),
            "points_in_log": stats.points_in_log, "index_in_memory": words::size(stats.index_bytes),
            "policies": stats.policies.iter().map(in_words).collect::<Vec<_>>(),
        }),
    };
    to_stdout(|out| print_fields(&fields, output, out))
}

/// Prints what is known about one metric.
pub(super) fn info(config: &Config, arguments: &Info, output: Output) -> Result<()> {
    let name = canonical_name(&arguments.name, config.ingest.max_name_bytes)
        .map_err(|e| UsageError(e.to_string()))?;
    let door = Door::out(config, arguments.server.url.as_deref())?;
    let found: Option<Description> = match &door {
        Door::Store(engine) => engine.describe_metric(&name)?,
        Door::Server(server) => match server.find("/internal/info", &[("name", &name)])? {
            Some(body) => Some(answer(&body)?),
            None => None,
        },
    };
    let found = found
        .with_context(|| format!("there is no metric `{name}`; `plumbago find` lists those there are"))?;
    let policy: Policy = found.policy.parse().map_err(|error| anyhow!("its policy: {error}"))?;
    let time = words::moment;
    let never = || "never".to_owned();
    let (size_key, size) = match output {
        Output::Json | Output::Csv => ("block_bytes", json!(found.bytes)),
        Output::Table => ("in_blocks", json!(words::size(found.bytes))),
    };
    let mut fields = json!({
        "name": name,
        "id": found.id,
        "uuid": name::biggraphite_id(&name).to_string(),
        "retention": words::retention(&policy.retention),
        "aggregation": policy.aggregator.name(),
        "x_files_factor": policy.x_files_factor,
        "data_since": found.first.map_or_else(never, time),
        "last_point": found.last.map_or_else(never, |(t, v)| format!("{v} at {}", time(t))),
        (size_key): size,
    });
    if let Some(since) = found.dates_since {
        let day = |day: Option<u32>| day.map_or_else(never, words::day);
        let before = || format!("before {}", words::moment(since));
        fields["created"] = json!(found.created.map_or_else(before, words::moment));
        fields["updated"] = json!(day(found.updated));
        fields["read"] = json!(day(found.read));
    }
    to_stdout(|out| print_fields(&fields, output, out))
}
