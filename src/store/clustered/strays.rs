//! Strays: metrics that an interrupted creation left without metadata. A reload does not see them, so the ring is walked for
//! them afterwards, a few pieces at a time.

use std::sync::Arc;

use parking_lot::Mutex;

use super::adopted::Adopted;
use super::tables::NameTables;
use crate::store::cassandra::names::StrayWalk;
use crate::store::{LocalMetrics, StoreError};
use plumbago_model::Policy;

/// See the module documentation.
pub(super) struct Strays {
    tables: Arc<dyn NameTables>,
    adopted: Arc<Adopted>,
    default: Arc<Policy>,
    /// What of the ring is left.
    walk: Mutex<StrayWalk>,
}

impl Strays {
    pub(super) fn new(tables: Arc<dyn NameTables>, adopted: Arc<Adopted>, default: Arc<Policy>) -> Self {
        Self { tables, adopted, default, walk: Mutex::default() }
    }

    /// Begins a walk round the whole ring.
    pub(super) fn restart(&self) {
        *self.walk.lock() = StrayWalk::new();
    }

    /// Learns the strays in the next pieces of the ring. True if there are more pieces.
    pub(super) fn learn_next(&self, local: &dyn LocalMetrics) -> Result<bool, StoreError> {
        let mut walk = self.walk.lock();
        if walk.is_over() {
            return Ok(false);
        }
        let strays = self.tables.strays(&mut walk, &|name| local.lookup(name).is_some())?;
        let metrics: Vec<_> = strays.into_iter().map(|name| (name, Arc::clone(&self.default))).collect();
        self.adopted.learn(local, &metrics)?;
        Ok(!walk.is_over())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FakeServer, FakeTables, policy};
    use super::*;

    #[test]
    fn strays_are_learnt_once_after_each_reload() {
        let strays = Strays::new(FakeTables::with(&[]), Arc::default(), policy());
        let server = FakeServer::default();
        assert!(!strays.learn_next(&server).unwrap());
        assert!(server.names().is_empty(), "there was no reload yet");
        strays.restart();
        assert!(!strays.learn_next(&server).unwrap());
        assert_eq!(server.names(), ["stray"]);
    }
}
