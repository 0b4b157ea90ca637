//! `cardinality`: where metrics come from.

use anyhow::{Context, Result};
use serde_json::Value;

use super::door::Door;
use super::remote::Server;
use super::{asks_cluster, cluster};
use crate::cli::{Cardinality, Output, table, to_stdout, words};
use crate::config::Config;
use crate::index::Survey;
use plumbago_model::Cancel;

/// Counts metrics by tag and by the start of their names, in the store itself or through the server that has it open. On a cluster
/// any server of the configuration will do, and without one the names are read from the tables.
pub(in crate::cli) fn cardinality(config: &Config, arguments: &Cardinality, output: Output) -> Result<()> {
    let counted = match asks_cluster(config, &arguments.server) {
        false => of_store(config, arguments)?,
        // A server that has all names in memory counts them at once.
        true => match Server::of(config).and_then(|server| ask(&server, arguments)) {
            Ok(counted) => counted,
            Err(_) => cluster::cardinality(config, &survey(arguments))?,
        },
    };
    to_stdout(|out| match output {
        Output::Json | Output::Csv => Ok(output.indented(out, &counted)?),
        Output::Table => print(&counted, out),
    })
}

fn of_store(config: &Config, arguments: &Cardinality) -> Result<Value> {
    match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => {
            Ok(engine.index.all().cardinality(&survey(arguments), &Cancel::never())?.to_json())
        }
        Door::Server(server) => ask(&server, arguments),
    }
}

fn survey(arguments: &Cardinality) -> Survey {
    let Cardinality { below, depth, limit, .. } = arguments.clone();
    Survey { below: below.unwrap_or_default(), depth, limit }
}

fn ask(server: &Server, arguments: &Cardinality) -> Result<Value> {
    let (depth, limit) = (arguments.depth.to_string(), arguments.limit.to_string());
    let params =
        [("below", arguments.below.as_deref().unwrap_or_default()), ("depth", &depth), ("limit", &limit)];
    let body = server.get("/internal/cardinality", &params)?;
    serde_json::from_slice(&body).context("the server's answer is not JSON")
}

fn print(counted: &Value, out: &mut dyn std::io::Write) -> Result<()> {
    let metrics = counted["metrics"].as_u64().unwrap_or_default();
    writeln!(out, "{}, {} of them tagged", words::count(metrics, "metric"), counted["tagged"])?;
    let list = |key: &str| counted[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let tags: Vec<_> =
        list("tags").iter().map(|t| [&t["values"], &t["metrics"], &t["tag"]].map(cell)).collect();
    if !tags.is_empty() {
        writeln!(out)?;
        table::print(out, ["values", "metrics", "tag"], &tags)?;
    }
    let prefixes: Vec<_> = list("prefixes").iter().map(|p| [&p["metrics"], &p["prefix"]].map(cell)).collect();
    if !prefixes.is_empty() {
        writeln!(out)?;
        table::print(out, ["metrics", "prefix"], &prefixes)?;
    }
    Ok(())
}
