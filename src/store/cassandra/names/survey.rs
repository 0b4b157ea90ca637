//! What is wrong or outdated in the tables. Nothing is changed here.
//!
//! Each survey reads whole tables by parallel ranges, while servers keep writing. Suspects are re-read before being reported,
//! so metrics mid-creation aren't flagged.

use std::collections::{BTreeSet, HashSet};

use ahash::RandomState;
use scylla::value::CqlTimeuuid;
use uuid::Uuid;

use super::directories::above;
use super::ring::{Piece, Progress};
use super::statement::{Table, rows};
use super::{IN_FLIGHT, Names, flight, identity, stamp};
use crate::store::cassandra::ClusterError;
use plumbago_model::Dates;

/// What is wrong with a name that lacks some of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orphan {
    /// It has no row in `metrics_metadata`: BigGraphite does not know it, and its policy is a guess.
    NoMetadata,
    /// It has no row in `metrics`: it cannot be found by a glob.
    NoMetric,
    /// It has no config and no row in `metrics`: the metric was deleted, and a use of it was recorded later.
    Ghost,
}

/// How many names there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows of `metrics`.
    pub metrics: u64,
    /// Rows of `directories`.
    pub directories: u64,
    /// Rows of `metrics_metadata`: tagged names are there alone.
    pub metadata: u64,
}

/// Texts by their hashes. Two texts with one hash are as likely as a broken disk, and the next survey has other hashes.
#[derive(Debug, Default)]
struct Fingerprints {
    state: RandomState,
    hashes: HashSet<u64, RandomState>,
}

impl Fingerprints {
    /// False if it was already present.
    fn insert(&mut self, text: &str) -> bool {
        self.hashes.insert(self.state.hash_one(text))
    }

    fn contains(&self, text: &str) -> bool {
        self.hashes.contains(&self.state.hash_one(text))
    }
}

impl Names {
    /// Visits metrics that were last written before a moment, in milliseconds since 1970. One without a
    /// recorded write counts from its creation.
    pub fn expired(
        &self,
        before_ms: i64,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(String),
    ) -> Result<(), ClusterError> {
        self.block_on(self.expired_async(before_ms, progress, visit))
    }

