//! `fsck` and `dump`.

use anyhow::{Result, bail};
use serde_json::json;

use super::super::{Dump, Output, to_stdout};
use crate::config::Config;
use crate::store::embedded::inspect;

/// Checks the data directory and changes nothing. Fails when something is damaged.
pub(in crate::cli) fn fsck(config: &Config, output: Output) -> Result<()> {
    let report = inspect::fsck(&config.store.path, |done, all| {
        if all > 20 {
            eprint!("\rblock {done} of {all}{}", if done == all { "\n" } else { "" });
        }
    })?;
    to_stdout(|out| {
        if output == Output::Json {
            let fields = json!({
                "metrics": report.metrics, "blocks": report.blocks, "bytes": report.bytes,
                "log_records": report.log_records, "problems": report.problems, "remarks": report.remarks,
            });
            return Ok(writeln!(out, "{fields:#}")?);
        }
        let (metrics, blocks) = (report.metrics, report.blocks);
        writeln!(
            out,
            "{metrics} metrics, {blocks} blocks, {} bytes, {} log records",
            report.bytes, report.log_records
        )?;
        report.problems.iter().try_for_each(|line| writeln!(out, "damaged: {line}"))?;
        Ok(report.remarks.iter().try_for_each(|line| writeln!(out, "note: {line}"))?)
    })?;
    if !report.problems.is_empty() {
        bail!("{} damaged places; what they held is lost, everything else is served", report.problems.len());
    }
    Ok(())
}

/// Prints what is in a file.
pub(in crate::cli) fn dump(_config: &Config, arguments: &Dump, _output: Output) -> Result<()> {
    to_stdout(|out| match inspect::dump(&arguments.file, out) {
        Err(inspect::DumpError::Output(error)) => Err(error.into()),
        other => Ok(other?),
    })
}
