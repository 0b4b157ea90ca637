//! `top`: the busiest prefixes, the newest metrics, and those that are never read.

use std::io::Write;

use anyhow::{Result, bail};

use super::door::Door;
use super::local::answer;
use super::remote::Server;
use super::{asks_cluster, cluster};
use crate::cli::{self, Output, table, to_stdout, words};
use crate::config::Config;
use crate::http::Care as _;
use crate::index::{Survey, Top};
use plumbago_model::Cancel;

/// Prints them. A stopped store knows nothing of the points that came in lately.
pub(in crate::cli) fn top(config: &Config, arguments: &cli::Top, output: Output) -> Result<()> {
    let cli::Top { below, depth, limit, .. } = arguments.clone();
    let survey = Survey { below: below.unwrap_or_default(), depth, limit };
    let top = if asks_cluster(config, &arguments.server) {
        cluster::top(config, &survey)?
    } else {
        match Door::out(config, arguments.server.url.as_deref())? {
            Door::Server(server) => ask(&server, &survey)?,
            // The points in its log arrived before it stopped, so they tell no rate.
            Door::Store(engine) => Top { received: None, ..engine.top(&survey, &Cancel::never())? },
        }
    };
    if top.metrics == 0 && !survey.below.is_empty() {
        bail!("there is no metric below `{}`; `plumbago find` lists the directories", survey.below);
    }
    to_stdout(|out| match output {
        Output::Json | Output::Csv => Ok(output.indented(out, &serde_json::to_value(&top)?)?),
        Output::Table if arguments.never_read => print_never_read(&top, out),
        Output::Table => print(&top, out),
    })
}

/// What a running server knows.
pub(super) fn ask(server: &Server, survey: &Survey) -> Result<Top> {
    let (depth, limit) = (survey.depth.to_string(), survey.limit.to_string());
    let params = [("below", &*survey.below), ("depth", &depth), ("limit", &limit)];
    answer(&server.patient().get("/internal/top", &params)?)
}

fn print(top: &Top, out: &mut dyn Write) -> Result<()> {
    let metrics = words::count(top.metrics, "metric");
    match &top.received {
        Some(received) => {
            let points = words::count(received.points, "point");
            let (since, each_second) = (words::moment(received.since), rate(received.per_second));
            writeln!(out, "{metrics}; {points} since {since}, {each_second} a second")?;
            let rows = received.prefixes.iter().map(|busy| {
                [
                    rate(busy.per_second),
                    busy.points.to_string(),
                    busy.metrics.to_string(),
                    busy.prefix.clone(),
                ]
            });
            section(out, ["points/s", "points", "metrics", "prefix"], rows.collect())?;
        }
        None => writeln!(out, "{metrics}; how many points come in is known while a server runs")?,
    }
    let Some(created) = &top.created else {
        return Ok(writeln!(
            out,
            "\nthe tables in Cassandra say which metrics are new: leave --url out, with the configuration of the server"
        )?);
    };
    let rows =
        created.minutes.iter().map(|minute| [minute.metrics.to_string(), words::moment(minute.minute)]);
    section(out, ["created", "minute"], rows.collect())?;
    let rows = created.newest.iter().map(|newest| [words::moment(newest.created), newest.name.clone()]);
    section(out, ["created", "newest"], rows.collect())
}

fn print_never_read(top: &Top, out: &mut dyn Write) -> Result<()> {
    let Some(unread) = &top.never_read else {
        bail!(
            "the tables in Cassandra say which metrics are read: leave --url out, with the configuration of the server"
        );
    };
    let since = unread.since.map(|since| format!(" since {}", words::moment(since))).unwrap_or_default();
    let metrics = words::count(top.metrics, "metric");
    writeln!(out, "{} of {metrics} never read{since}", unread.metrics)?;
    let rows = unread
        .prefixes
        .iter()
        .map(|group| [group.never_read.to_string(), group.metrics.to_string(), group.prefix.clone()]);
    section(out, ["never read", "metrics", "prefix"], rows.collect())?;
    let time = |time: Option<u32>| time.map_or_else(|| "unknown".to_owned(), words::moment);
    let rows = unread.names.iter().map(|unread| {
        let updated = unread.updated.map_or_else(|| "unknown".to_owned(), words::day);
        [time(unread.created), updated, unread.name.clone()]
    });
    section(out, ["created", "updated", "never read"], rows.collect())
}

/// A table after an empty line, if it has rows.
fn section<const N: usize>(out: &mut dyn Write, head: [&str; N], rows: Vec<[String; N]>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    Ok(table::print(out, head, &rows)?)
}

/// With as many digits as say something.
fn rate(per_second: f64) -> String {
    let decimals = match per_second {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{per_second:.decimals$}")
}
