//! `clean` and `repair`: names that nobody needs, and names that are incomplete.

use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::json;

use super::door::Door;
use super::local::answer;
use super::{asks_cluster, cluster, meter};
use crate::cli::{Clean, Output, Repair, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::{Care as _, Cleaned, Repaired};
use crate::server::now;
use crate::store::cassandra::names::Orphan;

/// Deletes metrics that no longer receive points, and empty directories.
pub(in crate::cli) fn clean(config: &Config, arguments: &Clean, output: Output) -> Result<()> {
    let unwritten_for = arguments.unwritten_for.as_deref().map(config_duration).transpose()?;
    if !asks_cluster(config, &arguments.server) {
        let cleaned = clean_local(config, arguments, unwritten_for)?;
        return print(output, arguments.dry_run, "deleted", &[("metrics", "metric", cleaned.metrics)]);
    }
    let kept = unwritten_for.unwrap_or_else(|| longest_retention(config));
    let before_ms = (i64::from(now()) - kept).max(0) * 1000;
    let names = cluster::names(config)?;
    let cleaned = names.clean(before_ms, arguments.dry_run, &mut meter::ring)?;
    meter::clear();
    print(
        output,
        arguments.dry_run,
        "deleted",
        &[("metrics", "metric", cleaned.metrics), ("directories", "directory", cleaned.directories)],
    )
}

/// The same in the embedded store, or through the server that runs on it.
fn clean_local(config: &Config, arguments: &Clean, unwritten_for: Option<i64>) -> Result<Cleaned> {
    let secs = unwritten_for.and_then(|secs| u64::try_from(secs).ok());
    match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => Ok(engine.clean(secs, arguments.dry_run)?),
        Door::Server(server) => {
            let secs = secs.map(|secs| secs.to_string()).unwrap_or_default();
            let trial = if arguments.dry_run { "1" } else { "0" };
            let params = [("unwritten_for", &*secs), ("dry_run", trial)];
            answer(&server.post("/internal/clean", &params, &[])?)
        }
    }
}

/// Completes half-done creations and deletions.
pub(in crate::cli) fn repair(config: &Config, arguments: &Repair, output: Output) -> Result<()> {
    if !asks_cluster(config, &arguments.server) {
        return repair_local(config, arguments, output);
    }
    let names = cluster::names(config)?;
    let policy = |name: &str| Arc::new(config.retention.policy_for(name).policy);
    let repaired = names.repair(arguments.dry_run, &policy, &mut meter::ring)?;
    meter::clear();
    let orphans =
        repaired.orphans.into_iter().map(|(name, orphan)| format!("{name}: {}", lack(orphan))).collect();
    print(
        output,
        arguments.dry_run,
        "put right",
        &[("directories", "directory", repaired.directories), ("metrics", "metric", orphans)],
    )
}

/// Compares catalogue and index of the embedded store, or has the server do it that runs on it.
fn repair_local(config: &Config, arguments: &Repair, output: Output) -> Result<()> {
    let repaired: Repaired = match Door::out(config, arguments.server.url.as_deref())? {
        Door::Store(engine) => engine.repair(arguments.dry_run)?,
        Door::Server(server) => {
            let trial = if arguments.dry_run { "1" } else { "0" };
            answer(&server.post("/internal/repair", &[("dry_run", trial)], &[])?)?
        }
    };
    eprintln!(
        "{} checked; `plumbago fsck` checks the files of their points",
        words::count(repaired.checked, "metric")
    );
    print(output, arguments.dry_run, "put right", &[("metrics", "metric", repaired.metrics)])?;
    match repaired.left.as_slice() {
        [] => Ok(()),
        left => {
            left.iter().for_each(|(name, why)| eprintln!("`{name}` stays as it is: {why}"));
            bail!("{} could not be put right", words::count(left.len() as u64, "metric"))
        }
    }
}

fn lack(orphan: Orphan) -> &'static str {
    match orphan {
        Orphan::NoMetadata => "has no config",
        Orphan::NoMetric => "is in no directory",
        Orphan::Ghost => "was deleted, and marked as used later",
    }
}

/// A metric that received no points for this long has no data left under any rule.
fn longest_retention(config: &Config) -> i64 {
    let spans = config.retention.all().map(|retention| retention.span_secs());
    i64::try_from(spans.max().unwrap_or(0)).unwrap_or(i64::MAX)
}

/// `90d`, `12h`, `600s`
fn config_duration(text: &str) -> Result<i64> {
    let bad =
        || UsageError(format!("--unwritten-for: `{text}` is not a time; write something like 90d or 36h"));
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: i64 = digits.parse().map_err(|_| bad())?;
    let unit = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "y" => 365 * 86_400,
        _ => return Err(bad().into()),
    };
    Ok(number.checked_mul(unit).ok_or_else(bad)?)
}

/// Prints lists of names, each with its key in JSON and the noun to count it by.
fn print(output: Output, trial: bool, verb: &str, found: &[(&str, &str, Vec<String>)]) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => {
                let lists: serde_json::Map<String, serde_json::Value> =
                    found.iter().map(|(key, _, names)| ((*key).to_owned(), json!(names))).collect();
                output.line(out, &json!({ "done": !trial, "found": lists }))?;
            }
            Output::Table => {
                for name in found.iter().flat_map(|(.., names)| names) {
                    writeln!(out, "{name}")?;
                }
            }
        }
        let counts: Vec<String> =
            found.iter().map(|(_, noun, names)| words::count(names.len(), noun)).collect();
        let would = if trial { "would be " } else { "" };
        eprintln!("{} {would}{verb}", counts.join(" and "));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(config_duration("90d").unwrap(), 90 * 86_400);
        assert_eq!(config_duration("10min").unwrap(), 600);
        assert!(config_duration("soon").unwrap_err().to_string().contains("`soon`"));
        assert!(config_duration("9999999999999y").is_err());
    }
}
