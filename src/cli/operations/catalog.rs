//! `catalog`: what is known of metrics with tags.

use std::io::Write;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::Value;

use super::door::Door;
use super::remote::Server;
use crate::cli::{Catalog, CatalogList, Output, UsageError, table, to_stdout};
use crate::config::Config;
use crate::http::{self, CatalogQuery, Labelled as _, months};
use plumbago_model::Cancel;

/// Lists a part of the catalogue, from the store itself or through the server that has it open.
pub(in crate::cli) fn catalog(config: &Config, arguments: &Catalog, output: Output) -> Result<()> {
    let listed = match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => engine.catalog(&query(arguments)?, &Cancel::never())?,
        Door::Server(server) => ask(&server, arguments)?,
    };
    to_stdout(|out| match output {
        Output::Json | Output::Csv => Ok(output.indented(out, &listed)?),
        Output::Table => print(arguments, &listed, out),
    })
}

fn metric(arguments: &Catalog) -> Result<String> {
    let missing =
        || UsageError("name the metric: plumbago catalog tags METRIC, or windows METRIC".to_owned());
    Ok(arguments.metric.clone().ok_or_else(missing)?)
}

fn query(arguments: &Catalog) -> Result<CatalogQuery> {
    let about = match (arguments.what, &arguments.tag) {
        (CatalogList::Metrics, _) => {
            let months = months(arguments.from.as_deref(), arguments.until.as_deref()).map_err(UsageError)?;
            http::Catalog::Metrics(months)
        }
        (CatalogList::Tags, None) => http::Catalog::Tags(metric(arguments)?),
        (CatalogList::Tags, Some(tag)) => http::Catalog::Values(metric(arguments)?, tag.clone()),
        (CatalogList::Cardinality, _) => http::Catalog::Cardinality,
        (CatalogList::Windows, _) => http::Catalog::Windows(metric(arguments)?),
        (CatalogList::Partitions, _) => http::Catalog::Partitions,
    };
    let prefix = arguments.prefix.clone().unwrap_or_default();
    Ok(CatalogQuery { about, prefix, after: arguments.after.clone(), limit: arguments.limit })
}

fn ask(server: &Server, arguments: &Catalog) -> Result<Value> {
    // What is wrong with the arguments is said without asking.
    query(arguments)?;
    let list = match arguments.what {
        CatalogList::Metrics => "metrics",
        CatalogList::Tags => "tags",
        CatalogList::Cardinality => "cardinality",
        CatalogList::Windows => "windows",
        CatalogList::Partitions => "partitions",
    };
    let limit = arguments.limit.to_string();
    let given = [
        ("metric", &arguments.metric),
        ("tag", &arguments.tag),
        ("from", &arguments.from),
        ("until", &arguments.until),
        ("prefix", &arguments.prefix),
        ("after", &arguments.after),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let params: Vec<(&str, &str)> = given.chain([("limit", &*limit)]).collect();
    let body = server.get(&format!("/api/v1/catalog/{list}"), &params)?;
    serde_json::from_slice(&body).context("the server's answer is not JSON")
}

fn print(arguments: &Catalog, listed: &Value, out: &mut dyn Write) -> Result<()> {
    let rows = |key: &str| listed[key].as_array().map(Vec::as_slice).unwrap_or_default();
    match (arguments.what, &arguments.tag) {
        (CatalogList::Metrics, _) => {
            for month in rows("months") {
                writeln!(out, "{}", cell(&month["month"]))?;
                let metrics = month["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
                let row = |m: &Value| {
                    [cell(&m["series"]), time(&m["first_seen"]), time(&m["last_seen"]), cell(&m["metric"])]
                };
                table::print(
                    out,
                    ["series", "first", "last", "metric"],
                    &metrics.iter().map(row).collect::<Vec<_>>(),
                )?;
            }
        }
        (CatalogList::Tags, None) => {
            let row = |t: &Value| [&t["values"], &t["series"], &t["tag"]].map(cell);
            table::print(
                out,
                ["values", "series", "tag"],
                &rows("tags").iter().map(row).collect::<Vec<_>>(),
            )?;
        }
        (CatalogList::Tags, Some(_)) => {
            let row = |v: &Value| {
                [cell(&v["series"]), time(&v["first_seen"]), time(&v["last_seen"]), cell(&v["value"])]
            };
            table::print(
                out,
                ["series", "first", "last", "value"],
                &rows("values").iter().map(row).collect::<Vec<_>>(),
            )?;
        }
        (CatalogList::Cardinality, _) => {
            let row = |r: &Value| [&r["values"], &r["series"], &r["tag"], &r["metric"]].map(cell);
            table::print(
                out,
                ["values", "series", "tag", "metric"],
                &rows("cardinality").iter().map(row).collect::<Vec<_>>(),
            )?;
        }
        (CatalogList::Windows, _) => {
            let row = |w: &Value| [time(&w["start"]), time(&w["end"]), cell(&w["series"])];
            table::print(
                out,
                ["start", "end", "series"],
                &rows("windows").iter().map(row).collect::<Vec<_>>(),
            )?;
        }
        (CatalogList::Partitions, _) => {
            let row = |p: &Value| {
                [&p["bytes_per_partition"], &p["partition_seconds"], &p["bytes_on_this_machine"], &p["stage"]]
                    .map(cell)
            };
            let head = ["bytes a partition", "seconds a partition", "bytes here", "stage"];
            table::print(out, head, &rows("partitions").iter().map(row).collect::<Vec<_>>())?;
        }
    }
    if let Some(next) = listed["next"].as_str() {
        writeln!(out, "there may be more: --after '{next}'")?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A moment in milliseconds as a person reads it.
fn time(value: &Value) -> String {
    let at = value.as_i64().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    at.map_or_else(|| "-".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
