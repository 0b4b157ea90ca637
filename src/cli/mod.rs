//! The command line: turns arguments into a configuration and one operation.
//!
//! Data goes to stdout, messages go to stderr. Exit codes: 0 done, 1 the work failed, 2 wrong usage or configuration.

mod arguments;
mod check_config;
mod check_quota;
mod csv;
mod estimate;
mod logging;
mod look;
pub mod man;
mod operations;
mod plot;
pub mod progress;
mod report;
mod sparkline;
mod table;
mod words;

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

pub use arguments::{
    Arguments, Backup, Cardinality, Catalog, CatalogList, CheckConfig, Clean, Command, Compare, Completions,
    Copy, Delete, Dump, DumpWhat, Elsewhere, Estimate, Export, ExportCsv, ExportSelection, ExportTo,
    ExportWhisper, Fill, Find, Fsck, Global, Health, Import, ImportFrom, ImportKairosdb, ImportWhisper, Info,
    LogFormat, ManPage, Output, Read, Reload, Rename, Repair, Restore, RetentionAction, RetentionCommand,
    RetentionPlan, Schema, SchemaAction, Serve, Server, Stats, Top, Usage, User, UserAction, UserAdd,
    UserList, UserRevoke, Watch, Write,
};

use crate::config::{ConfigError, Loaded, Sources};
use look::{Look, Paint};

/// The command line is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let command = arguments.command.clone().unwrap_or(Command::Serve(Serve::default()));
    // The manual must work without a valid configuration.
    if let Command::Man(page) = &command {
        return to_stdout(|out| man::run(page, out));
    }
    if let Command::Completions(wanted) = &command {
        return to_stdout(|out| {
            clap_complete::generate(wanted.shell, &mut Arguments::declaration(), "plumbago", &mut &mut *out);
            Ok(())
        });
    }
    operations::read_token(arguments.global.token_file.as_deref())?;
    let mut global = arguments.global.clone();
    if let Command::Serve(serve) = &command
        && serve.read_only
    {
        global.set.push("store.read_only=true".to_owned());
    }
    let loaded = load(&global)?;
    // It ends with the command, and sends what is left.
    let _export = logging::init(arguments, &loaded.config.own_metrics)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let (config, output) = (&loaded.config, arguments.global.output);
    if config.store.read_only && command.changes_store() {
        return Err(UsageError(
            "store.read_only is set, so nothing may be changed: unset it first".to_owned(),
        )
        .into());
    }
    match &command {
        Command::Serve(_) => operations::serve(loaded, sources(&global)),
        Command::CheckConfig(args) => to_stdout(|out| check_config::run(&loaded, args, output, out)),
        Command::Find(args) => operations::find(config, args, output),
        Command::Read(args) => operations::read(config, args, output),
        Command::Watch(args) => operations::watch(config, args, output),
        Command::Write(args) => operations::write(config, args),
        Command::Delete(args) => operations::delete(config, args, output),
        Command::Rename(args) => operations::rename(config, args, output),
        Command::Copy(args) => operations::copy(config, args, output),
        Command::Import(args) => operations::import(config, args, output),
        Command::Export(args) => operations::export(config, args, output),
        Command::Compare(args) => operations::compare(config, args, output),
        Command::Fill(args) => operations::fill(config, args, output),
        Command::Du(args) => operations::du(config, args, output),
        Command::Cardinality(args) => operations::cardinality(config, args, output),
        Command::Catalog(args) => operations::catalog(config, args, output),
        Command::Top(args) => operations::top(config, args, output),
        Command::Stats(args) => operations::stats(config, args, output),
        Command::Info(args) => operations::info(config, args, output),
        Command::Retention(RetentionCommand { action: RetentionAction::Plan(args) }) => {
            operations::retention_plan(config, args, output)
        }
        Command::Reload(args) => operations::reload(config, args, output),
        Command::Health(args) => operations::health(config, args, output),
        Command::Backup(args) => operations::backup(config, args, output),
        Command::Restore(args) => operations::restore(config, args, output),
        Command::Fsck(args) => operations::fsck(config, args, output),
        Command::Dump(args) => operations::dump(config, args, output),
        Command::Schema(args) => operations::schema(config, args, output),
        Command::Clean(args) => operations::clean(config, args, output),
        Command::Repair(args) => operations::repair(config, args, output),
        Command::User(args) => operations::user(config, args, output),
        Command::Estimate(args) => to_stdout(|out| estimate::run(config, args, output, out)),
        Command::Man(_) | Command::Completions(_) => Ok(()),
    }
}

/// The exit code of a failed run. It is no failure if the reader of a pipe closes it (`plumbago find '*' | head`).
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let wrong_input = error.chain().any(|cause| cause.is::<UsageError>() || cause.is::<ConfigError>());
    if wrong_input { ExitCode::from(2) } else { ExitCode::FAILURE }
}

/// What messages begin with, in the colour of errors on a terminal.
pub fn own_name() -> String {
    Look::of_stderr().paint(Paint::Wrong, "plumbago:")
}

/// The error and its causes in one line. A cause that the error already names is not repeated.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Was the output closed by its reader?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

fn sources(global: &Global) -> Sources {
    Sources::of_process(global.config.clone(), global.set.clone())
}

/// Reads the configuration, and checks what the module `config` cannot check itself.
fn load(global: &Global) -> Result<Loaded, ConfigError> {
    let loaded = Loaded::new(&sources(global))?;
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
