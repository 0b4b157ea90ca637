//! `import` and `export`: metrics with their history, in and out.

mod csv;
mod kairosdb;
mod whisper_in;
mod whisper_out;

use anyhow::{Result, bail};

use super::copy::time;
use crate::cli::{Export, ExportSelection, ExportTo, Import, ImportFrom, Output, UsageError};
use crate::config::Config;
use plumbago_model::glob::Glob;

/// Brings in metrics.
pub(in crate::cli) fn import(config: &Config, arguments: &Import, output: Output) -> Result<()> {
    match &arguments.from {
        ImportFrom::Whisper(arguments) => whisper_in::run(config, arguments, output),
        ImportFrom::Kairosdb(arguments) => kairosdb::run(config, arguments, output),
    }
}

/// Writes metrics to files.
pub(in crate::cli) fn export(config: &Config, arguments: &Export, output: Output) -> Result<()> {
    match &arguments.to {
        ExportTo::Whisper(arguments) => whisper_out::run(config, arguments, output),
        ExportTo::Csv(arguments) => csv::run(config, arguments),
    }
}

/// The times that were given, or all time.
pub(super) fn window(config: &Config, from: Option<&str>, until: Option<&str>) -> Result<(u32, u32)> {
    let window = (time(config, from)?.unwrap_or(0), time(config, until)?.unwrap_or(u32::MAX));
    if window.0 >= window.1 {
        bail!(UsageError(format!("--from ({}) must be before --until ({})", window.0, window.1)));
    }
    Ok(window)
}

fn selected(config: &Config, selection: &ExportSelection) -> Result<(u32, u32)> {
    window(config, selection.from.as_deref(), selection.until.as_deref())
}

fn glob(text: &str) -> Result<Glob> {
    Ok(Glob::parse(text).map_err(|error| UsageError(error.to_string()))?)
}
