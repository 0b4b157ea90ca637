//! `find` and `read`: on the store itself, or through the server that has it open.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write};

use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::answer::series;
use super::door::Door;
use super::{nothing_matches, summary};
use crate::cli::csv::quoted;
use crate::cli::look::{Look, Paint};
use crate::cli::{Find, Output, Read, UsageError, to_stdout};
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
    to_stdout(|out| print_found(&found, output, out))?;
    if found.is_empty() { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

fn print_found(found: &[(String, bool, bool)], output: Output, out: &mut dyn Write) -> Result<()> {
    let look = Look::of_stdout();
    if output == Output::Csv {
        writeln!(out, "path,leaf,directory")?;
    }
    for (path, leaf, directory) in found {
        match output {
            Output::Json => {
                writeln!(out, "{}", json!({ "path": path, "leaf": leaf, "directory": directory }))?
            }
            Output::Csv => writeln!(out, "{},{leaf},{directory}", quoted(path))?,
            Output::Table => {
                if *leaf {
                    writeln!(out, "{path}")?;
                }
                if *directory {
                    writeln!(out, "{}", look.paint(Paint::Directory, &format!("{path}.")))?;
                }
            }
        }
    }
    Ok(())
}

/// Prints a target: all points as CSV or as Graphite's JSON, or what a person wants to know first.
pub(in crate::cli) fn read(config: &Config, arguments: &Read, output: Output) -> Result<()> {
    // Scripts read points from a pipe, also those that were written before there was a summary.
    let is_summary = !arguments.points && (arguments.summary || io::stdout().is_terminal());
    let (is_summary, format) = match output {
        Output::Table if is_summary => (true, "json"),
        Output::Table | Output::Csv => (false, "csv"),
        Output::Json => (false, "json"),
    };
    let (bytes, is_empty) = fetch(config, arguments, format)?;
    if is_summary && !is_empty {
        let window = format!("{} to {}", arguments.from, arguments.until);
        let tz = TimeZone::get(&config.query.timezone)?;
        return to_stdout(|out| summary::print(&series(&bytes)?, &window, &tz, out));
    }
    // With JSON, prints the empty list before the command fails.
    if !is_summary {
        to_stdout(|out| Ok(out.write_all(&bytes)?))?;
    }
    if is_empty { Err(nothing_matches(&arguments.target)) } else { Ok(()) }
}

/// What `/render` answers in a format, and whether there is no series in it.
fn fetch(config: &Config, arguments: &Read, format: &str) -> Result<(Vec<u8>, bool)> {
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
            return Ok((answer, is_empty));
        }
    };
    let (tz, now) = (TimeZone::get(&config.query.timezone)?, i64::from(now()));
    let time = |text: &str| parse_time(text, now, &tz).map_err(|e| UsageError(e.to_string()));
    let request = request(config, (time(&arguments.from)?, time(&arguments.until)?))?;
    let series = render(std::slice::from_ref(&arguments.target), &request, &*engine, &Cancel::never())?;
    let mut bytes = Vec::new();
    match format {
        "json" => json_output::write(&mut bytes, &Line::all(&series), false),
        _ => csv::write(&mut bytes, &Line::all(&series), &tz),
    }
    Ok((bytes, series.is_empty()))
}

/// What `/render?format=json` of a server on this store would answer.
pub(super) fn render_json(
    config: &Config,
    engine: &Engine,
    target: &str,
    window: (i64, i64),
    now: i64,
) -> Result<Vec<u8>> {
    let request = Request { now, ..request(config, window)? };
    let series = render(&[target.to_owned()], &request, engine, &Cancel::never())?;
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
