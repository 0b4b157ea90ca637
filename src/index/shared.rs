//! The index behind a lock, where a long find lets writers through.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::search::{Accept, Collect, Search};
use super::{CHECK_EVERY, FindError, FindLimits, Found, Index, leaves};
use crate::model::glob::Glob;
use crate::model::{Cancel, MetricId};

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

    /// For looking names up. Others may read at the same time; hold it for one batch, not longer.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    /// For adding and removing metrics. Everybody else waits.
    pub fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write()
    }

    /// As [`Index::find`], but a writer who waits gets in between. What changes meanwhile may or may not be seen.
    ///
    /// `accept` is called with the lock held: it must not lock the index.
    pub fn find(
        &self,
        glob: &Glob,
        limits: FindLimits,
        accept: &dyn Fn(MetricId) -> bool,
        cancel: &Cancel,
    ) -> Result<Vec<Found>, FindError> {
        self.search(glob, Collect::All, limits, accept, cancel)
    }

    /// As [`Index::find_leaves`], but a writer who waits gets in between.
    ///
    /// `accept` is called with the lock held: it must not lock the index.
    pub fn find_leaves(
        &self,
        glob: &Glob,
        limits: FindLimits,
        accept: &dyn Fn(MetricId) -> bool,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, FindError> {
        self.search(glob, Collect::Leaves, limits, accept, cancel).map(leaves)
    }

    fn search(
        &self,
        glob: &Glob,
        collect: Collect,
        limits: FindLimits,
        accept: Accept<'_>,
        cancel: &Cancel,
    ) -> Result<Vec<Found>, FindError> {
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
