//! The commands on a cluster. They query it directly: names through its indexes, points through its tables. So they work while
//! servers run, and on any machine with the configuration.

mod cardinality;
mod copy;
mod delete;
mod erase;
mod top;
mod usage;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use uuid::Uuid;

pub(super) use cardinality::cardinality;
pub(super) use copy::{copy, rename};
pub(super) use delete::delete;
pub(super) use erase::delete_range;
pub(super) use top::top;
pub(super) use usage::{du, info, stats};

use crate::cli::UsageError;
use crate::config::Config;
use crate::server::{cluster_indexes, cluster_settings};
use crate::store::cassandra::names::{LookupLimits, Names, identity};
use crate::store::cassandra::schema::table_name;
use crate::store::cassandra::{Cluster, tables};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Policy, Stage};

/// No limits: nobody but the person at the terminal waits for a command.
const UNLIMITED: LookupLimits = LookupLimits { max_hits: usize::MAX, max_rows: usize::MAX };

/// The names of the configured cluster.
pub(super) fn names(config: &Config) -> Result<Names> {
    let indexes = cluster_indexes(config.cassandra.index);
    Ok(Names::new(Arc::new(Cluster::connect(cluster_settings(&config.cassandra)?)?), indexes))
}

fn glob(text: &str) -> Result<Glob> {
    Ok(Glob::parse(text).map_err(|error| UsageError(error.to_string()))?)
}

/// Is there a directory that matches?
fn has_directories(names: &Names, text: &str) -> Result<bool> {
    let hits = names.find(&glob(text)?, UNLIMITED, &Cancel::never())?;
    Ok(hits.iter().any(|hit| hit.directory))
}

fn leaves(names: &Names, text: &str) -> Result<Vec<String>> {
    Ok(names.find_leaves(&glob(text)?, UNLIMITED, &Cancel::never())?)
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The policy of metrics without a config.
fn default_policy(config: &Config) -> Arc<Policy> {
    Arc::new(config.retention.default_policy())
}

/// The stages of metrics that have tables. A metric may have a retention whose tables were never created.
struct Stages {
    tables: BTreeSet<String>,
}

impl Stages {
    fn new(cluster: &Cluster) -> Result<Self> {
        Ok(Self { tables: tables(cluster, &cluster.settings().keyspace)? })
    }

    fn of(&self, policy: &Policy) -> Vec<Stage> {
        let is_there = |stage: &&Stage| self.tables.contains(&table_name(**stage));
        policy.retention.stages().iter().filter(is_there).copied().collect()
    }

    fn by_id(&self, name: &str, policy: &Policy) -> (Uuid, Vec<Stage>) {
        (identity::id(name), self.of(policy))
    }
}
