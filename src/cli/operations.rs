//! What each command does with the store and the server.
//!
//! NOT WIRED YET: every body in this file is a placeholder. The signatures are what [`super::run`] calls; a body prints
//! its data to stdout in the form of `output` and returns an error for exit code 1.

use anyhow::{Result, bail};

use super::{Delete, Dump, Find, Info, Output, Read, Usage, Write};
use crate::config::Config;

/// Runs the server.
pub(super) fn serve(config: Config) -> Result<()> {
    crate::server::run(config)
}

/// Prints the names a glob matches.
pub(super) fn find(_config: &Config, _arguments: &Find, _output: Output) -> Result<()> {
    bail!("find is not wired yet")
}

/// Prints the points of a target.
pub(super) fn read(_config: &Config, _arguments: &Read, _output: Output) -> Result<()> {
    bail!("read is not wired yet")
}

/// Writes one point.
pub(super) fn write(_config: &Config, _arguments: &Write) -> Result<()> {
    bail!("write is not wired yet")
}

/// Deletes metrics.
pub(super) fn delete(_config: &Config, _arguments: &Delete, _output: Output) -> Result<()> {
    bail!("delete is not wired yet")
}

/// Prints how much there is.
pub(super) fn du(_config: &Config, _arguments: &Usage, _output: Output) -> Result<()> {
    bail!("du is not wired yet")
}

/// Prints numbers about the store.
pub(super) fn stats(_config: &Config, _output: Output) -> Result<()> {
    bail!("stats is not wired yet")
}

/// Prints what is known about a metric.
pub(super) fn info(_config: &Config, _arguments: &Info, _output: Output) -> Result<()> {
    bail!("info is not wired yet")
}

/// Checks the data directory.
pub(super) fn fsck(_config: &Config, _output: Output) -> Result<()> {
    bail!("fsck is not wired yet")
}

/// Prints what is in a file.
pub(super) fn dump(_config: &Config, _arguments: &Dump, _output: Output) -> Result<()> {
    bail!("dump is not wired yet")
}

/// The spelling a name is stored under. To be `crate::model::name::canonical`, which knows tags too.
pub(super) fn canonical_name(raw: &str, max_bytes: usize) -> Result<String> {
    if raw.len() > max_bytes {
        bail!("the name has {} bytes: at most {max_bytes} are allowed (ingest.max_name_bytes)", raw.len());
    }
    if raw.contains(char::is_control) {
        bail!("the name {raw:?} has a control character");
    }
    if raw.contains(';') {
        return Ok(raw.to_owned());
    }
    let components: Vec<&str> = raw.split('.').filter(|c| !c.is_empty()).collect();
    match components.len() {
        0 => bail!("the name {raw:?} has no component: give at least one that is not empty"),
        1..=63 => Ok(components.join(".")),
        many => bail!("the name has {many} components: at most 63 are allowed"),
    }
}
