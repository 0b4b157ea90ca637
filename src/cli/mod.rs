//! The command line: what was typed becomes a configuration and one operation.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 the work failed, 2 wrong usage or configuration.

mod arguments;
mod check_config;
mod logging;
pub mod man;
mod operations;
pub mod progress;
mod table;
mod words;

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

pub use arguments::{
    Arguments, Cardinality, CheckConfig, Clean, Command, Copy, Delete, Dump, Find, Global, Info, LogFormat,
    ManPage, Output, Read, Repair, Schema, SchemaAction, Usage, Write,
};

use crate::config::{ConfigError, Loaded, Sources};

/// What was typed cannot be done as typed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Does what the command line says.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    logging::init(arguments)?;
    let command = arguments.command.clone().unwrap_or(Command::Serve);
    // The manual is for a machine without a configuration too.
    if let Command::Man(page) = &command {
        return to_stdout(|out| man::run(page, out));
    }
    let loaded = load(&arguments.global)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let (config, output) = (&loaded.config, arguments.global.output);
    match &command {
        Command::Serve => operations::serve(loaded.config),
        Command::CheckConfig(args) => to_stdout(|out| check_config::run(&loaded, args, output, out)),
        Command::Find(args) => operations::find(config, args, output),
        Command::Read(args) => operations::read(config, args, output),
        Command::Write(args) => operations::write(config, args),
        Command::Delete(args) => operations::delete(config, args, output),
        Command::Copy(args) => operations::copy(config, args, output),
        Command::Du(args) => operations::du(config, args, output),
        Command::Cardinality(args) => operations::cardinality(config, args, output),
        Command::Stats => operations::stats(config, output),
        Command::Info(args) => operations::info(config, args, output),
        Command::Fsck => operations::fsck(config, output),
        Command::Dump(args) => operations::dump(config, args, output),
        Command::Schema(args) => operations::schema(config, args, output),
        Command::Clean(args) => operations::clean(config, args, output),
        Command::Repair(args) => operations::repair(config, args, output),
        Command::Man(_) => Ok(()),
    }
}

/// How a failed run ends. A reader that went away (`plumbago find '*' | head`) is no failure.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let wrong_input = error.chain().any(|cause| cause.is::<UsageError>() || cause.is::<ConfigError>());
    if wrong_input { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// The error and its causes in one line. Errors that tell their cause themselves do not have it told again.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Did nobody read what was written?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Reads the configuration, and checks what `config` itself has no means to check.
fn load(global: &Global) -> Result<Loaded, ConfigError> {
    let loaded = Loaded::new(&Sources::of_process(global.config.clone(), global.set.clone()))?;
    let zone = &loaded.config.query.timezone;
    if jiff::tz::TimeZone::get(zone).is_err() {
        let key = "query.timezone";
        return Err(ConfigError::BadValue {
            at: loaded.settings.origin(key),
            key: key.to_owned(),
            message: format!(
                "`{zone}` is not a time zone; write a name such as \"UTC\" or \"Europe/Amsterdam\""
            ),
        });
    }
    Ok(loaded)
}

fn to_stdout(print: impl FnOnce(&mut dyn io::Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    print(&mut out)?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests;
