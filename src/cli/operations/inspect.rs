//! `fsck` and `dump`.

use anyhow::{Result, bail};
use serde_json::json;

use super::local::answer;
use super::must_exist;
use super::remote::Server;
use crate::cli::{Dump, Fsck, Output, to_stdout, words};
use crate::config::Config;
use crate::http::Checked;
use crate::log;
use crate::server::check_files;
use crate::store::StoreError;
use crate::store::embedded::inspect::{self, DumpError};

/// Checks the data directory and changes nothing. Fails if something is damaged. A server that has the store open does the work.
pub(in crate::cli) fn fsck(config: &Config, arguments: &Fsck, output: Output) -> Result<()> {
    let checked = match &arguments.server.url {
        Some(url) => ask(&Server::at(url)?)?,
        None => check(config)?,
    };
    let Checked { metrics, blocks, bytes, log_records, problems, remarks } = &checked;
    to_stdout(|out| {
        if output == Output::Json {
            return Ok(writeln!(out, "{:#}", json!(checked))?);
        }
        let counts =
            [(metrics, "metric"), (blocks, "block")].map(|(number, noun)| words::count(*number, noun));
        let records = words::count(*log_records, "log record");
        writeln!(out, "{}, {}, {records}", counts.join(", "), words::size(*bytes))?;
        problems.iter().try_for_each(|line| writeln!(out, "damaged: {line}"))?;
        Ok(remarks.iter().try_for_each(|line| writeln!(out, "note: {line}"))?)
    })?;
    if !problems.is_empty() {
        bail!(
            "{}; what was there is lost, everything else is served",
            words::count(problems.len(), "damaged place")
        );
    }
    Ok(())
}

fn check(config: &Config) -> Result<Checked> {
    must_exist(config)?;
    let progress = |done, all| {
        if all > 20 {
            eprint!("\rblock {done} of {all}{}", if done == all { "\n" } else { "" });
        }
    };
    match check_files(&config.store.path, progress) {
        Err(StoreError::InUse { .. }) => ask(&Server::of(config)?),
        other => Ok(other?),
    }
}

fn ask(server: &Server) -> Result<Checked> {
    answer(&server.patient().post("/internal/fsck", &[], &[])?)
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
