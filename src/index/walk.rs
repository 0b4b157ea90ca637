//! All names in order, in chunks, so that a caller can stream them and release the lock between two chunks.

use std::sync::{Arc, LazyLock};

use super::search::{Collect, Search};
use super::{FindLimits, Index};
use plumbago_model::glob::Glob;
use plumbago_model::{Cancel, Scope};

static EVERYTHING: LazyLock<Glob> = LazyLock::new(|| Glob::parse("**").expect("a valid pattern"));

/// A walk over the names of all untagged metrics, in byte order.
///
/// It belongs to one index but does not borrow it. Metrics may be created and deleted between two chunks; such metrics may
/// or may not be among the names. The walk is a find for `**` that never ends early: it keeps its position in the tree as
/// ids, which stay valid while others change the index.
pub struct NameWalk {
    search: Search<'static>,
    done: bool,
}

impl NameWalk {
    /// A new walk.
    pub fn new() -> Self {
        Self::within(&Arc::default())
    }

    /// A walk over those of them that are inside of a scope.
    pub fn within(scope: &Arc<Scope>) -> Self {
        Self::beginning(scope, "")
    }

    /// A walk over those of these that begin with a text. It goes straight to the directory where they are.
    pub fn beginning(scope: &Arc<Scope>, text: &str) -> Self {
        let search = Search::new(&EVERYTHING, Collect::Leaves, FindLimits::NONE, scope).beginning(text);
        // No name has an empty component.
        Self { search, done: text.starts_with('.') || text.contains("..") }
    }

    /// Up to `limit` names; none when there are no more. `index` must be the same in all calls.
    pub fn next_chunk(&mut self, index: &Index, limit: usize) -> Vec<String> {
        let never = Cancel::never();
        while !self.done && self.search.hits() < limit {
            let budget = limit - self.search.hits();
            // Without limit and deadline nothing can fail; if it did, we would end the walk.
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
