//! `copy --to`: metrics with all their stages, to another server or into the store of another configuration.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::super::door::Door;
use super::super::moving::window;
use super::super::nothing_matches;
use super::super::remote::Server;
use super::super::token::Login;
use super::super::transport::{Carrier, Checked, Delivery, Journal};
use crate::cli::progress::Progress;
use crate::cli::{Copy, Output, UsageError, to_stdout, words};
use crate::config::{Config, Loaded, Sources};
use crate::http::{ImportOptions, Imported};

/// Copies the metrics of a glob to another place.
pub(in crate::cli::operations) fn transfer(
    config: &Config,
    arguments: &Copy,
    to: &str,
    output: Output,
) -> Result<()> {
    let window = window(config, arguments.from.as_deref(), arguments.until.as_deref())?;
    let elsewhere = &arguments.elsewhere;
    let source = Door::out(config, arguments.server.url.as_deref())?;
    let names = source.names(&arguments.source)?;
    if names.is_empty() {
        return Err(nothing_matches(&arguments.source));
    }
    if arguments.dry_run {
        return print_names(&names, output);
    }
    let target = destination(config, to, elsewhere.to_token_file.as_deref(), &source)?;
    let (from, until) = window;
    let what = format!(
        "plumbago copy {} of {} to {}, {from} to {until}",
        arguments.source,
        source.name(),
        target.name()
    );
    let journal = Journal::open(&elsewhere.journal, &what)?;
    let progress = Progress::counting("metric", names.len() as u64)?;
    let options = ImportOptions { keep_policy: !elsewhere.by_rules, window };
    let carrier = Carrier::new(&target, options, &progress);
    let mut delivery = Delivery::new(&target, window, carrier, journal);
    let left: Vec<String> = names.into_iter().filter(|name| !delivery.is_done(name)).collect();
    progress.tally().files.add(delivery.earlier());
    let (done, checked, journal) = source
        .export(&left, window, |bundle| delivery.take(bundle))
        .and_then(|()| delivery.finish())
        .context("the copy stopped; run the same command again to go on where it was")?;
    let told = progress.finish();
    print(&done, &checked, output)?;
    eprintln!("{told}");
    journal.remove()?;
    match done.refused.len() + checked.different.len() {
        0 => Ok(()),
        bad => bail!("{} not copied as they are, see above", words::count(bad as u64, "metric")),
    }
}

/// A server by its URL, or the store of a configuration file.
fn destination(config: &Config, to: &str, token_file: Option<&Path>, source: &Door) -> Result<Door> {
    let itself = || UsageError(format!("{} cannot be copied to itself (--to)", source.name()));
    if to.contains("://") {
        let login = Login::of_other("--to-token-file", token_file)?;
        let server = Server::named(to, "no server answers there (--to)", login)?;
        server.reach()?;
        let target = Door::Server(server);
        return if target.name() == source.name() { bail!(itself()) } else { Ok(target) };
    }
    if !Path::new(to).is_file() {
        bail!(UsageError(format!(
            "--to `{to}`: write a URL such as http://127.0.0.1:8080, or the path of a configuration file"
        )));
    }
    // The environment and --set belong to where the metrics come from.
    let loaded = Loaded::new(&Sources { file: Some(PathBuf::from(to)), ..Sources::default() })?;
    let place = |config: &Config| std::path::absolute(&config.store.path);
    if matches!(source, Door::Store(_)) && place(config)? == place(&loaded.config)? {
        bail!(itself());
    }
    let target = Door::into(&loaded.config, None)?;
    if target.name() == source.name() { bail!(itself()) } else { Ok(target) }
}

fn print_names(names: &[String], output: Output) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => output.line(out, &json!({ "copied": false, "metrics": names }))?,
            Output::Table => names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        }
        eprintln!("{} would be copied", words::count(names.len() as u64, "metric"));
        Ok(())
    })
}

fn print(done: &Imported, checked: &Checked, output: Output) -> Result<()> {
    to_stdout(|out| {
        if output.is_data() {
            let refused = done.refused.iter().map(|(name, why)| json!({ "name": name, "why": why }));
            let report = json!({
                "copied": true,
                "metrics": done.metrics,
                "metrics_created": done.created,
                "points": done.points,
                "aggregates": done.aggregates,
                "slots_there_already": done.there,
                "verified": checked.verified,
                "merged": checked.merged,
                "kept_by_other_rules": checked.adapted,
                "copied_earlier": checked.earlier,
                "different": checked.different,
                "refused": refused.collect::<Vec<_>>(),
            });
            return Ok(output.line(out, &report)?);
        }
        let (points, aggregates) =
            (words::count(done.points, "point"), words::count(done.aggregates, "aggregate"));
        writeln!(out, "{} with {points} and {aggregates} copied", words::count(done.metrics, "metric"))?;
        Ok(checked.print(done, "copied", out)?)
    })
}
