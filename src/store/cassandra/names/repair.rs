//! Repairs what a survey finds, while servers keep writing.

use std::collections::BTreeSet;
use std::sync::Arc;

use scylla::value::CqlTimeuuid;

use super::directories::above;
use super::ring::Progress;
use super::statement::{Table, rows};
use super::survey::{Orphan, is_before};
use super::writer::{CREATED, DELETED};
use super::{IN_FLIGHT, Names, flight};
use crate::store::cassandra::lease::Outcome as Applied;
use crate::store::cassandra::{ClusterError, Purpose};
use plumbago_model::Policy;

/// Expired metrics that are deleted together.
const CHUNK: usize = 1000;

/// What a repair did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Directories that were missing above metrics, sorted.
    pub directories: Vec<String>,
    /// Names that lacked some of their rows, sorted.
    pub orphans: Vec<(String, Orphan)>,
}

/// What a cleaning did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Metrics that nobody writes to any more, sorted.
    pub metrics: Vec<String>,
    /// Directories without a metric below them, sorted. A dry run counts those that are empty now.
    pub directories: Vec<String>,
}

impl Names {
    /// Completes half-finished creations and deletions: creates missing directories, adds missing rows, and removes what is
    /// left of deleted metrics. `policy` supplies the policy where it is lost. A dry run changes nothing.
    pub fn repair(
        &self,
        trial: bool,
        policy: &dyn Fn(&str) -> Arc<Policy>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Repaired, ClusterError> {
        self.shared.cluster.block_on(async {
            let mut orphans = Vec::new();
            self.orphans_async(progress, &mut |name, orphan| orphans.push((name, orphan))).await?;
            orphans.sort();
            if !trial {
                let items = orphans.iter().map(|(name, _)| (name.clone(), policy(name))).collect();
                let names = self.clone();
                flight::map(items, IN_FLIGHT, move |(name, policy)| {
                    let names = names.clone();
                    async move { names.complete(&name, &policy).await }
                })
                .await?;
            }
            let directories = self.missing_directories_async(progress).await?;
            if !trial {
                self.confirm_directories(&directories.iter().cloned().collect()).await?;
            }
            Ok(Repaired { directories, orphans })
        })
    }

    /// Adds the rows that a name lacks, or removes what is left of it.
    async fn complete(&self, name: &str, policy: &Policy) -> Result<(), ClusterError> {
        // Read it again: it was found some time ago.
        match self.orphan(name).await? {
            None => Ok(()),
            Some(Orphan::NoMetadata) => {
                self.insert_metadata(name, policy).await?;
                self.tell(std::iter::once(name), CREATED).await
            }
            Some(Orphan::NoMetric) => {
                let directories = above([name]);
                self.prepare_directories(&directories).await?;
                self.insert_row(Table::Metrics, name).await?;
                self.confirm_directories(&directories).await?;
                self.tell(std::iter::once(name), CREATED).await
            }
            Some(Orphan::Ghost) => self.lay(name).await,
        }
    }

    /// Removes a row that has only timestamps, with the time of that write: a metric that is being created stays.
    async fn lay(&self, name: &str) -> Result<(), ClusterError> {
        let page = self.read(&self.statements().select_ghost, (name,)).await?;
        let Some(row) = rows::<(Option<i64>, Option<i64>, Option<i64>)>(&page)?.next() else { return Ok(()) };
        let (created, updated, read) = row?;
        let Some(written) = created.max(updated).max(read) else { return Ok(()) };
        self.write(&self.statements().delete_ghost, (written, name)).await
    }

    /// Deletes metrics that were last written before a moment, in milliseconds since 1970, then directories without
    /// metrics. A metric with a newer recorded write stays. A dry run changes nothing.
    pub fn clean(
        &self,
        before_ms: i64,
        trial: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Cleaned, ClusterError> {
        self.shared.cluster.block_on(async {
            let mut metrics = Vec::new();
            self.expired_async(before_ms, progress, &mut |name| metrics.push(name)).await?;
            metrics.sort();
            if !trial {
                let mut deleted = Vec::new();
                for chunk in metrics.chunks(CHUNK) {
                    deleted.extend(self.delete_expired(chunk, before_ms).await?);
                }
                metrics = deleted;
            }
            let mut directories = self.empty_directories_async(progress).await?;
            if !trial {
                directories = self.remove_empty(directories.into_iter().collect::<BTreeSet<_>>()).await?;
                directories.sort();
            }
            Ok(Cleaned { metrics, directories })
        })
    }

    async fn delete_expired(&self, chunk: &[String], before_ms: i64) -> Result<Vec<String>, ClusterError> {
        let names = self.clone();
        let deleted = flight::map(chunk.to_vec(), IN_FLIGHT, move |name: String| {
            let names = names.clone();
            async move { Ok(names.delete_if_expired(&name, before_ms).await?.then_some(name)) }
        });
        let deleted: Vec<String> = deleted.await?.into_iter().flatten().collect();
        self.tell(deleted.iter().map(String::as_str), DELETED).await?;
        Ok(deleted)
    }

    /// Deletes only if no write was recorded since it was read; recording a write is conditional as well.
    async fn delete_if_expired(&self, name: &str, before_ms: i64) -> Result<bool, ClusterError> {
        let page = self.read(&self.statements().select_updated, (name,)).await?;
        let row = rows::<(Option<CqlTimeuuid>, Option<CqlTimeuuid>)>(&page)?.next().transpose()?;
        let Some((created, updated)) = row else { return Ok(false) };
        if !is_before(created, updated, before_ms) {
            return Ok(false);
        }
        let cluster = &self.shared.cluster;
        let text = &self.statements().delete_expired;
        let statement = cluster.prepare(Purpose::Naming, text).await?;
        let done = cluster.session().await?.execute_unpaged(&statement, (name, updated)).await;
        let done = done.map_err(|error| ClusterError::of(format!("run `{text}`"), &error))?;
        // A repeated request finds that the first attempt already succeeded.
        if !Applied::of(done)?.applied && self.exists(Table::Metadata, name).await? {
            return Ok(false);
        }
        self.write(&self.statements().delete(Table::Metrics), (name,)).await?;
        Ok(true)
    }
}
