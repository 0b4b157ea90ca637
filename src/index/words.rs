//! Search as you type: names that contain every word of a text, in any case.
//!
//! Components are interned, so each distinct one is compared with the words once; the walk over the tree then only looks
//! up numbers. A word with dots spans components (`cpu.lo` is in `web1.cpu.load`): its parts are places in one machine word
//! that a path moves through, one place per component, as in a shift-and string search. Letters of ASCII match in either
//! case, all others as they are.

use memchr::memmem::Finder;
use parking_lot::RwLockReadGuard;

use super::listing::ListedName;
use super::sight::{Sight, below, root};
use super::tree::{DirId, Tree};
use super::{CHECK_EVERY, Index};
use plumbago_model::{Cancel, Cancelled, Place, QueryError, Scope};

/// Most parts of all words together: as many as there are bits.
const MAX_PARTS: usize = 32;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hits {
    /// The first of them: the topmost names that contain all words, those with few components first. Names below such a
    /// name are counted there and not listed.
    pub entries: Vec<ListedName>,
    /// How many there are.
    pub total: usize,
    /// False when the deadline passed before all names were read.
    pub complete: bool,
}

impl Sight<'_> {
    /// The names that have all the words of `text`, at most `limit` of them. When the deadline passes, those found by then.
    pub fn search_words(self, text: &str, limit: usize, cancel: &Cancel) -> Result<Hits, QueryError> {
        let lower = text.to_ascii_lowercase();
        let words = Words::parse(&lower)?;
        let mut hunt = Hunt { words: &words, limit, fits: Vec::new(), found: Vec::new(), total: 0 };
        let complete = match self.hunt(&mut hunt, cancel) {
            Ok(()) => true,
            Err(Cancelled { deadline: true }) => false,
            Err(cancelled) => return Err(cancelled.into()),
        };
        let Hunt { mut found, total, .. } = hunt;
        found.sort_by_cached_key(|entry| (entry.name.matches('.').count(), entry.name.clone()));
        Ok(Hits { entries: found, total, complete })
    }

    fn hunt(self, hunt: &mut Hunt<'_>, cancel: &Cancel) -> Result<(), Cancelled> {
        if hunt.words.is_empty() {
            return Ok(());
        }
        let mut index = self.read();
        while hunt.compare_some(index.tree()) {
            cancel.check()?;
            RwLockReadGuard::bump(&mut index);
        }
        let mut walk = Walk::new(self.scope(), index.tree());
        while walk.step(hunt, &index) {
            cancel.check()?;
            RwLockReadGuard::bump(&mut index);
        }
        drop(index);
        let mut lower = Vec::new();
        self.each_tagged(cancel, |name| {
            lower.clear();
            lower.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
            if hunt.words.stand_in(&lower) {
                hunt.note(|| ListedName { name: name.to_owned(), metric: true, below: 0 });
            }
        })
    }
}

/// The words of a text in lower case.
struct Words<'a> {
    whole: Vec<Finder<'a>>,
    parts: Vec<Part<'a>>,
    /// The places at which a word starts, and at which it is complete.
    first: u32,
    last: u32,
}

