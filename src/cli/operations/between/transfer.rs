//! `copy --to`: metrics with all their stages, to another server or into the store of another configuration.
//!
//! Each piece is read back from the other end. Of a metric that was not there before, the slots must be the same ones.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::super::door::Door;
use super::super::moving::{Journal, window};
use super::super::nothing_matches;
use super::super::remote::Server;
use super::super::token::Login;
use super::carrier::Carrier;
use crate::bundle::{Bundle, encode};
use crate::cli::progress::Progress;
use crate::cli::{Copy, Output, UsageError, to_stdout, words};
use crate::config::{Config, Loaded, Sources};
use crate::http::{ImportOptions, Imported};
use crate::server::now;

/// Slots that are about to expire may be gone when they are read back.
const MARGIN_SECS: u32 = 600;

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
    let there = target.names(&arguments.source)?.into_iter().collect();
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
    let mut transfer = Transfer {
        target: &target,
        window,
        there,
        carrier,
        journal,
        sums: HashMap::new(),
        checked: Checked::default(),
    };
    let left = transfer.left(names);
    progress.tally().files.add(transfer.checked.earlier);
    source
        .export(&left, window, |bundle| transfer.take(bundle))
        .and_then(|()| transfer.hand_on())
        .context("the copy stopped; run the same command again to go on where it was")?;
    let Transfer { carrier, journal, checked, .. } = transfer;
    let done = carrier.done();
    target.hand_over()?;
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

/// A copy under way.
struct Transfer<'a> {
    target: &'a Door,
    window: (u32, u32),
    /// Metrics that were there before.
    there: HashSet<String>,
    carrier: Carrier<'a>,
    journal: Journal,
    /// What must be read back of the metrics in the piece.
    sums: HashMap<String, Sum>,
    checked: Checked,
}

/// What became of the metrics.
#[derive(Default)]
struct Checked {
    /// Read back, and the same.
    verified: u64,
    /// There before: what they had stays, so they need not be the same.
    merged: u64,
    /// The other end keeps them under another policy.
    adapted: u64,
    /// An earlier run copied them.
    earlier: u64,
    /// Read back, and not the same.
    different: Vec<String>,
}

/// A metric in few bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sum {
    policy: String,
    slots: u64,
    checksum: u32,
    /// The time at which it was taken.
    at: u32,
}

impl Sum {
    /// Leaves out slots that are about to expire and those that are not over: both may change until they are read back.
    fn new(mut bundle: Bundle, at: u32) -> Self {
        for archive in &mut bundle.archives {
            let from = archive.reach(at).saturating_add(MARGIN_SECS);
            archive.column.keep(from, at.saturating_sub(archive.step_secs));
        }
        let mut bytes = Vec::new();
        encode(&bundle, &mut bytes);
        let checksum = crc32c::crc32c(&bytes);
        Self { policy: bundle.policy.to_string(), slots: bundle.slots(), checksum, at }
    }
}

impl Transfer<'_> {
    /// The metrics that no earlier run has copied.
    fn left(&mut self, names: Vec<String>) -> Vec<String> {
        let all = names.len();
        let left: Vec<String> = names.into_iter().filter(|name| !self.journal.has(Path::new(name))).collect();
        self.checked.earlier = (all - left.len()) as u64;
        left
    }

    fn take(&mut self, bundle: Bundle) -> Result<()> {
        self.sums.insert(bundle.name.clone(), Sum::new(bundle.clone(), now()));
        if self.carrier.take(bundle) { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> Result<()> {
        let mut sums = std::mem::take(&mut self.sums);
        for refused in self.carrier.hand_on()? {
            sums.remove(&refused);
        }
        let mut names: Vec<String> = sums.keys().cloned().collect();
        names.sort_unstable();
        let mut found = HashMap::new();
        self.target.export(&names, self.window, |bundle| {
            if let Some(sum) = sums.get(&bundle.name) {
                found.insert(bundle.name.clone(), Sum::new(bundle, sum.at));
            }
            Ok(())
        })?;
        let mut copied = Vec::with_capacity(names.len());
        for name in names {
            if self.check(&name, sums.get(&name), found.get(&name)) {
                copied.push(PathBuf::from(name));
            } else {
                self.checked.different.push(name);
            }
        }
        self.journal.add(&copied)
    }

    /// Is a metric at the other end what it should be?
    fn check(&mut self, name: &str, sent: Option<&Sum>, found: Option<&Sum>) -> bool {
        let (Some(sent), Some(found)) = (sent, found) else { return false };
        let count = if self.there.contains(name) {
            &mut self.checked.merged
        } else if sent.policy != found.policy {
            &mut self.checked.adapted
        } else if sent == found {
            &mut self.checked.verified
        } else {
            return false;
        };
        *count += 1;
        true
    }
}

fn print_names(names: &[String], output: Output) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json => writeln!(out, "{}", json!({ "copied": false, "metrics": names }))?,
            Output::Text => names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        }
        eprintln!("{} would be copied", words::count(names.len() as u64, "metric"));
        Ok(())
    })
}

fn print(done: &Imported, checked: &Checked, output: Output) -> Result<()> {
    to_stdout(|out| {
        if output == Output::Json {
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
            return Ok(writeln!(out, "{report}")?);
        }
        let (points, aggregates) =
            (words::count(done.points, "point"), words::count(done.aggregates, "aggregate"));
        writeln!(out, "{} with {points} and {aggregates} copied", words::count(done.metrics, "metric"))?;
        for (number, what) in [
            (checked.verified, "read back, and the same"),
            (checked.merged, "were there before, and keep what they had"),
            (checked.adapted, "are kept by other rules there, and were not compared"),
            (checked.earlier, "were copied earlier"),
        ] {
            if number > 0 {
                writeln!(out, "{number} {what}")?;
            }
        }
        checked.different.iter().try_for_each(|name| writeln!(out, "different after the copy: {name}"))?;
        done.refused.iter().try_for_each(|(name, why)| writeln!(out, "refused: {name}: {why}"))?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Archive;
    use crate::store::Column;

    #[test]
    fn a_changed_slot_changes_the_sum_and_one_about_to_change_does_not() {
        let policy: plumbago_model::Policy = "1000*10s|average|0.5".parse().unwrap();
        let sum = |slots: &[(u32, f64)]| {
            let (times, values) = slots.iter().copied().unzip();
            let column = Column { times, values, counts: Vec::new() };
            let archives = vec![Archive { step_secs: 10, points: 1000, column }];
            Sum::new(Bundle { name: "a".to_owned(), policy: policy.clone(), archives }, 100_000)
        };
        let usual = sum(&[(95_000, 1.0), (95_010, 2.0)]);
        assert_eq!(usual.slots, 2);
        assert_ne!(usual, sum(&[(95_000, 1.0), (95_010, 2.5)]));
        assert_ne!(usual, sum(&[(95_000, 1.0)]));
        assert_eq!(usual, sum(&[(90_010, 7.0), (95_000, 1.0), (95_010, 2.0), (99_995, 3.0)]));
    }
}
