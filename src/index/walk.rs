//! All names in order, in chunks, so that a caller can stream them and let go of the lock between two chunks.

use std::sync::LazyLock;

use super::search::{Collect, Search};
use super::{FindLimits, Index};
use plumbago_model::Cancel;
use plumbago_model::glob::Glob;

static EVERYTHING: LazyLock<Glob> = LazyLock::new(|| Glob::parse("**").expect("a valid pattern"));

/// A walk over the names of all metrics but tagged ones, in the order of their bytes.
///
/// It belongs to one index, yet does not borrow it: metrics may come and go between two chunks, and those that do may or
/// may not be among the names.
pub struct NameWalk {
    search: Search<'static>,
    done: bool,
}

impl NameWalk {
    /// A walk that has not begun.
    pub fn new() -> Self {
        let limits = FindLimits { max_hits: usize::MAX };
        Self { search: Search::new(&EVERYTHING, Collect::Leaves, limits), done: false }
    }

    /// Up to `limit` names; none when all were given. `index` must be the same in all calls.
    pub fn next_chunk(&mut self, index: &Index, limit: usize) -> Vec<String> {
        let never = Cancel::never();
        while !self.done && self.search.hits() < limit {
            let budget = limit - self.search.hits();
            // Without limit and deadline nothing can fail; if it did, ending the walk would be right.
            self.done = self.search.step(index, &|_| true, &never, budget).unwrap_or(true);
        }
        self.search.take_hits().iter().map(|found| found.path.to_owned()).collect()
    }
}

impl Default for NameWalk {
    fn default() -> Self {
        Self::new()
    }
}
