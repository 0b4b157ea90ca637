//! Step 7: the index of all metrics, in memory. Names become ids, and globs become metrics.
//!
//! | file        | noun                                                                                     |
//! |-------------|------------------------------------------------------------------------------------------|
//! | `table.rs`  | the hash table under everything                                                          |
//! | `texts.rs`  | texts with ids: metric names, and the components of the tree                             |
//! | `tree.rs`   | directories and what is in them                                                          |
//! | `plan.rs`   | a glob in terms of the tree                                                              |
//! | `search.rs` | a find as a walk that can be paused                                                      |
//! | `walk.rs`   | all names in order, in chunks                                                            |
//! | `listing.rs`| a directory as a person browses it: pages, with counts                                   |
//! | `words.rs`  | search as you type                                                                       |
//! | `loading.rs`| building all of it at a start                                                           |
//! | `sight.rs`  | the index as somebody sees it who is confined to a scope                                 |
//! | `shared.rs` | the index behind a lock, where a long find lets writers through                          |
//! | `tags.rs`   | tags, their values, and the metrics that have them                                       |
//! | `tagged.rs` | finding by tags                                                                          |
//! | `cardinality.rs` | where all the metrics come from                                                     |
//! | `catalog.rs` | the metrics with tags, and their tags                                                  |
//! | `inside.rs` | which metrics are inside of scopes                                                       |
//! | `sizes.rs`  | how many values the tags of metrics have                                               |
//! | `ranking.rs` | which of them are busy, new, or never read                                               |
//!
//! Names are canonical by the time they arrive here. A tagged name (one with a `;`) is found by its exact text and by its
//! tags, and is not in the tree. A removed name keeps its memory, which is reused if the name returns, until a restart.

mod cardinality;
mod catalog;
mod found;
mod inside;
mod listing;
mod loading;
mod plan;
mod ranking;
mod search;
mod shared;
mod sight;
mod sizes;
mod table;
mod tagged;
mod tags;
mod texts;
mod tree;
mod walk;
mod words;

#[cfg(test)]
mod tests;

pub use cardinality::{Cardinality, Survey};
pub use catalog::{Excerpt, Members};
pub use found::{FindLimits, Findings, Found};
pub use listing::{ListedName, Page, PageRequest};
pub use loading::Loading;
pub use ranking::{Ranking, Top};
pub use shared::SharedIndex;
pub use sight::Sight;
pub use tagged::{Asked, TagSize};
pub use walk::NameWalk;
pub use words::Hits;

use plumbago_model::glob::Glob;
use plumbago_model::{MetricId, Scope};
use search::{Accept, Collect};
use tags::Tags;
use texts::{MAX_TEXT_BYTES, Refused, Texts};
use tree::Tree;

/// Children to read between two checks of the clock.
const CHECK_EVERY: usize = 1024;

/// All metrics by name.
#[derive(Debug, Default)]
pub struct Index {
    names: Texts,
    tree: Tree,
    /// For tagged names, which are not in the tree.
    tags: Tags,
    /// Another one whenever an id may mean another name than before.
    generation: u64,
}

/// Why a metric was not added to the index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The name already exists.
    #[error("the name `{name}` belongs to metric {}", id.0)]
    NameTaken {
        /// The name.
        name: String,
        /// The metric that has it.
        id: MetricId,
    },
    /// The id is already in use.
    #[error("metric {} exists already; ids are never used twice", .0.0)]
    IdTaken(MetricId),
    /// The name is too long.
    #[error("the name has {bytes} bytes, more than {MAX_TEXT_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// No more ids, or no more room for names.
    #[error("the index is full; start another server for more metrics")]
    Full,
}

impl Index {
    /// An index without metrics.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of metrics.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Number of metrics with tags.
    pub fn tagged_len(&self) -> u64 {
        self.tags.metrics().len()
    }

    /// True when there are no metrics.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The metric of a name.
    pub fn lookup(&self, name: &[u8]) -> Option<MetricId> {
        self.names.find(name).map(MetricId)
    }

