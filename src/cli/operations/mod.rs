//! What each command does with the store.
//!
//! The embedded store belongs to one process. While a server runs on it, `find`, `read`, `write` and `cardinality` go
//! through that server's own ports ([`remote`]); the other commands say that it has to be stopped. A cluster belongs to nobody: commands
//! about what is in it ([`cluster`]) ask it directly, whatever runs on this machine.

mod cardinality;
mod cluster;
mod copy;
mod inspect;
mod local;
mod meter;
mod names;
mod query;
mod remote;
mod schema;

use anyhow::{Context, Result, bail};
use serde_json::json;

pub(super) use cardinality::cardinality;
pub(super) use copy::copy;
pub(super) use inspect::{dump, fsck};
pub(super) use names::{clean, repair};
pub(super) use query::{find, read, write};
pub(super) use schema::schema;

use super::{Delete, Info, Output, Usage, to_stdout};
use crate::config::{Config, StoreKind};
use crate::server::Engine;
use crate::store::StoreError;
use plumbago_model::name;

/// Runs the server.
pub(super) fn serve(config: Config) -> Result<()> {
    crate::server::run(config)
}

/// Deletes metrics with their points.
pub(super) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    match config.store.kind {
        StoreKind::Embedded => local::delete(config, arguments, output),
        StoreKind::Cassandra => cluster::delete(config, arguments, output),
    }
}

/// Prints how many metrics a glob has and what they take up.
pub(super) fn du(config: &Config, arguments: &Usage, output: Output) -> Result<()> {
    match config.store.kind {
        StoreKind::Embedded => local::du(config, arguments, output),
        StoreKind::Cassandra => cluster::du(config, arguments, output),
    }
}

/// Prints numbers about the store.
pub(super) fn stats(config: &Config, output: Output) -> Result<()> {
    match config.store.kind {
        StoreKind::Embedded => local::stats(config, output),
        StoreKind::Cassandra => cluster::stats(config, output),
    }
}

/// Prints what is known about one metric.
pub(super) fn info(config: &Config, arguments: &Info, output: Output) -> Result<()> {
    match config.store.kind {
        StoreKind::Embedded => local::info(config, arguments, output),
        StoreKind::Cassandra => cluster::info(config, arguments, output),
    }
}

/// The spelling a name is stored under.
pub(super) fn canonical_name(raw: &str, max_bytes: usize) -> Result<String> {
    Ok(name::canonical(raw, max_bytes)?.into_owned())
}

/// Opens a store that is there, or `None` when a running server has it. Looking for something makes no directory.
fn open(config: &Config) -> Result<Option<Engine>> {
    let path = &config.store.path;
    if !path.join("catalogue.redb").exists() {
        bail!("there is no data directory at {}; set store.path to the one of your server", path.display());
    }
    open_or_make(config)
}

/// Opens the store, making it if it is not there, or `None` when a running server has it.
fn open_or_make(config: &Config) -> Result<Option<Engine>> {
    match Engine::open(config.clone()) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if matches!(error.downcast_ref(), Some(StoreError::InUse { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_alone(config: &Config) -> Result<Engine> {
    open(config)?.with_context(|| {
        format!(
            "the data directory {} is in use by a running server; stop it first",
            config.store.path.display()
        )
    })
}

/// What was deleted, or would be.
fn print_deleted(names: &[String], trial: bool, output: Output) -> Result<()> {
    to_stdout(|out| {
        match output {
            Output::Json => writeln!(out, "{}", json!({ "deleted": !trial, "metrics": names }))?,
            Output::Text => names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        }
        let verb = if trial { "would be deleted" } else { "deleted" };
        eprintln!("{} metrics {verb}", names.len());
        Ok(())
    })
}

/// One field per line, or all of them as JSON.
fn print_fields(fields: &serde_json::Value, output: Output, out: &mut dyn std::io::Write) -> Result<()> {
    if let (Output::Text, Some(object)) = (output, fields.as_object()) {
        for (key, value) in object {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            writeln!(out, "{:<16}{text}", key.replace('_', " "))?;
        }
        return Ok(());
    }
    Ok(writeln!(out, "{fields:#}")?)
}
