//! `find` and `read`: on the store itself, or through the server that has it open.

use std::collections::HashMap;

use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::super::{Find, Output, Read, UsageError, to_stdout};
use super::door::Door;
use super::nothing_matches;
use crate::config::Config;
use crate::index::FindLimits;
use crate::server::{Engine, now};
use graphite_render::Request;
use graphite_render::output::{Line, csv, json as json_output};
use graphite_render::render;
use graphite_render::time::parse_time;
use plumbago_model::Cancel;
use plumbago_model::glob::Glob;

/// Prints the metrics and directories that match a glob; directories end in a dot.
pub(in crate::cli) fn find(config: &Config, arguments: &Find, output: Output) -> Result<()> {
    let glob = Glob::parse(&arguments.glob).map_err(|e| UsageError(e.to_string()))?;
    let mut found: Vec<(String, bool, bool)> = Vec::new();
    match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => {
            let nodes = engine.index.find(&glob, FindLimits::NONE, &Cancel::never())?;
            found.extend(nodes.iter().map(|n| (n.path.to_owned(), n.leaf.is_some(), n.directory)));
        }
        Door::Server(server) => {
            let answer = server.get("/metrics/find", &[("query", &*arguments.glob), ("format", "json")])?;
            let nodes: Vec<Value> = serde_json::from_slice(&answer).context("the server's answer")?;
            for node in nodes {
                let leaf = node["is_leaf"].as_bool().unwrap_or(false);
                found.push((node["path"].as_str().unwrap_or_default().to_owned(), leaf, !leaf));
            }
        }
    }
    to_stdout(|out| {
        for (path, leaf, directory) in &found {
            match output {
                Output::Json => {
                    writeln!(out, "{}", json!({ "path": path, "leaf": leaf, "directory": directory }))?
                }
                Output::Text => {
                    if *leaf {
                        writeln!(out, "{path}")?;
                    }
                    if *directory {
                        writeln!(out, "{path}.")?;
                    }
                }
            }
        }
        Ok(())
    })?;
    if found.is_empty() { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

/// Prints the points of a target as CSV or as Graphite's JSON.
pub(in crate::cli) fn read(config: &Config, arguments: &Read, output: Output) -> Result<()> {
    let format = if output == Output::Json { "json" } else { "csv" };
    let engine = match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => engine,
        Door::Server(server) => {
            let params = [
                ("target", arguments.target.as_str()),
                ("from", arguments.from.as_str()),
                ("until", arguments.until.as_str()),
                ("format", format),
            ];
            let answer = server.get("/render", &params)?;
            let is_empty = matches!(answer.trim_ascii(), b"" | b"[]");
            return print_series(&answer, is_empty, &arguments.target);
        }
    };
    let (tz, now) = (TimeZone::get(&config.query.timezone)?, i64::from(now()));
    let time = |text: &str| parse_time(text, now, &tz).map_err(|e| UsageError(e.to_string()));
    let request = request(config, (time(&arguments.from)?, time(&arguments.until)?))?;
    let series = render(std::slice::from_ref(&arguments.target), &request, &*engine, &Cancel::never())?;
    let mut bytes = Vec::new();
    match output {
        Output::Json => json_output::write(&mut bytes, &Line::all(&series), false),
        Output::Text => csv::write(&mut bytes, &Line::all(&series), &tz),
    }
    print_series(&bytes, series.is_empty(), &arguments.target)
}

/// What `/render?format=json` of a server on this store would answer.
pub(super) fn render_json(
    config: &Config,
    engine: &Engine,
    target: &str,
    window: (i64, i64),
) -> Result<Vec<u8>> {
    let series = render(&[target.to_owned()], &request(config, window)?, engine, &Cancel::never())?;
    let mut bytes = Vec::new();
    json_output::write(&mut bytes, &Line::all(&series), false);
    Ok(bytes)
}

fn request(config: &Config, (from, until): (i64, i64)) -> Result<Request> {
    Ok(Request {
        from,
        until,
        now: i64::from(now()),
        tz: TimeZone::get(&config.query.timezone)?,
        x_files_factor: 0.0,
        template: HashMap::new(),
        max_points: config.query.max_points,
    })
}

/// With JSON output, prints the empty list before the command fails.
fn print_series(bytes: &[u8], is_empty: bool, target: &str) -> Result<()> {
    to_stdout(|out| Ok(out.write_all(bytes)?))?;
    if is_empty { Err(nothing_matches(target)) } else { Ok(()) }
}
