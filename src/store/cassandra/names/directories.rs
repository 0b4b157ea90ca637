//! Creates directories before their contents, and removes empty ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use parking_lot::Mutex;

use super::statement::{Table, rows};
use super::{IN_FLIGHT, Names, flight, identity};
use crate::store::cassandra::ClusterError;

/// How many directories to remember.
const KNOWN: usize = 100_000;

/// How often a creator checks again for directories that another server removes at the same time.
const ROUNDS: usize = 10;

/// Directories that existed when last checked. This only saves reads: [`Names::confirm_directories`] notices a directory that
/// another server has removed since.
#[derive(Debug, Default)]
pub(super) struct KnownDirectories {
    names: Mutex<HashSet<Box<str>>>,
}

impl KnownDirectories {
    fn missing(&self, wanted: &BTreeSet<String>) -> Vec<String> {
        let known = self.names.lock();
        wanted.iter().filter(|name| !known.contains(name.as_str())).cloned().collect()
    }

    fn add(&self, names: &[String]) {
        let mut known = self.names.lock();
        if known.len() + names.len() > KNOWN {
            known.clear();
        }
        known.extend(names.iter().take(KNOWN).map(|name| name.as_str().into()));
    }

    fn forget(&self, name: &str) {
        self.names.lock().remove(name);
    }
}

/// The directories above some names, each once. Tagged names have none.
pub(super) fn above<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in names.into_iter().filter(|name| !identity::is_tagged(name)) {
        // From the bottom up: once one exists, so do those above it.
        for ancestor in identity::ancestors(name).rev() {
            if found.contains(ancestor) {
                break;
            }
            found.insert(ancestor.to_owned());
        }
    }
    found
}

impl Names {
    /// Creates directories unless they are known to exist.
    pub(super) async fn prepare_directories(&self, wanted: &BTreeSet<String>) -> Result<(), ClusterError> {
        let unknown = self.shared.known.missing(wanted);
        self.make_missing(unknown.clone()).await?;
        self.shared.known.add(&unknown);
        Ok(())
    }

    /// Makes sure that directories exist now, after something was put into them.
    pub(super) async fn confirm_directories(&self, wanted: &BTreeSet<String>) -> Result<(), ClusterError> {
        let mut wanted: Vec<String> = wanted.iter().cloned().collect();
        // While one was restored, somebody may have removed the one above it.
        for _ in 0..ROUNDS {
            let made = self.make_missing(wanted.clone()).await?;
            if made.is_empty() {
                break;
            }
            wanted = above(made.iter().map(String::as_str)).into_iter().chain(made).collect();
        }
        Ok(())
    }

    /// Creates the missing directories, and returns them.
    pub(super) async fn make_missing(&self, wanted: Vec<String>) -> Result<Vec<String>, ClusterError> {
        let there = self.present(Table::Directories, &wanted).await?;
        let missing: Vec<String> = wanted.into_iter().filter(|name| !there.contains(name)).collect();
        let names = self.clone();
        flight::map(missing.clone(), IN_FLIGHT, move |directory| {
            let names = names.clone();
            async move { names.insert_row(Table::Directories, &directory).await }
        })
        .await?;
        Ok(missing)
    }

    /// Writes a row of `metrics` or `directories`; doing it again changes nothing.
    pub(super) async fn insert_row(&self, table: Table, name: &str) -> Result<(), ClusterError> {
        let values = identity::row(name);
        self.write(self.statements().insert(table, values.len()), values).await
    }

    /// Removes those of these directories that are empty, and those above them that are empty then. Returns those it removed.
    pub fn remove_empty_directories(
        &self,
        candidates: BTreeSet<String>,
    ) -> Result<Vec<String>, ClusterError> {
        self.block_on(self.remove_empty(candidates))
    }

    /// Removes those of these directories that are empty, then those above them that are empty without them. Returns
    /// those it removed.
    pub(super) async fn remove_empty(
        &self,
        candidates: BTreeSet<String>,
    ) -> Result<Vec<String>, ClusterError> {
        let mut by_depth: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        // Without an index, a directory is empty if no name of all is in it. Only lookups by index see empty ones, so they may stay.
        if !self.has_index(Table::Metrics.name(), "parent").await? {
            return Ok(Vec::new());
        }
        for name in candidates {
            by_depth.entry(depth(&name)).or_default().insert(name);
        }
        let mut removed = Vec::new();
        // The deepest first, and each depth before the one above it.
        while let Some((_, level)) = by_depth.pop_last() {
            let names = self.clone();
            let gone = flight::map(level.into_iter().collect(), IN_FLIGHT, move |directory: String| {
                let names = names.clone();
                async move { Ok(names.remove_if_empty(&directory).await?.then_some(directory)) }
            });
            for directory in gone.await?.into_iter().flatten() {
                if let Some((up, _)) = directory.rsplit_once('.') {
                    by_depth.entry(depth(up)).or_default().insert(up.to_owned());
                }
                removed.push(directory);
            }
        }
        Ok(removed)
    }

    /// The deletion carries the write time of the row: it removes the row that was read, and not one that somebody writes
    /// meanwhile, whatever the clock skew.
    async fn remove_if_empty(&self, directory: &str) -> Result<bool, ClusterError> {
        if !self.is_empty(directory).await? {
            return Ok(false);
        }
        let page = self.read(&self.statements().select_directory, (directory,)).await?;
        let Some(row) = rows::<(Option<i64>,)>(&page)?.next() else { return Ok(false) };
        let (written,) = row?;
        self.shared.known.forget(directory);
        match written {
            Some(written) => self.write(&self.statements().delete_directory, (written, directory)).await?,
            None => self.write(&self.statements().delete(Table::Directories), (directory,)).await?,
        }
        if self.is_empty(directory).await? {
            return Ok(true);
        }
        self.insert_row(Table::Directories, directory).await?;
        self.confirm_directories(&above([directory])).await?;
        Ok(false)
    }

    pub(super) async fn is_empty(&self, directory: &str) -> Result<bool, ClusterError> {
        let parent = format!("{directory}.");
        for table in [Table::Metrics, Table::Directories] {
            if self.read(&self.statements().child(table), (&parent,)).await?.rows_num() > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn depth(name: &str) -> usize {
    identity::components(name).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_names_come_once() {
        let found = above(["a.b.c", "a.b.d", "a.e", "f", "t.g;k=v"]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "a.b"]);
    }
}
