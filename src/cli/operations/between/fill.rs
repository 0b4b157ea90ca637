//! `fill`: what this server lacks, from another one.

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::super::copy::time;
use super::super::door::Door;
use super::super::nothing_matches;
use super::super::remote::Server;
use super::super::token::Login;
use super::super::transport::Carrier;
use super::graphite::Graphite;
use crate::bundle::Bundle;
use crate::cli::progress::Progress;
use crate::cli::{Fill, Output, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::{ImportOptions, Imported};
use plumbago_model::glob::Glob;

/// Fills the gaps of this server.
pub(in crate::cli) fn fill(config: &Config, arguments: &Fill, output: Output) -> Result<()> {
    let at = |text: &Option<String>| time(config, text.as_deref());
    let window = (at(&arguments.since)?.unwrap_or(0), at(&arguments.until)?.unwrap_or(u32::MAX));
    if window.0 >= window.1 {
        bail!(UsageError(format!("--since ({}) must be before --until ({})", window.0, window.1)));
    }
    let (mut origin, names) = Origin::find(config, arguments)?;
    if names.is_empty() {
        return Err(nothing_matches(&arguments.glob));
    }
    let door = Door::into(config, arguments.url.as_deref())?;
    if matches!(&origin, Origin::Plumbago(there) if there.name() == door.name()) {
        bail!(UsageError(format!("{} cannot be filled from itself (--from)", door.name())));
    }
    let progress = Progress::counting("metric", names.len() as u64)?;
    let mut carrier = Carrier::new(&door, ImportOptions { keep_policy: false, window }, &progress);
    origin.export(&names, window, |bundle| {
        if carrier.take(bundle) {
            carrier.hand_on()?;
        }
        Ok(())
    })?;
    carrier.hand_on()?;
    let mut done = carrier.done();
    door.hand_over()?;
    if let Origin::Graphite(graphite) = &mut origin {
        done.refused.append(&mut graphite.refused);
    }
    let told = progress.finish();
    print(&done, origin.kind(), output)?;
    eprintln!("{told}");
    match done.refused.len() {
        0 => Ok(()),
        refused => bail!("{} left out, see above", words::count(refused as u64, "metric")),
    }
}

/// Where the points come from.
enum Origin {
    /// It gives metrics with all their stages.
    Plumbago(Door),
    /// It answers Graphite's API, and nothing else from here.
    Graphite(Box<Graphite>),
}

impl Origin {
    /// Finds out what answers there, and which of its metrics match.
    fn find(config: &Config, arguments: &Fill) -> Result<(Self, Vec<String>)> {
        let (url, pattern) = (&arguments.from, &*arguments.glob);
        let login = Login::of_other("--from-token-file", arguments.from_token_file.as_deref())?;
        let plain = pattern.split(';').next().unwrap_or_default();
        let glob = Glob::parse(plain).map_err(|error| UsageError(error.to_string()))?;
        let server = Server::named(url, "no server answers there (--from)", login)?;
        server.reach()?;
        let door = Door::Server(server.clone());
        let error = match door.names(pattern) {
            Ok(names) => return Ok((Self::Plumbago(door), names)),
            Err(error) => error,
        };
        if plain != pattern {
            let why =
                "metrics are chosen by their tags only on a Plumbago that takes calls from this machine";
            return Err(error.context(why));
        }
        let graphite = Graphite::new(server, config.retention.default_policy());
        let names = graphite.names(&glob).with_context(|| format!("asking {url} for its metrics"))?;
        Ok((Self::Graphite(Box::new(graphite)), names))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Plumbago(_) => "plumbago",
            Self::Graphite(_) => "graphite",
        }
    }

    fn export(
        &mut self,
        names: &[String],
        window: (u32, u32),
        visit: impl FnMut(Bundle) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Plumbago(door) => door.export(names, window, visit),
            Self::Graphite(graphite) => graphite.export(names, window, visit),
        }
    }
}

fn print(done: &Imported, kind: &str, output: Output) -> Result<()> {
    to_stdout(|out| {
        if output.is_data() {
            let refused = done.refused.iter().map(|(name, why)| json!({ "name": name, "why": why }));
            let report = json!({
                "from": kind,
                "metrics": done.metrics,
                "metrics_created": done.created,
                "points": done.points,
                "aggregates": done.aggregates,
                "slots_there_already": done.there,
                "refused": refused.collect::<Vec<_>>(),
            });
            return Ok(output.line(out, &report)?);
        }
        writeln!(out, "{}, {} of them new", words::count(done.metrics, "metric"), done.created)?;
        let (points, aggregates) =
            (words::count(done.points, "point"), words::count(done.aggregates, "aggregate"));
        writeln!(out, "{points} and {aggregates} filled in")?;
        writeln!(out, "{} were there already and stay", words::count(done.there, "slot"))?;
        done.refused.iter().try_for_each(|(name, why)| writeln!(out, "refused: {name}: {why}"))?;
        Ok(())
    })
}
