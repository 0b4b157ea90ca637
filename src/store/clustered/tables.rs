//! What this server does with the names of the cluster, as one trait, so that the parts above it can be tested without a
//! cluster.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::store::cassandra::names::{
    Change, Creation, Cursor, Listed, LookupError, LookupLimits, Names, NewMetric, Outcome, StrayWalk,
};
use crate::store::{Hit, StoreError};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Policy, Stretch};

/// Does a caller have a metric of this name?
pub(super) type IsKnown<'a> = &'a dyn Fn(&str) -> bool;

/// The tables of names; see [`Names`] for what each call promises.
pub(super) trait NameTables: Send + Sync {
    fn create(&self, metrics: &[NewMetric]) -> Result<Vec<Outcome>, StoreError>;
    fn delete(&self, names: &[String]) -> Result<(), StoreError>;
    /// Puts metrics under other policies.
    fn change_policies(&self, metrics: &[NewMetric]) -> Result<(), StoreError>;
    /// Tells others that points are deleted.
    fn tell_erased(&self, names: &[String], stretch: Stretch) -> Result<(), StoreError>;
    /// Visits every metric and gives their number.
    fn load(&self, visit: &mut dyn FnMut(Listed)) -> Result<u64, StoreError>;
    /// Those of these names that are not in the tables.
    fn missing(&self, names: Vec<String>) -> Result<HashSet<String>, StoreError>;
    /// What others did since the cursor was moved last.
    fn changes(&self, cursor: &mut Cursor, known: IsKnown<'_>) -> Result<Vec<Change>, StoreError>;
    /// Metrics without metadata in the next part of the walk.
    fn strays(&self, walk: &mut StrayWalk, known: IsKnown<'_>) -> Result<Vec<String>, StoreError>;
    /// The policies of those of these names that are in the tables.
    fn policies(&self, names: &[String]) -> Result<BTreeMap<String, Arc<Policy>>, StoreError>;
    fn touch_read(&self, names: &[String]) -> Result<(), StoreError>;
    fn touch_updated(&self, names: &[String]) -> Result<(), StoreError>;
    fn find(&self, glob: &Glob, limits: LookupLimits, cancel: &Cancel) -> Result<Vec<Hit>, LookupError>;
    fn find_leaves(
        &self,
        glob: &Glob,
        limits: LookupLimits,
        cancel: &Cancel,
    ) -> Result<Vec<String>, LookupError>;
}

/// The tables in Cassandra, with what this server's configuration says about them.
pub(super) struct CassandraTables {
    pub(super) names: Names,
    /// For what a metric's config does not say.
    pub(super) default: Arc<Policy>,
    pub(super) creation: Creation,
}

impl NameTables for CassandraTables {
    fn create(&self, metrics: &[NewMetric]) -> Result<Vec<Outcome>, StoreError> {
        Ok(self.names.create(metrics, self.creation)?)
    }

    fn delete(&self, names: &[String]) -> Result<(), StoreError> {
        self.names.delete(names, self.creation.in_flight)?;
        Ok(())
    }

    fn change_policies(&self, metrics: &[NewMetric]) -> Result<(), StoreError> {
        Ok(self.names.change_policies(metrics, self.creation.in_flight)?)
    }

    fn tell_erased(&self, names: &[String], stretch: Stretch) -> Result<(), StoreError> {
        Ok(self.names.tell_erased(names, stretch)?)
    }

    fn load(&self, visit: &mut dyn FnMut(Listed)) -> Result<u64, StoreError> {
        Ok(self.names.load(&self.default, &mut |_| {}, visit)?)
    }

    fn missing(&self, names: Vec<String>) -> Result<HashSet<String>, StoreError> {
        Ok(self.names.missing(names, &self.default)?)
    }

    fn changes(&self, cursor: &mut Cursor, known: IsKnown<'_>) -> Result<Vec<Change>, StoreError> {
        Ok(self.names.changes(cursor, &self.default, known)?)
    }

    fn strays(&self, walk: &mut StrayWalk, known: IsKnown<'_>) -> Result<Vec<String>, StoreError> {
        Ok(self.names.strays(walk, &self.default, known)?)
    }

    fn policies(&self, names: &[String]) -> Result<BTreeMap<String, Arc<Policy>>, StoreError> {
        let records = self.names.records(names, &self.default)?;
        Ok(records.into_iter().map(|(name, record)| (name, record.policy)).collect())
    }

    fn touch_read(&self, names: &[String]) -> Result<(), StoreError> {
        Ok(self.names.touch_read(names, self.creation.in_flight)?)
    }

    fn touch_updated(&self, names: &[String]) -> Result<(), StoreError> {
        Ok(self.names.touch_updated(names, self.creation.in_flight)?)
    }

    fn find(&self, glob: &Glob, limits: LookupLimits, cancel: &Cancel) -> Result<Vec<Hit>, LookupError> {
        self.names.find(glob, limits, cancel)
    }

    fn find_leaves(
        &self,
        glob: &Glob,
        limits: LookupLimits,
        cancel: &Cancel,
    ) -> Result<Vec<String>, LookupError> {
        self.names.find_leaves(glob, limits, cancel)
    }
}