    pub(super) async fn expired_async(
        &self,
        before_ms: i64,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(String),
    ) -> Result<(), ClusterError> {
        let read = move |names: Names, piece| async move {
            let (mut found, mut seen) = (Vec::new(), 0);
            type Row<'f> = (&'f str, Option<CqlTimeuuid>, Option<CqlTimeuuid>);
            let columns = "name, created_on, updated_on";
            names
                .scan(Table::Metadata, columns, piece, |page| {
                    for row in rows::<Row<'_>>(page)? {
                        let (name, created, updated) = row?;
                        seen += 1;
                        if is_before(created, updated, before_ms) {
                            found.push(name.to_owned());
                        }
                    }
                    Ok(())
                })
                .await?;
            Ok((found, seen))
        };
        let visit = |(found, seen): (Vec<String>, u64)| {
            found.into_iter().for_each(&mut *visit);
            Ok(seen)
        };
        self.ring(read, progress, visit).await
    }

    /// Visits every metric that has metadata, with its dates, in no order.
    pub fn dates(
        &self,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(String, Dates),
    ) -> Result<(), ClusterError> {
        let read = |names: Names, piece| async move { names.dates_of(piece).await };
        self.block_on(self.ring(read, progress, |found: Vec<(String, Dates)>| {
            let count = found.len() as u64;
            found.into_iter().for_each(|(name, dates)| visit(name, dates));
            Ok(count)
        }))
    }

    async fn dates_of(&self, piece: Piece) -> Result<Vec<(String, Dates)>, ClusterError> {
        type Row<'f> = (&'f str, Option<Uuid>, Option<CqlTimeuuid>, Option<CqlTimeuuid>, Option<CqlTimeuuid>);
        let mut found = Vec::new();
        self.scan(Table::Metadata, "name, id, created_on, updated_on, read_on", piece, |page| {
            for row in rows::<Row<'_>>(page)? {
                // A row without an id is what a late touch leaves of a deleted metric.
                let (name, Some(_), created, updated, read) = row? else { continue };
                let time = |stamp: Option<CqlTimeuuid>| u32::try_from(stamp::millis(stamp?) / 1000).ok();
                let dates = Dates { created: time(created), updated: time(updated), read: time(read) };
                found.push((name.to_owned(), dates));
            }
            Ok(())
        })
        .await?;
        Ok(found)
    }

    /// Counts all names.
    pub fn count(&self, progress: &mut dyn FnMut(Progress)) -> Result<Counts, ClusterError> {
        let mut counts = Counts::default();
        self.block_on(async {
            for (table, count) in [
                (Table::Metrics, &mut counts.metrics),
                (Table::Directories, &mut counts.directories),
                (Table::Metadata, &mut counts.metadata),
            ] {
                self.visit_names(table, progress, |_| *count += 1).await?;
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Directories that have metrics below them and no row of their own, sorted.
    pub fn missing_directories(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<String>, ClusterError> {
        self.block_on(self.missing_directories_async(progress))
    }

    pub(super) async fn missing_directories_async(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<String>, ClusterError> {
        let mut there = Fingerprints::default();
        self.visit_names(Table::Directories, progress, |name| {
            there.insert(&name);
        })
        .await?;
        let mut missing = BTreeSet::new();
        self.visit_names(Table::Metrics, progress, |name| {
            for ancestor in above([name.as_str()]) {
                if !there.contains(&ancestor) {
                    missing.insert(ancestor);
                }
            }
        })
        .await?;
        self.keep(missing, |names, directory| async move {
            Ok(!names.exists(Table::Directories, &directory).await?)
        })
        .await
    }

    /// Directories that have no metric below them, sorted.
    pub fn empty_directories(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<String>, ClusterError> {
        self.block_on(self.empty_directories_async(progress))
    }

    pub(super) async fn empty_directories_async(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<String>, ClusterError> {
        let mut used = Fingerprints::default();
        self.visit_names(Table::Metrics, progress, |name| {
            // From the bottom up: the parents of a used directory are used.
            for ancestor in identity::ancestors(&name).rev() {
                if !used.insert(ancestor) {
                    break;
                }
            }
        })
        .await?;
        let mut empty = BTreeSet::new();
        self.visit_names(Table::Directories, progress, |name| {
            if !used.contains(&name) {
                empty.insert(name);
            }
        })
        .await?;
        let child = self.statements().child(Table::Metrics);
        self.keep(empty, move |names, directory| {
            let child = child.clone();
            async move { Ok(names.read(&child, (format!("{directory}."),)).await?.rows_num() == 0) }
        })
        .await
    }

    /// Visits names that lack some of their rows.
    pub fn orphans(
        &self,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(String, Orphan),
    ) -> Result<(), ClusterError> {
        self.block_on(self.orphans_async(progress, visit))
    }

    pub(super) async fn orphans_async(
        &self,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(String, Orphan),
    ) -> Result<(), ClusterError> {
        let read = |names: Names, piece| async move { names.orphans_of(piece).await };
        let visit = |(found, seen): (Vec<(String, Orphan)>, u64)| {
            found.into_iter().for_each(|(name, orphan)| visit(name, orphan));
            Ok(seen)
        };
        self.ring(read, progress, visit).await
    }

    async fn orphans_of(&self, piece: Piece) -> Result<(Vec<(String, Orphan)>, u64), ClusterError> {
        let mut metrics: HashSet<String, RandomState> = self.metrics_of(piece).await?.into_iter().collect();
        let mut odd = Vec::new();
        let mut seen = metrics.len() as u64;
        self.scan(Table::Metadata, "name, id", piece, |page| {
            for row in rows::<(&str, Option<Uuid>)>(page)? {
                let (name, id) = row?;
                seen += 1;
                let listed = metrics.remove(name);
                if id.is_none() || !(listed || identity::is_tagged(name)) {
                    odd.push(name.to_owned());
                }
            }
            Ok(())
        })
        .await?;
        odd.extend(metrics);
        let mut found = Vec::new();
        for name in odd {
            if let Some(orphan) = self.orphan(&name).await? {
                found.push((name, orphan));
            }
        }
        Ok((found, seen))
    }

    /// What is wrong with a name now.
    pub(super) async fn orphan(&self, name: &str) -> Result<Option<Orphan>, ClusterError> {
        let listed = self.exists(Table::Metrics, name).await?;
        if self.has_metadata(name).await? {
            return Ok((!listed && !identity::is_tagged(name)).then_some(Orphan::NoMetric));
        }
        if listed {
            return Ok(Some(Orphan::NoMetadata));
        }
        Ok(self.exists(Table::Metadata, name).await?.then_some(Orphan::Ghost))
    }

    /// Visits all names of a table.
    async fn visit_names(
        &self,
        table: Table,
        progress: &mut dyn FnMut(Progress),
        mut visit: impl FnMut(String),
    ) -> Result<(), ClusterError> {
        let read = move |names: Names, piece| async move {
            let mut found = Vec::new();
            names
                .scan(table, "DISTINCT name", piece, |page| {
                    for row in rows::<(String,)>(page)? {
                        found.push(row?.0);
                    }
                    Ok(())
                })
                .await?;
            Ok(found)
        };
        let visit = |found: Vec<String>| {
            let count = found.len() as u64;
            found.into_iter().for_each(&mut visit);
            Ok(count)
        };
        self.ring(read, progress, visit).await
    }

    /// Those for which `test` holds now.
    async fn keep<W>(
        &self,
        candidates: BTreeSet<String>,
        test: impl Fn(Names, String) -> W + Clone + Send + 'static,
    ) -> Result<Vec<String>, ClusterError>
    where
        W: Future<Output = Result<bool, ClusterError>> + Send + 'static,
    {
        let names = self.clone();
        let kept = flight::map(candidates.into_iter().collect(), IN_FLIGHT, move |name: String| {
            let tested = test(names.clone(), name.clone());
            async move { Ok(tested.await?.then_some(name)) }
        });
        Ok(kept.await?.into_iter().flatten().collect())
    }
}

/// Was a metric with these stamps last written before a moment?
pub(super) fn is_before(created: Option<CqlTimeuuid>, updated: Option<CqlTimeuuid>, before_ms: i64) -> bool {
    updated.or(created).is_some_and(|last| stamp::millis(last) < before_ms)
}