/// What one component must look like.
enum Part<'a> {
    Contains(Box<Finder<'a>>),
    EndsWith(&'a str),
    Is(&'a str),
    StartsWith(&'a str),
}

impl<'a> Words<'a> {
    fn parse(lower: &'a str) -> Result<Self, QueryError> {
        let mut words = Self { whole: Vec::new(), parts: Vec::new(), first: 0, last: 0 };
        for word in lower.split_whitespace() {
            let pieces: Vec<&str> = word.split('.').collect();
            if words.parts.len() + pieces.len() > MAX_PARTS {
                return Err(QueryError::Invalid(format!(
                    "a search takes at most {MAX_PARTS} words and parts of words between dots; leave some out"
                )));
            }
            words.whole.push(Finder::new(word));
            words.first |= 1 << words.parts.len();
            for (at, &piece) in pieces.iter().enumerate() {
                words.parts.push(match (at == 0, at + 1 == pieces.len()) {
                    (true, true) => Part::Contains(Box::new(Finder::new(piece))),
                    (true, false) => Part::EndsWith(piece),
                    (false, false) => Part::Is(piece),
                    (false, true) => Part::StartsWith(piece),
                });
            }
            words.last |= 1 << (words.parts.len() - 1);
        }
        Ok(words)
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The places whose part matches this component.
    fn fits(&self, lower: &[u8]) -> u32 {
        let fit = |part: &Part<'_>| match part {
            Part::Contains(finder) => finder.find(lower).is_some(),
            Part::EndsWith(text) => lower.ends_with(text.as_bytes()),
            Part::Is(text) => lower == text.as_bytes(),
            Part::StartsWith(text) => lower.starts_with(text.as_bytes()),
        };
        let places = self.parts.iter().enumerate().filter(|(_, part)| fit(part));
        places.fold(0, |places, (at, _)| places | 1 << at)
    }

    /// Does a text that is not a path contain all of them?
    fn stand_in(&self, lower: &[u8]) -> bool {
        self.whole.iter().all(|word| word.find(lower).is_some())
    }
}

/// A search in progress.
struct Hunt<'w> {
    words: &'w Words<'w>,
    limit: usize,
    /// By component, the places it matches.
    fits: Vec<u32>,
    found: Vec<ListedName>,
    total: usize,
}

impl Hunt<'_> {
    /// Compares some more components with the words. False when all are done.
    fn compare_some(&mut self, tree: &Tree) -> bool {
        let end = tree.component_end().min(self.fits.len() + CHECK_EVERY);
        let mut lower = Vec::new();
        for component in self.fits.len()..end {
            lower.clear();
            lower.extend(tree.text_bytes(component as u32).iter().map(u8::to_ascii_lowercase));
            self.fits.push(self.words.fits(&lower));
        }
        end < tree.component_end()
    }

    fn fits(&self, component: u32, tree: &Tree) -> u32 {
        let known = self.fits.get(component as usize).copied();
        // A component that was added during a pause.
        known.unwrap_or_else(|| self.words.fits(&tree.text_bytes(component).to_ascii_lowercase()))
    }

    fn note(&mut self, entry: impl FnOnce() -> ListedName) {
        self.total += 1;
        if self.found.len() < self.limit {
            self.found.push(entry());
        }
    }
}

/// All directories that are still of interest, level by level: the names people look for are short.
struct Walk<'s> {
    scope: &'s Scope,
    ways: Vec<Way>,
    /// How each of them relates to the scope.
    places: Vec<Place>,
    /// The directory being read, and the next of its children.
    at: usize,
    child: usize,
}

/// How the walk reached a directory.
#[derive(Clone, Copy)]
struct Way {
    dir: DirId,
    /// The way to the directory above, and the component that led on from there.
    up: u32,
    component: u32,
    /// The places the path is in, and the words it has already.
    state: u32,
    done: u32,
}

impl<'s> Walk<'s> {
    fn new(scope: &'s Scope, tree: &Tree) -> Self {
        let top = |dir| Way { dir, up: 0, component: 0, state: 0, done: 0 };
        let ways = root(tree, scope).map(top).into_iter().collect();
        Self { scope, ways, places: vec![scope.top()], at: 0, child: 0 }
    }

    /// Reads some more children. False when there are none left.
    fn step(&mut self, hunt: &mut Hunt<'_>, index: &Index) -> bool {
        let tree = index.tree();
        let mut left = CHECK_EVERY;
        while let (Some(&way), Some(here)) = (self.ways.get(self.at), self.places.get(self.at).cloned()) {
            let rest = tree.dir(way.dir).children().get(self.child..).unwrap_or_default();
            for &child in rest.iter().take(left) {
                let place = match &here {
                    Place::Above(trail) => self.scope.step(trail, tree.text(child.component)),
                    place => place.clone(),
                };
                if matches!(place, Place::Outside) {
                    continue;
                }
                let fits = hunt.fits(child.component, tree);
                let state = (way.state << 1 | hunt.words.first) & fits;
                let done = way.done | state & hunt.words.last;
                if done == hunt.words.last {
                    let node = tree.node(child);
                    let below = node.dir.map_or(0, |dir| below(tree, dir, self.scope, &place));
                    let metric = node.metric.is_some() && matches!(place, Place::Inside);
                    if metric || below > 0 {
                        let name = || self.path(way, child.component, tree);
                        hunt.note(|| ListedName { name: name(), metric, below });
                    }
                } else if let Some(dir) = child.dir() {
                    let up = self.at as u32;
                    self.ways.push(Way { dir, up, component: child.component, state, done });
                    self.places.push(place);
                }
            }
            if rest.len() > left {
                self.child += left;
                return true;
            }
            left -= rest.len();
            self.at += 1;
            self.child = 0;
        }
        false
    }

