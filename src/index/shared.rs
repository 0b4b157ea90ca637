//! The index behind a lock that a long find releases from time to time for writers.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::search::{Accept, Collect, Search};
use super::{CHECK_EVERY, FindLimits, Findings, Index};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, QueryError};

/// An index that many threads use.
#[derive(Debug, Default)]
pub struct SharedIndex {
    pub(super) index: RwLock<Index>,
}

impl SharedIndex {
    /// Shares an index.
    pub fn new(index: Index) -> Self {
        Self { index: RwLock::new(index) }
    }

    /// For looking up names. Others may read at the same time. Hold it for one batch at most.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    /// For adding and removing metrics. All others wait.
    pub fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write()
    }

    /// The metrics and directories that match, sorted by path. A tagged name is found when the pattern is exactly that
    /// name. Waiting writers get a turn in between; what they change may or may not be seen.
    pub fn find(&self, glob: &Glob, limits: FindLimits, cancel: &Cancel) -> Result<Findings, QueryError> {
        self.search(glob, Collect::All, limits, &|_| true, cancel)
    }

    /// Only the metrics that match, sorted by name.
    pub fn find_leaves(
        &self,
        glob: &Glob,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let found = self.search(glob, Collect::Leaves, limits, &|_| true, cancel)?;
        Ok(found.iter().filter_map(|found| Some((found.leaf?, found.path.to_owned()))).collect())
    }

    /// `accept` is called with the lock held: it must not lock the index.
    pub(super) fn search(
        &self,
        glob: &Glob,
        collect: Collect,
        limits: FindLimits,
        accept: Accept<'_>,
        cancel: &Cancel,
    ) -> Result<Findings, QueryError> {
        let mut index = self.read();
        if let Some(found) = index.shortcut(glob, collect, accept) {
            return Ok(found);
        }
        let mut search = Search::new(glob, collect, limits);
        while !search.step(&index, accept, cancel, CHECK_EVERY)? {
            RwLockReadGuard::bump(&mut index);
        }
        drop(index);
        Ok(search.take_hits())
    }
}
