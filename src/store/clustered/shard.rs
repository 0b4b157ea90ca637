//! The shard a data directory writes under, once it has one. It never changes: what was delivered under it must be replaced
//! under it.

use std::sync::atomic::{AtomicI32, Ordering};

use super::notes::Notes;
use crate::store::StoreError;
use crate::store::embedded::Embedded;

/// Nothing was ever delivered.
const NONE: i32 = i32::MIN;

/// See the module documentation.
pub(super) struct Shard(AtomicI32);

impl Shard {
    /// As the directory remembers it.
    pub(super) fn open(local: &Embedded) -> Result<Self, StoreError> {
        Ok(Self(AtomicI32::new(Notes(local).shard()?.map_or(NONE, i32::from))))
    }

    pub(super) fn get(&self) -> Option<i16> {
        i16::try_from(self.0.load(Ordering::Acquire)).ok()
    }

    /// Decides it. That can be done once.
    pub(super) fn set(&self, shard: i16, local: &Embedded) -> Result<(), StoreError> {
        match self.get() {
            Some(known) if known == shard => Ok(()),
            Some(known) => Err(StoreError::Catalogue(format!(
                "this directory has written as replica {} writer {} and cannot go on as replica {} writer {}: set \
                 store.cassandra.replica and store.cassandra.writer back, or begin with another store.path",
                known.cast_unsigned() >> 14,
                known & 0x3fff,
                shard.cast_unsigned() >> 14,
                shard & 0x3fff,
            ))),
            None => {
                Notes(local).set_shard(shard)?;
                self.0.store(i32::from(shard), Ordering::Release);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Clustered;
    use super::super::testing::clustered;
    use crate::store::cassandra::{Cluster, Settings};

    #[test]
    fn a_directory_keeps_its_shard_over_restarts_and_takes_no_other() {
        let (dir, store) = clustered();
        assert_eq!(store.shard(), None);
        // Replica 2 uses the sign bit.
        let shard = i16::MIN + 5;
        store.set_shard(shard).unwrap();
        store.set_shard(shard).unwrap();
        drop(store);
        let cluster = Arc::new(Cluster::new(Settings::default()).unwrap());
        let store = Clustered::open(dir.path(), &cluster, 1).unwrap();
        assert_eq!(store.shard(), Some(shard));
        let refused = store.set_shard(5).unwrap_err().to_string();
        assert!(refused.contains("replica 2 writer 5 and cannot go on as replica 0 writer 5"), "{refused}");
        assert_eq!(store.shard(), Some(shard));
    }
}