    fn path(&self, mut way: Way, last: u32, tree: &Tree) -> String {
        let mut components = vec![tree.text(last)];
        let top = self.ways.first().map(|way| way.dir);
        while Some(way.dir) != top {
            components.push(tree.text(way.component));
            way = self.ways[way.up as usize];
        }
        components.reverse();
        components.join(".")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;
    use crate::index::SharedIndex;
    use plumbago_model::MetricId;

    fn index(names: &[impl AsRef<str>]) -> SharedIndex {
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name.as_ref()).unwrap();
        }
        SharedIndex::new(index)
    }

    fn names(index: &SharedIndex, text: &str) -> Vec<String> {
        let hits = index.all().search_words(text, 100, &Cancel::never()).unwrap();
        assert!(hits.complete && hits.total == hits.entries.len());
        hits.entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn every_word_must_stand_somewhere_in_any_case() {
        let index =
            index(&["servers.Web1.cpu.load", "servers.web1.disk", "servers.db.cpu.load", "Load;host=web1"]);
        assert_eq!(names(&index, "WEB1 load"), ["Load;host=web1", "servers.Web1.cpu.load"]);
        assert_eq!(names(&index, "load web1 cpu"), ["servers.Web1.cpu.load"]);
        assert_eq!(names(&index, "cpu"), ["servers.Web1.cpu", "servers.db.cpu"]);
        assert_eq!(names(&index, "nothing"), Vec::<String>::new());
        assert_eq!(names(&index, " "), Vec::<String>::new());
    }

    #[test]
    fn a_word_with_dots_spans_components() {
        let index = index(&["a.web1.cpu.load", "a.web2.cpu.idle", "cpu.x.load"]);
        assert_eq!(names(&index, "cpu.lo"), ["a.web1.cpu.load"]);
        assert_eq!(names(&index, "1.cpu.l"), ["a.web1.cpu.load"]);
        assert_eq!(names(&index, "b1.cp"), ["a.web1.cpu"]);
        assert_eq!(names(&index, "pu.x.lo"), ["cpu.x.load"]);
        assert_eq!(names(&index, ".cpu."), ["a.web1.cpu.load", "a.web2.cpu.idle"]);
    }

    #[test]
    fn a_directory_stands_for_what_is_below_it() {
        let index = index(&["servers.a.x", "servers.a.y", "servers.a"]);
        let hits = index.all().search_words("a", 100, &Cancel::never()).unwrap();
        assert_eq!(hits.entries, [ListedName { name: "servers.a".to_owned(), metric: true, below: 2 }]);
        index.write().remove(MetricId(2));
        index.write().remove(MetricId(1));
        index.write().remove(MetricId(0));
        assert_eq!(names(&index, "a"), Vec::<String>::new());
    }

    #[test]
    fn more_than_the_limit_is_counted_and_the_deadline_gives_what_there_is() {
        let many: Vec<String> = (0..5000).map(|i| format!("dir{i}.leaf")).collect();
        let index = index(&many);
        let hits = index.all().search_words("leaf", 10, &Cancel::never()).unwrap();
        assert_eq!((hits.entries.len(), hits.total, hits.complete), (10, 5000, true));
        let late = index.all().search_words("leaf", 10, &Cancel::at(Instant::now())).unwrap();
        assert!(!late.complete);
        let gone = Cancel::never();
        gone.cancel();
        assert!(matches!(index.all().search_words("leaf", 10, &gone), Err(QueryError::Abandoned)));
        let words = "x ".repeat(MAX_PARTS + 1);
        assert!(
            index.all().search_words(&words, 10, &Cancel::never()).unwrap_err().to_string().contains("32")
        );
    }

    proptest! {
        /// The walk finds exactly the metrics that a test of every full name finds.
        #[test]
        fn nothing_is_missed_and_nothing_made_up(
            all in proptest::collection::btree_set("[abA]{1,2}(\\.[abA]{1,2}){0,3}", 1..30),
            text in "[ab.]{1,3}( [ab.]{1,3})?",
        ) {
            let all: Vec<String> = all.into_iter().collect();
            let found = names(&index(&all), &text);
            let has = |name: &str| {
                let lower = name.to_ascii_lowercase();
                text.split_whitespace().all(|word| lower.contains(word))
            };
            for name in &all {
                let listed = found.iter().any(|hit| hit == name || name.starts_with(&format!("{hit}.")));
                prop_assert_eq!(listed, has(name), "{} for {:?}", name, text);
            }
            prop_assert!(found.iter().all(|hit| has(hit)), "{:?} for {:?}", found, text);
        }
    }
}
