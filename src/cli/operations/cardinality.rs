//! `cardinality`: where all the metrics come from.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{open, remote};
use crate::cli::{Cardinality, Output, to_stdout};
use crate::config::{Config, StoreKind};
use crate::index::Survey;
use plumbago_model::Cancel;

/// Counts metrics by tag and by the start of their names: in the store itself, or by the server that has it open.
pub(in crate::cli) fn cardinality(config: &Config, arguments: &Cardinality, output: Output) -> Result<()> {
    let counted = match config.store.kind {
        StoreKind::Embedded => open(config)?,
        StoreKind::Cassandra => None,
    };
    let counted = match counted {
        Some(engine) => {
            let Cardinality { below, depth, limit } = arguments.clone();
            let survey = Survey { below: below.unwrap_or_default(), depth, limit };
            engine.index.cardinality(&survey, &Cancel::never())?.to_json()
        }
        None => ask(config, arguments)?,
    };
    to_stdout(|out| match output {
        Output::Json => Ok(writeln!(out, "{counted:#}")?),
        Output::Text => print(&counted, out),
    })
}

fn ask(config: &Config, arguments: &Cardinality) -> Result<Value> {
    let (depth, limit) = (arguments.depth.to_string(), arguments.limit.to_string());
    let params =
        [("below", arguments.below.as_deref().unwrap_or_default()), ("depth", &depth), ("limit", &limit)];
    let body = remote::get(config, "/internal/cardinality", &params)?;
    serde_json::from_str(&body).context("the server's answer is no JSON")
}

fn print(counted: &Value, out: &mut dyn std::io::Write) -> Result<()> {
    writeln!(out, "{} metrics, {} of them tagged", counted["metrics"], counted["tagged"])?;
    let list = |key: &str| counted[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tags = list("tags");
    if !tags.is_empty() {
        writeln!(out, "\n{:>12} {:>12}  tag", "values", "metrics")?;
    }
    for tag in tags {
        writeln!(out, "{:>12} {:>12}  {}", tag["values"], tag["metrics"], text(&tag["tag"]))?;
    }
    let prefixes = list("prefixes");
    if !prefixes.is_empty() {
        writeln!(out, "\n{:>12}  prefix", "metrics")?;
    }
    for prefix in prefixes {
        writeln!(out, "{:>12}  {}", prefix["metrics"], text(&prefix["prefix"]))?;
    }
    Ok(())
}
