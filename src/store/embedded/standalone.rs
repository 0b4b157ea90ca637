//! A store that is this machine alone: nothing to deliver, nobody to keep in step with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Embedded;
use crate::store::{
    BackedUp, Chore, Doomed, Forgetter, Headway, Hit, LocalMetrics, StoreError, Upstream, ids_of,
};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Dates, MetricId, Policy, QueryError, Retention, Stretch};

/// A data directory that is all there is of a store.
pub struct Standalone {
    /// Held open, and locked, for as long as the store is in use.
    directory: Embedded,
    cut_interval: Duration,
}

impl Standalone {
    /// Points in memory are cut this often.
    pub fn new(directory: Embedded, cut_interval: Duration) -> Self {
        Self { directory, cut_interval }
    }
}

impl Upstream for Standalone {
    fn start(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn is_sole_writer(&self) -> bool {
        true
    }

    fn knows_all_names(&self) -> bool {
        true
    }

    fn find(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Hit>, QueryError> {
        local.find(glob, max_hits, cancel)
    }

    fn find_leaves(
        &self,
        local: &dyn LocalMetrics,
        glob: &Glob,
        max_hits: usize,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        local.find_leaves(glob, max_hits, cancel)
    }

    fn note_read(&self, metrics: &[MetricId]) {
        self.directory.note_read(metrics);
    }

    fn dates(&self, metrics: &[MetricId]) -> Option<Vec<Dates>> {
        Some(self.directory.dates(metrics))
    }

    fn dates_since(&self) -> Option<u32> {
        Some(self.directory.dates_since())
    }

    fn delete(&self, metrics: &[Doomed], _: u32, own: Forgetter<'_>) -> Result<(), StoreError> {
        own(&ids_of(metrics))
    }

    fn erase(
        &self,
        _: &[Doomed],
        _: Stretch,
        _: u32,
        own: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        own().map(|()| 0)
    }

    fn admit(&self, _: &[Retention]) -> Result<(), StoreError> {
        Ok(())
    }

    fn change_policies(&self, _: &[(String, Arc<Policy>)]) -> Result<(), StoreError> {
        Ok(())
    }

    fn wants_cut(&self, since_last: Duration) -> bool {
        since_last >= self.cut_interval
    }

    fn spooled_points(&self) -> Option<u64> {
        None
    }

    fn is_spool_full(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn deliver_all(&self, _: &dyn LocalMetrics) -> Result<(), String> {
        Ok(())
    }

    fn back_up(&self, dir: &Path, headway: &Headway) -> Result<BackedUp, StoreError> {
        self.directory.back_up(dir, headway)
    }

    fn chores(&self) -> Vec<Arc<dyn Chore>> {
        vec![self.directory.day_keeper()]
    }

    fn stop(&self) {}

    fn leave(&self, _: &dyn LocalMetrics) {
        if let Err(error) = self.directory.record_days() {
            tracing::warn!(%error, "the days on which metrics were last read and written may be ten minutes old");
        }
    }
}
