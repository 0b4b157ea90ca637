//! `copy` on a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context as _, Result};

use super::super::copy::{Order, Outcome};
use super::{Stages, default_policy, leaves, names};
use crate::cli::Output;
use crate::config::Config;
use crate::store::cassandra::names::{Creation, Names, NewMetric, Outcome as Creating, identity};
use crate::store::cassandra::{Copied, Copier, CopyJob};
use plumbago_model::Policy;

/// Copies metrics one after another. The requests for one metric run in parallel.
pub(in crate::cli::operations) fn copy(config: &Config, order: &Order, output: Output) -> Result<()> {
    let names = names(config)?;
    let mut found = BTreeSet::new();
    for pattern in &order.patterns {
        found.extend(leaves(&names, pattern)?);
    }
    let found: Vec<String> = found.into_iter().collect();
    let (stages, default) = (Stages::new(names.cluster())?, default_policy(config));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    let now_us = i64::try_from(now).unwrap_or(i64::MAX);
    let copier = Copier::new(names.cluster(), config.cassandra.replica, now_us);
    order.run(&found, output, &mut |source, target| {
        let records = names.records(&[source.to_owned()], &default)?;
        let record = records.get(source).context("it has no config; `plumbago repair` gives it one")?;
        let policy = Arc::clone(&record.policy);
        if let Some(theirs) = other_policy(&names, target, &policy, order.trial)? {
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
    })
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
