//! What each command does with the store.
//!
//! The embedded store belongs to one process. A [`door`] is that store, or the server that has it open, reached through its HTTP
//! port ([`remote`]); so a command does the same whether a server runs or not. `--url` names a server, and then the command asks that
//! one and needs no store here. A cluster has no such owner: without `--url`, its commands ([`cluster`]) query it directly,
//! whatever runs on this machine.
//!
//! Two commands need the files to themselves: `restore`, which makes a data directory, and `dump` of a catalogue, whose database only
//! one process can open.

mod answer;
mod backup;
mod between;
mod cardinality;
mod catalog;
mod cluster;
mod copy;
mod door;
mod erase;
mod health;
mod inspect;
mod local;
mod meter;
mod moving;
mod names;
mod query;
mod remote;
mod rename;
mod retention;
mod schema;
mod secure;
mod summary;
mod token;
mod top;
mod transport;
mod users;
mod watch;
mod write;

use std::io::{self, IsTerminal as _};
use std::os::unix::fs::MetadataExt as _;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

pub(super) use backup::{backup, restore};
pub(super) use between::{compare, fill};
pub(super) use cardinality::cardinality;
pub(super) use catalog::catalog;
pub(super) use copy::copy;
pub(super) use health::health;
pub(super) use inspect::{dump, fsck};
pub(super) use moving::{export, import};
pub(super) use names::{clean, repair};
pub(super) use query::{find, read};
pub(super) use rename::rename;
pub(super) use retention::{plan as retention_plan, reload};
pub(super) use schema::schema;
pub(super) use token::read_token;
pub(super) use top::top;
pub(super) use users::user;
pub(super) use watch::watch;
pub(super) use write::write;

use super::{Delete, Info, Output, Server, Stats, Usage, to_stdout, words};
use crate::config::{Config, Loaded, Sources, StoreKind};
use crate::server::Engine;
use crate::store::StoreError;
use plumbago_model::glob::Glob;
use plumbago_model::name;

/// Runs the server.
pub(super) fn serve(loaded: Loaded, sources: Sources) -> Result<()> {
    crate::server::run(loaded, sources)
}

/// Deletes metrics with their points.
pub(super) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    ask_before(arguments)?;
    if arguments.from.is_some() {
        return erase::delete_range(config, arguments, output);
    }
    match asks_cluster(config, &arguments.server) {
        false => local::delete(config, arguments, output),
        true => cluster::delete(config, arguments, output),
    }
}

/// Asks the person at the terminal, if there is one, whether a deletion is meant.
fn ask_before(arguments: &Delete) -> Result<()> {
    if arguments.dry_run || arguments.yes || !io::stdin().is_terminal() {
        return Ok(());
    }
    let range = if arguments.from.is_some() { "the points in this range of time of " } else { "" };
    eprint!("delete {range}everything that matches `{}`? [y/N] ", arguments.glob);
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => bail!("nothing was deleted; `--dry-run` lists what would be, and `--yes` does not ask"),
    }
}

/// Prints how many metrics match a glob, and their bytes.
pub(super) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    match asks_cluster(config, &arguments.server) {
        false => local::du(config, arguments, output),
        true => cluster::du(config, arguments, output),
    }
}

/// Prints numbers about the store.
pub(super) fn stats(config: &Config, arguments: &Stats, output: Output) -> Result<()> {
    match asks_cluster(config, &arguments.server) {
        false => local::stats(config, arguments, output),
        true => cluster::stats(config, output),
    }
}

/// Prints what is known about one metric.
pub(super) fn info(config: &Config, arguments: &Info, output: Output) -> Result<()> {
    match asks_cluster(config, &arguments.server) {
        false => local::info(config, arguments, output),
        true => cluster::info(config, arguments, output),
    }
}

/// Does a command query the cluster itself? Not if a person names a server.
fn asks_cluster(config: &Config, server: &Server) -> bool {
    server.url.is_none() && config.store.kind == StoreKind::Cassandra
}

/// The spelling under which a name is stored.
pub(super) fn canonical_name(raw: &str, max_bytes: usize) -> Result<String> {
    Ok(name::canonical(raw, max_bytes)?.into_owned())
}

/// Opens an existing store; `None` if a server has to be asked. A query must not create a directory.
fn open(config: &Config) -> Result<Option<Engine>> {
    if belongs_to_others(config) {
        return Ok(None);
    }
    must_exist(config)?;
    open_or_make(config)
}

/// Is the store one that this user may not look into, or should not? What root leaves in the directory of a service, the service
/// cannot write. Both can ask the server.
fn belongs_to_others(config: &Config) -> bool {
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    match config.store.path.join("catalogue.redb").metadata() {
        Ok(about) => rustix::process::geteuid().is_root() && about.uid() != 0,
        Err(error) => is_closed(&error),
    }
}

/// Fails if there is no store, and says how to name one.
fn must_exist(config: &Config) -> Result<()> {
    let path = &config.store.path;
    let parts = ["catalogue.redb", "catalogue.transcript", "points"];
    if parts.iter().any(|part| path.join(part).exists()) {
        return Ok(());
    }
    let path = std::path::absolute(path)?;
    bail!(
        "there is no store at {}; name the one of your server by --config FILE or --set store.path=DIR \
         (`plumbago serve` and `plumbago write --create` make a new one)",
        path.display()
    )
}

/// Opens the store, or creates it; `None` if a running server has it open.
fn open_or_make(config: &Config) -> Result<Option<Engine>> {
    if belongs_to_others(config) {
        return Ok(None);
    }
    match Engine::open(config.clone()) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The error for a glob without a match. An unpaired bracket is an ordinary character, but most likely the reason.
fn nothing_matches(text: &str) -> anyhow::Error {
    let is_glob = !text.contains('(');
    match Glob::parse(text).ok().filter(|_| is_glob).and_then(|glob| glob.unpaired()) {
        None => anyhow!("nothing matches `{text}`"),
        Some((at, char)) => {
            anyhow!(
                "nothing matches `{text}`: the `{char}` at character {at} has no partner and is an ordinary character"
            )
        }
    }
}

/// The error of `delete` for a glob that matches only directories.
fn only_directories(text: &str) -> anyhow::Error {
    let path = text.trim_end_matches('.');
    anyhow!(
        "`{path}` is a directory, not a metric; `plumbago delete '{path}.**'` deletes all metrics below it"
    )
}

/// Prints what was or would be deleted.
fn print_deleted(names: &[String], trial: bool, output: Output) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json | Output::Csv => {
                output.line(out, &json!({ "deleted": !trial, "metrics": names }))?
            }
            Output::Table => names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        }
        let verb = if trial { "would be deleted" } else { "deleted" };
        eprintln!("{} {verb}", words::count(names.len() as u64, "metric"));
        Ok(())
    })
}

/// Prints one field or list item per line, or all of them as JSON.
fn print_fields(fields: &Value, output: Output, out: &mut dyn std::io::Write) -> Result<()> {
    let (Output::Table, Some(object)) = (output, fields.as_object()) else {
        return Ok(output.indented(out, fields)?);
    };
    for (key, value) in object {
        let mut title = key.replace('_', " ");
        let items = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        for item in items {
            let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            writeln!(out, "{title:<16}{text}")?;
            title.clear();
        }
    }
    Ok(())
}
