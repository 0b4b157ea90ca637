//! The index behind a lock that a long find releases from time to time for writers.

use std::sync::{Arc, LazyLock};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::inside::{Bits, PerScope, Sets};
use super::sizes::KnownSizes;
use super::{Asked, FindLimits, Findings, Index, Sight};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, MetricId, QueryError, Scope};

static EVERYTHING: LazyLock<Arc<Scope>> = LazyLock::new(Arc::default);

/// An index that many threads use.
#[derive(Debug, Default)]
pub struct SharedIndex {
    pub(super) index: RwLock<Index>,
    pub(super) sizes: Mutex<KnownSizes>,
    /// What is inside for those who ask by tags.
    pub(super) insides: Mutex<PerScope<Sets>>,
    /// What is inside for those who send.
    pub(super) senders: Mutex<PerScope<Bits>>,
}

impl SharedIndex {
    /// Shares an index.
    pub fn new(index: Index) -> Self {
        Self { index: RwLock::new(index), ..Self::default() }
    }

    /// For looking up names. Others may read at the same time. Hold it for one batch at most.
    pub fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    /// For adding and removing metrics. All others wait.
    pub fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write()
    }

    /// All of it.
    pub fn all(&self) -> Sight<'_> {
        self.within(&EVERYTHING)
    }

    /// What of it is inside of a scope.
    pub fn within<'a>(&'a self, scope: &'a Arc<Scope>) -> Sight<'a> {
        Sight::new(self, scope)
    }

    /// The same as [`Sight::find`], of everything.
    pub fn find(&self, glob: &Glob, limits: FindLimits, cancel: &Cancel) -> Result<Findings, QueryError> {
        self.all().find(glob, limits, cancel)
    }

    /// The same as [`Sight::find_leaves`], of everything.
    pub fn find_leaves(
        &self,
        glob: &Glob,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        self.all().find_leaves(glob, limits, cancel)
    }

    /// The same as [`Sight::find_tagged`], of everything.
    pub fn find_tagged(
        &self,
        asked: Asked<'_>,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        self.all().find_tagged(asked, limits, cancel)
    }
}
