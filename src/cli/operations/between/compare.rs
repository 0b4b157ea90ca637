//! `compare`: the same targets, asked of two servers.

use std::io::Write;
use std::thread;

use anyhow::{Result, bail};
use serde_json::json;

use super::super::answer::{Series, series, start};
use super::super::copy::time;
use super::super::door::Door;
use super::super::query;
use super::super::remote::Server;
use super::super::token::Login;
use super::difference::{self, Difference, Outcome};
use super::targets::targets;
use crate::cli::progress::Progress;
use crate::cli::{Compare, Output, UsageError, to_stdout, words};
use crate::config::Config;

/// Names of series that text shows of each kind; `--output json` has all of them.
const SHOWN: usize = 5;

/// Compares the answers of two servers.
pub(in crate::cli) fn compare(config: &Config, arguments: &Compare, output: Output) -> Result<()> {
    let targets = targets(arguments)?;
    let now = seconds(config, "now")?;
    let window = (seconds(config, &arguments.from)?, seconds(config, &arguments.until)?);
    if window.0 >= window.1 {
        bail!(UsageError(format!("--from ({}) must be before --until ({})", window.0, window.1)));
    }
    let login = Login::of_other("--with-token-file", arguments.with_token_file.as_deref())?;
    let there = Server::named(&arguments.with, "no server answers there (--with)", login)?;
    let here = Door::out(config, arguments.url.as_deref())?;
    there.reach()?;
    if let Door::Server(server) = &here {
        server.reach()?;
    }
    let pair = Servers { config, here, there, window, now };
    let progress = Progress::counting("target", targets.len() as u64)?;
    let mut differences = Vec::with_capacity(targets.len());
    for target in &targets {
        let (here, there) = pair.ask(target);
        let difference = difference::compare(target, here, there, arguments.tolerance);
        progress.tally().files.add(1);
        progress.tally().points.add(difference.points);
        progress.tally().failed.add(u64::from(!difference.equal));
        differences.push(difference);
    }
    drop(progress);
    print(&differences, output)?;
    let differ = differences.iter().filter(|difference| !difference.equal).count() as u64;
    match differ {
        0 => Ok(()),
        _ => bail!("{differ} of {} differ", words::count(targets.len() as u64, "target")),
    }
}

fn seconds(config: &Config, text: &str) -> Result<u32> {
    Ok(time(config, Some(text))?.unwrap_or_default())
}

/// The two that are asked. Both get the same times in seconds, whatever their clocks and time zones say, and the same moment for now: a
/// second later, a window as long as the finest stage would be read from the next one.
struct Servers<'a> {
    config: &'a Config,
    here: Door,
    there: Server,
    window: (u32, u32),
    now: u32,
}

impl Servers<'_> {
    /// Asks both at the same time.
    fn ask(&self, target: &str) -> (Outcome, Outcome) {
        thread::scope(|scope| {
            let there = scope.spawn(|| outcome(self.rendered(&self.there, target)));
            let here = outcome(match &self.here {
                Door::Server(server) => self.rendered(server, target),
                Door::Store(engine) => {
                    let window = (i64::from(self.window.0), i64::from(self.window.1));
                    query::render_json(self.config, engine, target, window, self.now.into())
                        .and_then(|json| series(&json))
                }
            });
            let there = there.join().unwrap_or_else(|_| Err("asking it failed".to_owned()));
            (here, there)
        })
    }

    fn rendered(&self, server: &Server, target: &str) -> Result<Vec<Series>> {
        let [from, until, now] = [self.window.0, self.window.1, self.now].map(|time| time.to_string());
        let params = [
            ("target", target),
            ("from", &*from),
            ("until", &*until),
            ("now", &*now),
            ("format", "json"),
            ("noCache", "1"),
        ];
        series(&server.post_form("/render", &params)?)
    }
}

fn outcome(answer: Result<Vec<Series>>) -> Outcome {
    answer.map_err(|error| start(&crate::cli::message(&error)))
}

fn print(differences: &[Difference], output: Output) -> Result<()> {
    let equal = differences.iter().filter(|difference| difference.equal).count();
    let (series, points) = differences.iter().fold((0, 0), |(series, points), difference| {
        (series + difference.series, points + difference.points)
    });
    to_stdout(|out| {
        if output.is_data() {
            let differ = differences.len() - equal;
            let report = json!({ "equal": equal, "different": differ, "series": series, "points": points,
                "targets": differences });
            return Ok(output.line(out, &report)?);
        }
        let different = differences.iter().filter(|difference| !difference.equal);
        different.into_iter().try_for_each(|difference| print_one(difference, out))?;
        let all = words::count(differences.len() as u64, "target");
        writeln!(
            out,
            "{all}: {equal} equal, {} different; {series} series with {} compared",
            differences.len() - equal,
            words::count(points, "point")
        )?;
        Ok(())
    })
}

fn print_one(difference: &Difference, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}", difference.target)?;
    for (title, said) in [("here", &difference.said_here), ("there", &difference.said_there)] {
        if let Some(said) = said {
            writeln!(out, "  {title}: {said}")?;
        }
    }
    for (title, names) in [("only here", &difference.only_here), ("only there", &difference.only_there)] {
        names.iter().take(SHOWN).try_for_each(|name| writeln!(out, "  {title}: {name}"))?;
        print_more(title, names.len(), out)?;
    }
    for differing in difference.differing.iter().take(SHOWN) {
        let value =
            |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
        let first = differing.first;
        let time = jiff::Timestamp::from_second(first.time)
            .map_or_else(|_| first.time.to_string(), |t| t.to_string());
        writeln!(
            out,
            "  {}: {} of {} differ, first at {time}: {} here, {} there; largest relative difference {}",
            differing.name,
            differing.differing,
            words::count(differing.points, "point"),
            value(first.here),
            value(first.there),
            differing.largest
        )?;
    }
    print_more("values differ", difference.differing.len(), out)
}

fn print_more(title: &str, number: usize, out: &mut dyn Write) -> Result<()> {
    if number > SHOWN {
        writeln!(out, "  {title}: {} more series (--output json lists all)", number - SHOWN)?;
    }
    Ok(())
}