    /// The metrics of many names, added to `out` in the order of the names. Several times faster than looking them up one by one.
    pub fn lookup_many<'a>(&self, names: impl Iterator<Item = &'a str>, out: &mut Vec<Option<MetricId>>) {
        self.names.find_many(names.map(str::as_bytes), |id| out.push(id.map(MetricId)));
    }

    /// The name of a metric.
    pub fn name(&self, id: MetricId) -> Option<&str> {
        self.names.get(id.0)
    }

    /// Is a metric of this name in its directory, or among those with its tags?
    pub fn is_placed(&self, id: MetricId, name: &str) -> bool {
        match is_tagged(name) {
            true => self.tags.metrics().contains(id.0),
            false => self.tree.metric(name) == Some(id),
        }
    }

    /// Adds a metric. Ids should be dense: every id below the largest takes memory.
    pub fn insert(&mut self, id: MetricId, name: &str) -> Result<(), InsertError> {
        let id_end = self.names.id_end();
        claim(&mut self.names, id, name)?;
        // New metrics have higher ids than all before. This one had another name, or comes late.
        self.generation += u64::from((id.0 as usize) < id_end);
        self.place(id, name).inspect_err(|_| self.names.remove(id.0))
    }

    /// Is the same for as long as each id means one name, or none any more.
    fn generation(&self) -> u64 {
        self.generation
    }

    /// Forgets a metric, and the directories that are empty without it. False when there is no such metric.
    pub fn remove(&mut self, id: MetricId) -> bool {
        let Some(name) = self.names.get(id.0).map(str::to_owned) else { return false };
        self.displace(id, &name);
        self.names.remove(id.0);
        true
    }

    /// Gives a metric another name, with which it is found from now on. After an error it has its old name.
    pub fn rename(&mut self, id: MetricId, name: &str) -> Result<(), InsertError> {
        let Some(old) = self.names.get(id.0).map(str::to_owned) else { return Ok(()) };
        if let Some(id) = self.lookup(name.as_bytes()) {
            return Err(InsertError::NameTaken { name: name.to_owned(), id });
        }
        self.remove(id);
        self.insert(id, name).inspect_err(|_| {
            // Its room is still there.
            let _ = self.insert(id, &old);
        })
    }

    /// Makes a metric findable by the parts of its name.
    fn place(&mut self, id: MetricId, name: &str) -> Result<(), InsertError> {
        if is_tagged(name) {
            self.tags.insert(id.0, name);
            return Ok(());
        }
        self.tree.insert(id, name).map_err(|refused| refusal(refused, name))
    }

    /// Undoes [`Index::place`].
    fn displace(&mut self, id: MetricId, name: &str) {
        if is_tagged(name) {
            self.tags.remove(id.0, name);
        } else {
            self.tree.remove(name);
        }
    }

    /// How many values a tag has.
    pub fn count_tag_values(&self, tag: &str) -> usize {
        self.tags.get(tag).map_or(0, |tag| tag.len())
    }

    /// Has any metric this value of a tag?
    pub fn has_tag_value(&self, tag: &str, value: &str) -> bool {
        self.tags.get(tag).is_some_and(|tag| tag.get(value).is_some())
    }

    /// Bytes allocated for all of it.
    pub fn memory_bytes(&self) -> usize {
        self.names.memory_bytes() + self.tree.memory_bytes() + self.tags.memory_bytes()
    }

    /// The answer inside of a scope, if looking up a single name is enough.
    fn shortcut(&self, glob: &Glob, collect: Collect, scope: &Scope, accept: Accept<'_>) -> Option<Findings> {
        let tagged = is_tagged(glob.as_str());
        if !tagged && (collect == Collect::All || !glob.is_literal()) {
            return None;
        }
        // Tag values may contain dots and wildcards, so the text is first tried literally.
        let named = |name| {
            let stored = scope.stored(name).filter(|stored| scope.covers(stored))?;
            Some((name, self.lookup(stored.as_bytes())?))
        };
        let as_written = if tagged { named(glob.as_str()) } else { None };
        let found = as_written.or_else(|| named(glob.literal()?));
        if found.is_none() && !glob.is_literal() {
            return None;
        }
        let accepted = found.filter(|&(_, id)| accept(id));
        Some(accepted.map_or_else(Findings::default, |(name, id)| Findings::one(name, id)))
    }

    fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// Makes a metric findable by its whole name, if neither name nor id is taken.
fn claim(names: &mut Texts, id: MetricId, name: &str) -> Result<(), InsertError> {
    if let Some(id) = names.find(name.as_bytes()) {
        return Err(InsertError::NameTaken { name: name.to_owned(), id: MetricId(id) });
    }
    if names.get_bytes(id.0).is_some() {
        return Err(InsertError::IdTaken(id));
    }
    if id.0 >= tree::ID_END {
        return Err(InsertError::Full);
    }
    names.insert(id.0, name).map_err(|refused| refusal(refused, name))
}

fn refusal(refused: Refused, name: &str) -> InsertError {
    match refused {
        Refused::TooLong => InsertError::TooLong { bytes: name.len() },
        Refused::Full => InsertError::Full,
    }
}

fn is_tagged(name: &str) -> bool {
    name.contains(';')
}
