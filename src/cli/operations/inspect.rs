//! `fsck` and `dump`.

use anyhow::{Result, bail};
use serde_json::json;

use super::local::answer;
use super::remote::Server;
use super::{must_exist, print_fields};
use crate::cli::{Dump, DumpWhat, Fsck, Output, UsageError, to_stdout, words};
use crate::config::Config;
use crate::http::Checked;
use crate::kairosdb::row::RowKey;
use crate::log;
use crate::server::{check_files, repair_files};
use crate::store::StoreError;
use crate::store::embedded::inspect::{self, DumpError};

/// Checks the data directory. Fails if something is damaged. A server that has the store open does the work.
pub(in crate::cli) fn fsck(config: &Config, arguments: &Fsck, output: Output) -> Result<()> {
    let checked = match &arguments.server.url {
        Some(url) => ask(&Server::at(url)?)?,
        None => check(config, arguments.repair)?,
    };
    let Checked { metrics, blocks, bytes, log_records, problems, remarks, mended } = &checked;
    to_stdout(|out| {
        if output.is_data() {
            return Ok(output.indented(out, &json!(checked))?);
        }
        let counts =
            [(metrics, "metric"), (blocks, "block")].map(|(number, noun)| words::count(*number, noun));
        let records = words::count(*log_records, "log record");
        writeln!(out, "{}, {}, {records}", counts.join(", "), words::size(*bytes))?;
        mended.iter().try_for_each(|line| writeln!(out, "mended: {line}"))?;
        problems.iter().try_for_each(|line| writeln!(out, "damaged: {line}"))?;
        Ok(remarks.iter().try_for_each(|line| writeln!(out, "note: {line}"))?)
    })?;
    if !problems.is_empty() {
        bail!(
            "{}; everything else is served, and `plumbago fsck --repair` mends what can be mended",
            words::count(problems.len(), "damaged place")
        );
    }
    Ok(())
}

fn check(config: &Config, repair: bool) -> Result<Checked> {
    must_exist(config)?;
    let progress = |done, all| {
        if all > 20 {
            eprint!("\rblock {done} of {all}{}", if done == all { "\n" } else { "" });
        }
    };
    if repair {
        return repair_files(&config.store.path, progress);
    }
    match check_files(&config.store.path, progress) {
        Err(StoreError::InUse { .. }) => ask(&Server::of(config)?),
        other => Ok(other?),
    }
}

fn ask(server: &Server) -> Result<Checked> {
    answer(&server.patient().post("/internal/fsck", &[], &[])?)
}

/// Prints what is in a file, or what bytes mean.
pub(in crate::cli) fn dump(_config: &Config, arguments: &Dump, output: Output) -> Result<()> {
    let file = match (&arguments.what, &arguments.file) {
        (Some(DumpWhat::KairosdbKey { hex }), _) => return row_key(hex, output),
        (None, Some(file)) => file,
        (None, None) => bail!(UsageError("name a file, or kairosdb-key and a key".to_owned())),
    };
    if file.extension().is_some_and(|e| e == "log") {
        return to_stdout(|out| Ok(log::dump(file, out)??));
    }
    to_stdout(|out| match inspect::dump(file, out) {
        Err(DumpError::Output(error)) => Err(error.into()),
        other => Ok(other?),
    })
}

/// Prints the key of a row of KairosDB.
fn row_key(hex: &str, output: Output) -> Result<()> {
    let digits = hex.strip_prefix("0x").unwrap_or(hex);
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    let bytes = bytes.ok_or_else(|| UsageError(format!("`{hex}` is not bytes in hexadecimal digits")))?;
    let key = RowKey::parse(&bytes)
        .map_err(|error| UsageError(format!("`{hex}` is not the key of a row of KairosDB: {error}")))?;
    let data_type = key.data_type.as_deref().unwrap_or("none: a row from before KairosDB had types");
    let begins = jiff::Timestamp::from_millisecond(key.row_time)
        .map_or_else(|_| "a time beyond the calendar".to_owned(), |time| time.to_string());
    let fields = match output {
        Output::Json | Output::Csv => {
            let tags: serde_json::Map<_, _> =
                key.tags.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            json!({ "metric": key.metric, "row_time": key.row_time, "row_begins": begins,
                "data_type": key.data_type, "tags": tags })
        }
        Output::Table => {
            let tags = key.tags.iter().map(|(key, value)| format!("{key} = {value}"));
            json!({ "metric": key.metric, "row_begins": format!("{begins} ({})", key.row_time),
                "data_type": data_type, "tags": tags.collect::<Vec<_>>() })
        }
    };
    to_stdout(|out| print_fields(&fields, output, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_a_mistake_in_the_command() {
        for (hex, says) in
            [("abc", "hexadecimal"), ("zz", "hexadecimal"), ("é0", "hexadecimal"), ("61", "no zero byte")]
        {
            let error = row_key(hex, Output::Table).unwrap_err();
            assert!(error.is::<UsageError>() && error.to_string().contains(says), "{error}");
        }
    }
}
