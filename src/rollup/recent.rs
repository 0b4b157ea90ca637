//! Points that are only in memory: no cut has moved them into the store yet.

use super::points::Points;
use plumbago_model::{MetricId, Point};

impl Points {
    /// A metric's points that are not in the store yet, by time, one for each second.
    pub fn in_memory(&self, id: MetricId) -> Vec<Point> {
        let mut found = Vec::new();
        let frozen = {
            let held = self.memory();
            held.live.walk_many(&[id], |_, point| found.push(point)).finish(|_, point| found.push(point));
            held.frozen.clone()
        };
        if let Some(frozen) = frozen {
            frozen.walk_many(&[id], |_, point| found.push(point));
        }
        // They are newest first, so the one accepted last is the first of its second, and stays.
        found.sort_by_key(|point| point.timestamp);
        found.dedup_by_key(|point| point.timestamp);
        found
    }
}
