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
