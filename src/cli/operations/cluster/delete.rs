//! `delete` on a cluster.

use std::collections::BTreeSet;

use anyhow::Result;

use super::super::{meter, only_directories, print_deleted};
use super::{Stages, UNLIMITED, default_policy, glob, has_directories, leaves, names};
use crate::cli::{Delete, Output};
use crate::config::Config;
use crate::server::now;
use crate::store::cassandra::erase;
use crate::store::cassandra::names::Names;
use plumbago_model::Cancel;

/// Metrics deleted together. After an interruption, the work on at most this many is repeated.
const BATCH: usize = 500;
/// Requests about names that run at the same time.
const IN_FLIGHT: usize = 64;

/// Deletes metrics, in batches: first the points and then the names, so that after an interruption the same command finds what
/// is left. Servers learn of it through the feed.
pub(in crate::cli::operations) fn delete(config: &Config, arguments: &Delete, output: Output) -> Result<()> {
    let names = names(config)?;
    let found = leaves(&names, &arguments.glob)?;
    if !arguments.dry_run {
        delete_found(config, &names, &found)?;
        sweep(&names, &arguments.glob)?;
    }
    print_deleted(&found, arguments.dry_run, output)?;
    if found.is_empty() && has_directories(&names, &arguments.glob)? {
        return Err(only_directories(&arguments.glob));
    }
    Ok(())
}

/// Deletes the points of metrics and then their names, batch by batch.
pub(super) fn delete_found(config: &Config, names: &Names, found: &[String]) -> Result<()> {
    let stages = Stages::new(names.cluster())?;
    let default = default_policy(config);
    for (done, batch) in found.chunks(BATCH).enumerate() {
        meter::show("deleted", done * BATCH, found.len());
        let records = names.records(batch, &default)?;
        let points: Vec<_> =
            records.iter().map(|(name, record)| stages.by_id(name, &record.policy)).collect();
        erase(names.cluster(), &points, now(), None)?;
        names.delete(batch, IN_FLIGHT)?;
    }
    meter::clear();
    Ok(())
}

/// Removes empty directories that an interrupted run may have left: those that match, and their parents.
pub(super) fn sweep(names: &Names, text: &str) -> Result<()> {
    let mut directories = BTreeSet::new();
    for pattern in [Some(text), text.rsplit_once('.').map(|(above, _)| above)].into_iter().flatten() {
        let Ok(pattern) = glob(pattern) else { continue };
        let hits = names.find(&pattern, UNLIMITED, &Cancel::never())?;
        directories.extend(hits.into_iter().filter(|hit| hit.directory).map(|hit| hit.path));
    }
    names.remove_empty_directories(directories)?;
    Ok(())
}
