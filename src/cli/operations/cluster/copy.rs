//! `copy` and `rename` on a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use super::super::copy::{Order, Outcome};
use super::delete::{delete_found, sweep};
use super::{Stages, default_policy, leaves, names, now_us};
use crate::cli::{Output, words};
use crate::config::Config;
use crate::store::cassandra::names::{Creation, Names, NewMetric, Outcome as Creating, identity};
use crate::store::cassandra::{Copied, Copier, CopyJob};
use plumbago_model::Policy;

/// Copies metrics one after another. The requests for one metric run in parallel.
pub(in crate::cli::operations) fn copy(config: &Config, order: &Order, output: Output) -> Result<()> {
    copy_found(config, &names(config)?, order, output).map(drop)
}

/// Copies metrics, and then deletes the old ones. If one cannot be copied, all old ones stay.
pub(in crate::cli::operations) fn rename(config: &Config, order: &Order, output: Output) -> Result<()> {
    let names = names(config)?;
    let found = copy_found(config, &names, order, output)?;
    if order.trial {
        return Ok(());
    }
    delete_found(config, &names, &found)?;
    order.patterns.iter().try_for_each(|pattern| sweep(&names, pattern))?;
    eprintln!("{} renamed", words::count(found.len() as u64, "metric"));
    Ok(())
}

fn copy_found(config: &Config, names: &Names, order: &Order, output: Output) -> Result<Vec<String>> {
    let mut found = BTreeSet::new();
    for pattern in &order.patterns {
        found.extend(leaves(names, pattern)?.into_iter().filter(|name| order.takes(name)));
    }
    let found: Vec<String> = found.into_iter().collect();
    let (stages, default) = (Stages::new(names.cluster())?, default_policy(config));
    let copier = Copier::new(names.cluster(), config.cassandra.replica, now_us());
    order.run(&found, output, &mut |source, target| {
        let records = names.records(&[source.to_owned()], &default)?;
        let record = records.get(source).context("it has no config; `plumbago repair` gives it one")?;
        let policy = Arc::clone(&record.policy);
        if let Some(theirs) = other_policy(names, target, &policy, order.trial)? {
            return Ok(Outcome::Refused(format!("`{target}` exists and keeps {theirs}, not {policy}")));
        }
        if stages.of(&policy).len() < policy.retention.stages().len() {
            return Ok(Outcome::Refused(format!("some tables of `{source}` are missing ({policy})")));
        }
        let (from, until) = order.window;
        let (source, target) = (identity::id(source), identity::id(target));
        let job = CopyJob { source, target, policy, from, until };
        let Copied { points, aggregates } = copier.copy(&job, order.trial)?;
        Ok(Outcome::Copied { points, aggregates })
    })?;
    Ok(found)
}

/// Creates the destination, unless this is a trial. If it exists with another policy, under which the slots would mean
/// something else, returns that policy.
fn other_policy(
    names: &Names,
    target: &str,
    policy: &Arc<Policy>,
    trial: bool,
) -> Result<Option<Arc<Policy>>> {
    let theirs = if trial {
        names.records(&[target.to_owned()], policy)?.remove(target).map(|record| record.policy)
    } else {
        let new = NewMetric { name: target.to_owned(), policy: Arc::clone(policy) };
        match names.create(&[new], Creation::default())?.pop() {
            Some(Creating::Existed(theirs)) => Some(theirs),
            _ => None,
        }
    };
    let differs = |theirs: &Arc<Policy>| {
        (&theirs.retention, theirs.aggregator) != (&policy.retention, policy.aggregator)
    };
    Ok(theirs.filter(differs))
}
