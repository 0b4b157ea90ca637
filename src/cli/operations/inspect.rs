//! `fsck` and `dump`.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::super::{Dump, Output, to_stdout, words};
use super::must_exist;
use crate::config::Config;
use crate::log;
use crate::store::embedded::inspect::{self, DumpError, Report};

/// Checks the data directory and changes nothing. Fails if something is damaged.
pub(in crate::cli) fn fsck(config: &Config, output: Output) -> Result<()> {
    must_exist(config)?;
    let mut report = inspect::fsck(&config.store.path, |done, all| {
        if all > 20 {
            eprint!("\rblock {done} of {all}{}", if done == all { "\n" } else { "" });
        }
    })?;
    let log_records = check_log(&config.store.path.join("log"), &mut report);
    to_stdout(|out| {
        let Report { metrics, blocks, bytes, problems, remarks, .. } = &report;
        if output == Output::Json {
            let fields = json!({
                "metrics": metrics, "blocks": blocks, "bytes": bytes, "log_records": log_records,
                "problems": problems, "remarks": remarks,
            });
            return Ok(writeln!(out, "{fields:#}")?);
        }
        let counts =
            [(metrics, "metric"), (blocks, "block")].map(|(number, noun)| words::count(*number, noun));
        let records = words::count(log_records, "log record");
        writeln!(out, "{}, {}, {records}", counts.join(", "), words::size(*bytes))?;
        problems.iter().try_for_each(|line| writeln!(out, "damaged: {line}"))?;
        Ok(remarks.iter().try_for_each(|line| writeln!(out, "note: {line}"))?)
    })?;
    if !report.problems.is_empty() {
        bail!("{} damaged places; what they held is lost, everything else is served", report.problems.len());
    }
    Ok(())
}

/// Reads the log after the last commit. Returns the number of its records.
fn check_log(dir: &Path, report: &mut Report) -> u64 {
    let floor = report.log_floor;
    let last = log::segments(dir, floor).ok().and_then(|s| s.last().map(|(_, path)| path.clone()));
    let found = match log::replay(dir, floor, |_| ()) {
        Ok(found) => found,
        Err(error) => {
            report.problems.push(error.to_string());
            return 0;
        }
    };
    for damage in found.damage {
        let line = format!("{} at byte {}: {}", damage.path.display(), damage.offset, damage.detail);
        // After a crash the last segment may end in half a record, which was never acknowledged.
        let torn_end = Some(&damage.path) == last.as_ref() && damage.detail.contains("torn");
        if torn_end { report.remarks.push(line) } else { report.problems.push(line) }
    }
    found.records
}

/// Prints what is in a file.
pub(in crate::cli) fn dump(_config: &Config, arguments: &Dump, _output: Output) -> Result<()> {
    let file = &arguments.file;
    if file.extension().is_some_and(|e| e == "log") {
        return to_stdout(|out| Ok(log::dump(file, out)??));
    }
    to_stdout(|out| match inspect::dump(file, out) {
        Err(DumpError::Output(error)) => Err(error.into()),
        other => Ok(other?),
    })
}
