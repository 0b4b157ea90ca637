//! `export csv`: points for analysts.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write as _};

use anyhow::Result;

use super::super::door::Door;
use super::super::nothing_matches;
use super::selected;
use super::whisper_out::finished;
use crate::bundle::{Archive, Bundle};
use crate::cli::ExportCsv;
use crate::config::Config;
use crate::server::now;

/// Prints the points of the metrics of a glob: one line for each, below a head.
pub(super) fn run(config: &Config, arguments: &ExportCsv) -> Result<()> {
    let window = selected(config, &arguments.selection)?;
    let door = Door::out(config, arguments.selection.url.as_deref())?;
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "name,time,value")?;
    let mut metrics = 0;
    door.export(&door.names(&arguments.glob)?, window, |bundle| {
        metrics += 1;
        print(&bundle, window.0, &mut out)
    })?;
    out.flush()?;
    if metrics == 0 { Err(nothing_matches(&arguments.glob)) } else { Ok(()) }
}

fn print(bundle: &Bundle, from: u32, out: &mut dyn io::Write) -> Result<()> {
    let Some(archive) = answering(bundle, from, now()) else { return Ok(()) };
    let name = quoted(&bundle.name);
    for point in finished(archive, &bundle.policy) {
        writeln!(out, "{name},{},{}", point.timestamp, point.value)?;
    }
    Ok(())
}

/// The finest archive that reaches back to a time, or the one that reaches furthest.
fn answering(bundle: &Bundle, from: u32, now: u32) -> Option<&Archive> {
    let mut archives = bundle.archives.iter();
    archives.find(|archive| archive.reach(now) <= from).or(bundle.archives.last())
}

/// A name as a field of CSV.
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a.b;c=d"), "a.b;c=d");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn the_finest_archive_that_reaches_back_answers() {
        let archive = |step_secs, points| Archive { step_secs, points, ..Archive::default() };
        let policy = "60*10s:60*60s|average|0".parse().unwrap();
        let bundle = Bundle { name: String::new(), policy, archives: vec![archive(10, 60), archive(60, 60)] };
        let step = |from| answering(&bundle, from, 10_000).map(|archive| archive.step_secs);
        assert_eq!((step(9_500), step(9_000), step(0)), (Some(10), Some(60), Some(60)));
    }
}
