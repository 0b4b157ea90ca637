//! Points that were taken from their quotas and are not stored yet.

use std::sync::Arc;

use parking_lot::Mutex;

use super::window::Window;

/// Gives the points back when it is dropped: the batch was not stored and comes again.
#[must_use]
#[derive(Debug)]
pub struct Charge {
    now: u32,
    taken: Vec<(Arc<Mutex<Window>>, u64)>,
}

impl Charge {
    pub(super) fn new(now: u32) -> Self {
        Self { now, taken: Vec::new() }
    }

    pub(super) fn add(&mut self, window: &Arc<Mutex<Window>>, points: u64) {
        self.taken.push((Arc::clone(window), points));
    }

    /// The points are stored.
    pub fn keep(mut self) {
        self.taken.clear();
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        for (window, points) in self.taken.drain(..) {
            window.lock().give_back(points, self.now);
        }
    }
}
