//! What the data directory remembers between two runs about how far this server is in step with the cluster.

use crate::store::StoreError;
use crate::store::embedded::Embedded;

const SENT: &str = "names_sent";
const FOLLOWED: &str = "names_followed_ms";
const DELETIONS_FOLLOWED: &str = "names_deletions_ms";
const LOADED: &str = "names_loaded";
const TOUCHED: &str = "names_touched_hour";
const RUNNING_WRITTEN: &str = "running_written_us";
const ERASURES: &str = "erasures";
const ERASURES_FOLLOWED: &str = "erasures_followed_ms";
const DELETION: &str = "deletion";
const SHARD: &str = "shard";

/// The notes in a data directory.
pub(super) struct Notes<'a>(pub(super) &'a Embedded);

impl Notes<'_> {
    fn number<N: std::str::FromStr>(&self, key: &str) -> Result<Option<N>, StoreError> {
        Ok(self.0.note(key)?.and_then(|text| text.parse().ok()))
    }

    /// The shard this directory writes under, once it has one.
    pub(super) fn shard(&self) -> Result<Option<i16>, StoreError> {
        self.number(SHARD)
    }

    pub(super) fn set_shard(&self, shard: i16) -> Result<(), StoreError> {
        self.0.set_note(SHARD, &shard.to_string())
    }

    /// The cluster has the running slots as they follow from all cuts up to this one, in microseconds since 1970; 0 for none.
    pub(super) fn running_written_us(&self) -> Result<i64, StoreError> {
        Ok(self.number(RUNNING_WRITTEN)?.unwrap_or(0))
    }

    pub(super) fn set_running_written_us(&self, cut_us: i64) -> Result<(), StoreError> {
        self.0.set_note(RUNNING_WRITTEN, &cut_us.to_string())
    }

    /// Every metric with a smaller id is in the cluster.
    pub(super) fn names_sent(&self) -> Result<u32, StoreError> {
        Ok(self.number(SENT)?.unwrap_or(0))
    }

    pub(super) fn set_names_sent(&self, until: u32) -> Result<(), StoreError> {
        self.0.set_note(SENT, &until.to_string())
    }

    /// Up to when the feed was followed, in milliseconds since 1970.
    pub(super) fn followed_ms(&self, all_names: bool) -> Result<Option<i64>, StoreError> {
        self.number(followed_key(all_names))
    }

    pub(super) fn set_followed_ms(&self, all_names: bool, until_ms: i64) -> Result<(), StoreError> {
        self.0.set_note(followed_key(all_names), &until_ms.to_string())
    }

    /// Stretches of time that the spool still has something of.
    pub(super) fn erasures(&self) -> Result<Option<String>, StoreError> {
        self.0.note(ERASURES)
    }

    pub(super) fn set_erasures(&self, text: &str) -> Result<(), StoreError> {
        self.0.set_note(ERASURES, text)
    }

    /// The deletion of metrics that is under way; empty for none.
    pub(super) fn deletion(&self) -> Result<String, StoreError> {
        Ok(self.0.note(DELETION)?.unwrap_or_default())
    }

    pub(super) fn set_deletion(&self, text: &str) -> Result<(), StoreError> {
        self.0.set_note(DELETION, text)
    }

    /// The last deletion of a stretch of time that was followed, in milliseconds since 1970; 0 for none.
    pub(super) fn erasures_followed_ms(&self) -> Result<i64, StoreError> {
        Ok(self.number(ERASURES_FOLLOWED)?.unwrap_or(0))
    }

    pub(super) fn set_erasures_followed_ms(&self, ms: i64) -> Result<(), StoreError> {
        self.0.set_note(ERASURES_FOLLOWED, &ms.to_string())
    }

    /// When vanished metrics were last forgotten, in seconds since 1970.
    pub(super) fn reloaded(&self) -> Result<u32, StoreError> {
        Ok(self.number(LOADED)?.unwrap_or(0))
    }

    pub(super) fn set_reloaded(&self, now: u32) -> Result<(), StoreError> {
        self.0.set_note(LOADED, &now.to_string())
    }

    /// The last hour since 1970 whose share of the metrics was marked as written.
    pub(super) fn touched_hour(&self) -> Result<Option<u32>, StoreError> {
        self.number(TOUCHED)
    }

    pub(super) fn set_touched_hour(&self, hour: u32) -> Result<(), StoreError> {
        self.0.set_note(TOUCHED, &hour.to_string())
    }
}

/// Deletion-only cursors use their own key, so that a switch to the memory index forces a full load.
fn followed_key(all_names: bool) -> &'static str {
    if all_names { FOLLOWED } else { DELETIONS_FOLLOWED }
}
