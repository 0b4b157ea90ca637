//! `copy`: metrics under other names. With `--to` they go to another place, which is [`between`]'s work.

use anyhow::{Context as _, Result, bail};
use jiff::tz::TimeZone;
use serde_json::json;

use super::{between, canonical_name, cluster, local, meter};
use crate::cli::{Copy, Output, UsageError, to_stdout, words};
use crate::config::{Config, StoreKind};
use crate::server::now;
use graphite_render::time::parse_time;
use plumbago_model::glob::Glob;

/// The arguments, checked.
pub(super) struct Order {
    source: String,
    destination: String,
    /// Globs that find the metrics.
    pub(super) patterns: Vec<String>,
    /// Copy slots that start at the first time or later, and before the second.
    pub(super) window: (u32, u32),
    /// Only count, change nothing.
    pub(super) trial: bool,
}

/// The points and aggregated slots copied from one metric, or why it was skipped.
pub(super) enum Outcome {
    Copied { points: u64, aggregates: u64 },
    Refused(String),
}

/// Copies one metric to another name.
pub(super) type Worker<'a> = dyn FnMut(&str, &str) -> Result<Outcome> + 'a;

/// Copies metrics.
pub(in crate::cli) fn copy(config: &Config, arguments: &Copy, output: Output) -> Result<()> {
    if let Some(to) = &arguments.elsewhere.to {
        return between::transfer(config, arguments, to, output);
    }
    // clap does not check `requires` here, because --to conflicts with the destination, which is given.
    if arguments.elsewhere.by_rules {
        bail!(UsageError("--by-rules belongs to --to, which names the place to copy to".to_owned()));
    }
    let order = Order::new(config, arguments)?;
    match (&arguments.server.url, config.store.kind) {
        (None, StoreKind::Cassandra) => cluster::copy(config, &order, output),
        (url, _) => local::copy(config, &order, url.as_deref(), output),
    }
}

impl Order {
    fn new(config: &Config, arguments: &Copy) -> Result<Self> {
        let destination = arguments.destination.as_deref().unwrap_or_default();
        let order = Self::everything(config, &arguments.source, destination, arguments.recursive)?;
        let window = (
            time(config, arguments.from.as_deref())?.unwrap_or(0),
            time(config, arguments.until.as_deref())?.unwrap_or(u32::MAX),
        );
        Ok(Self { window, trial: arguments.dry_run, ..order })
    }

    /// All that a metric has, and if `recursive` all that is below it.
    pub(super) fn everything(
        config: &Config,
        source: &str,
        destination: &str,
        recursive: bool,
    ) -> Result<Self> {
        let name = |text: &str| {
            canonical_name(text, config.ingest.max_name_bytes).map_err(|error| UsageError(error.to_string()))
        };
        let (source, destination) = (name(source)?, name(destination)?);
        for name in [&source, &destination] {
            if !name.contains(';') && !Glob::parse(name).is_ok_and(|glob| glob.is_literal()) {
                bail!(UsageError(format!("`{name}` is a glob; give the name of a metric or a directory")));
            }
        }
        let is_inside = destination.strip_prefix(&source).is_some_and(|rest| rest.starts_with('.'));
        if source == destination || recursive && is_inside {
            bail!(UsageError(format!("`{source}` cannot go into itself")));
        }
        let mut patterns = vec![source.clone()];
        if recursive {
            patterns.push(format!("{source}.**"));
        }
        Ok(Self { source, destination, patterns, window: (0, u32::MAX), trial: false })
    }

    /// Is a metric that a pattern found really meant? A name with tags also finds metrics that have these tags and more.
    pub(super) fn takes(&self, name: &str) -> bool {
        let is_below = |rest: &str| self.patterns.len() > 1 && rest.starts_with('.');
        name.strip_prefix(&self.source).is_some_and(|rest| rest.is_empty() || is_below(rest))
    }

    /// The new name of a metric.
    fn target(&self, name: &str) -> String {
        let rest = name.strip_prefix(&self.source).unwrap_or_default();
        format!("{}{rest}", self.destination)
    }

    /// Copies metrics one after another and prints what became of them.
    pub(super) fn run(&self, found: &[String], output: Output, worker: &mut Worker<'_>) -> Result<()> {
        if found.is_empty() {
            bail!(
                "there is no metric `{}`; `plumbago find` lists those there are",
                self.patterns.join("` or `")
            );
        }
        let (mut lines, mut refused) = (Vec::new(), Vec::new());
        let (mut points, mut aggregates) = (0, 0);
        for (done, source) in found.iter().enumerate() {
            meter::show(&format!("{}, metric", words::count(points, "point")), done + 1, found.len());
            let target = self.target(source);
            match worker(source, &target).with_context(|| format!("copying `{source}`"))? {
                Outcome::Copied { points: more, aggregates: slots } => {
                    points += more;
                    aggregates += slots;
                    lines.push(json!({ "source": source, "destination": target, "points": more, "aggregates": slots }));
                }
                Outcome::Refused(why) => refused.push(why),
            }
        }
        meter::clear();
        to_stdout(|out| {
            if output.is_data() {
                let report = json!({ "copied": !self.trial, "metrics": lines, "refused": refused });
                output.line(out, &report)?;
            } else {
                for line in &lines {
                    let text = |key: &str| line[key].as_str().unwrap_or_default();
                    writeln!(out, "{} -> {}", text("source"), text("destination"))?;
                }
            }
            let would = if self.trial { "would be " } else { "" };
            let copied = [(lines.len() as u64, "metric"), (points, "point"), (aggregates, "aggregate")];
            let [metrics, points, aggregates] = copied.map(|(number, noun)| words::count(number, noun));
            eprintln!("{metrics} with {points} and {aggregates} {would}copied");
            Ok(())
        })?;
        match refused.first() {
            None => Ok(()),
            Some(first) => bail!("not copied: {}: {first}", words::count(refused.len(), "metric")),
        }
    }
}

/// A time as a person types it.
pub(super) fn time(config: &Config, text: Option<&str>) -> Result<Option<u32>> {
    let Some(text) = text else { return Ok(None) };
    let zone = TimeZone::get(&config.query.timezone)?;
    let time = parse_time(text, i64::from(now()), &zone).map_err(|error| UsageError(error.to_string()))?;
    Ok(Some(u32::try_from(time.max(0)).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Arguments, Command};

    fn order(source: &str, destination: &str, recursive: bool) -> Result<Order> {
        let recursive = if recursive { &["--recursive"][..] } else { &[] };
        let line = [&["plumbago", "copy", source, destination], recursive].concat();
        let Some(Command::Copy(arguments)) = Arguments::from_line(line)?.command else { panic!("no copy") };
        Order::new(&Config::default(), &arguments)
    }

    #[test]
    fn names_below_keep_their_rest() {
        let order = order("a.b", "x", true).unwrap();
        assert_eq!(order.patterns, ["a.b", "a.b.**"]);
        assert_eq!((order.target("a.b.c.d"), order.target("a.b")), ("x.c.d".to_owned(), "x".to_owned()));
        assert_eq!(order.window, (0, u32::MAX));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let why = |source, destination, recursive| {
            order(source, destination, recursive).err().map(|e| e.to_string())
        };
        assert!(why("a.*", "b", false).unwrap().contains("is a glob"));
        assert!(why("a", "a.", false).unwrap().contains("into itself"));
        assert!(why("a", "a.b", true).unwrap().contains("into itself"));
        assert_eq!(why("a", "a.b", false), None);
        assert_eq!(why("a", "ab", true), None);
    }
}
