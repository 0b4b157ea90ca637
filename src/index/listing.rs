//! A directory as a person browses it: a page of its entries in order, each with the number of metrics below it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BinaryHeap};

use parking_lot::RwLockReadGuard;

use super::CHECK_EVERY;
use super::sight::{Sight, below};
use plumbago_model::{Cancel, Cancelled, MetricId, Place, QueryError};

/// An entry of a directory, or a name that was searched for. Sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedName {
    /// The component, or the whole name.
    pub name: String,
    /// Is there a metric of this name?
    pub metric: bool,
    /// Metrics below it, at any depth.
    pub below: u64,
}

/// Some entries of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order of their bytes.
    pub entries: Vec<ListedName>,
    /// Entries of the whole directory.
    pub total: usize,
}

/// Which part of a directory to list: this many entries after a given one.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// The last entry of the page before; empty for the first page.
    pub after: &'a str,
    /// Most entries.
    pub limit: usize,
}

impl Sight<'_> {
    /// A page of a directory of the tree; the empty path is its top. A missing directory has no entries.
    pub fn children(self, path: &str, wanted: PageRequest<'_>, cancel: &Cancel) -> Result<Page, QueryError> {
        let mut sieve = Sieve::new(wanted);
        let scope = self.scope();
        let here = scope.place(path);
        let mut index = self.read();
        let Some(dir) = index.tree().find_dir(&joined(scope.root(), path)) else {
            return Ok(Page::default());
        };
        let mut from = 0;
        loop {
            cancel.check()?;
            let tree = index.tree();
            let rest = tree.dir(dir).children().get(from..).unwrap_or_default();
            for &child in rest.iter().take(CHECK_EVERY) {
                let node = tree.node(child);
                let place = match &here {
                    Place::Above(trail) => scope.step(trail, tree.text(child.component)),
                    place => place.clone(),
                };
                let below = node.dir.map_or(0, |dir| below(tree, dir, scope, &place));
                let metric = node.metric.is_some() && matches!(place, Place::Inside);
                if metric || below > 0 {
                    sieve.offer(tree.text(child.component), metric, below);
                }
            }
            if rest.len() <= CHECK_EVERY {
                return Ok(sieve.finish());
            }
            from += CHECK_EVERY;
            // Positions never move, so the scan continues where it was.
            RwLockReadGuard::bump(&mut index);
        }
    }

    /// A page of the names that tagged metrics have before their tags, with the number of metrics of each.
    pub fn tagged_names(self, wanted: PageRequest<'_>, cancel: &Cancel) -> Result<Page, QueryError> {
        let mut names: BTreeMap<String, u64> = BTreeMap::new();
        self.each_tagged(cancel, |full| {
            let name = bare_name(full);
            match names.get_mut(name) {
                Some(count) => *count += 1,
                None => _ = names.insert(name.to_owned(), 1),
            }
        })?;
        let mut sieve = Sieve::new(wanted);
        names.iter().for_each(|(name, &count)| sieve.offer(name, false, count));
        Ok(sieve.finish())
    }

    /// A page of the full names of the tagged metrics that have this name before their tags.
    pub fn tagged_with_name(
        self,
        name: &str,
        wanted: PageRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Page, QueryError> {
        let mut sieve = Sieve::new(wanted);
        self.each_tagged(cancel, |full| {
            if bare_name(full) == name {
                sieve.offer(full, true, 0);
            }
        })?;
        Ok(sieve.finish())
    }

    /// Visits the names of all tagged metrics inside of the scope. Waiting writers get a turn in between.
    pub(super) fn each_tagged(self, cancel: &Cancel, mut visit: impl FnMut(&str)) -> Result<(), Cancelled> {
        let mut index = self.read();
        let scope = self.scope();
        for (nth, id) in self.tagged(&index).iter().enumerate() {
            if nth % CHECK_EVERY == 0 {
                cancel.check()?;
                RwLockReadGuard::bump(&mut index);
            }
            let name = index.name(MetricId(id)).filter(|name| scope.covers(name));
            if let Some(name) = name.and_then(|name| scope.shown(name)) {
                visit(&name);
            }
        }
        Ok(())
    }
}

/// A path below a directory. Either may be empty.
fn joined<'a>(directory: &'a str, path: &'a str) -> Cow<'a, str> {
    match (directory, path) {
        ("", path) => Cow::Borrowed(path),
        (directory, "") => Cow::Borrowed(directory),
        (directory, path) => Cow::Owned(format!("{directory}.{path}")),
    }
}

/// The part of the name before the tags.
fn bare_name(name: &str) -> &str {
    name.split(';').next().unwrap_or(name)
}

/// Selects the entries of one page from any number of entries, in any order.
struct Sieve<'a> {
    wanted: PageRequest<'a>,
    kept: BinaryHeap<ListedName>,
    total: usize,
}

impl<'a> Sieve<'a> {
    fn new(wanted: PageRequest<'a>) -> Self {
        Self { wanted, kept: BinaryHeap::new(), total: 0 }
    }

    fn offer(&mut self, name: &str, metric: bool, below: u64) {
        self.total += 1;
        let full = self.kept.len() >= self.wanted.limit;
        let behind = full && self.kept.peek().is_none_or(|last| name > last.name.as_str());
        if name <= self.wanted.after && !self.wanted.after.is_empty() || behind {
            return;
        }
        self.kept.push(ListedName { name: name.to_owned(), metric, below });
        if full {
            self.kept.pop();
        }
    }

    fn finish(self) -> Page {
        Page { entries: self.kept.into_sorted_vec(), total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Index, SharedIndex};
    use plumbago_model::MetricId;

    fn index(names: &[&str]) -> SharedIndex {
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name).unwrap();
        }
        SharedIndex::new(index)
    }

    fn all() -> PageRequest<'static> {
        PageRequest { after: "", limit: 100 }
    }

    fn show(page: &Page) -> Vec<String> {
        let mark = |entry: &ListedName| if entry.metric { "+" } else { "" };
        page.entries.iter().map(|e| format!("{}{} {}", e.name, mark(e), e.below)).collect()
    }

    #[test]
    fn entries_are_sorted_and_counted() {
        let index = index(&["b.x", "a.c.d", "a.c.e", "a.c", "top", "disk;host=a"]);
        let list = |path: &str| show(&index.all().children(path, all(), &Cancel::never()).unwrap());
        assert_eq!(list(""), ["a 3", "b 1", "top+ 0"]);
        assert_eq!(list("a"), ["c+ 2"]);
        assert_eq!(list("a.c"), ["d+ 0", "e+ 0"]);
        assert_eq!(list("a.c.d"), Vec::<String>::new());
        assert_eq!(list("nothing.here"), Vec::<String>::new());
        index.write().remove(MetricId(0));
        assert_eq!(list(""), ["a 3", "top+ 0"]);
    }

    #[test]
    fn pages_follow_each_other_through_a_directory_longer_than_a_look_at_the_clock() {
        let names: Vec<String> = (0..3 * CHECK_EVERY).rev().map(|i| format!("d.n{i:05}")).collect();
        let index = index(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let wanted = PageRequest { after: &after, limit: 700 };
            let page = index.all().children("d", wanted, &Cancel::never()).unwrap();
            assert_eq!(page.total, names.len());
            let Some(last) = page.entries.last() else { break };
            after.clone_from(&last.name);
            seen.extend(page.entries.into_iter().map(|entry| format!("d.{}", entry.name)));
        }
        let sorted: Vec<String> = names.into_iter().rev().collect();
        assert_eq!(seen, sorted);
    }

    #[test]
    fn tagged_metrics_are_grouped_by_the_name_before_their_tags() {
        let index = index(&["disk;host=b", "disk;host=a", "cpu;host=a", "disk.used;host=a", "plain"]);
        let names = index.all().tagged_names(all(), &Cancel::never()).unwrap();
        assert_eq!(show(&names), ["cpu 1", "disk 2", "disk.used 1"]);
        let of = |name: &str| show(&index.all().tagged_with_name(name, all(), &Cancel::never()).unwrap());
        assert_eq!(of("disk"), ["disk;host=a+ 0", "disk;host=b+ 0"]);
        assert_eq!(of("plain"), Vec::<String>::new());
    }

    #[test]
    fn a_client_that_left_stops_the_scan() {
        let index = index(&["a.b", "disk;host=b"]);
        let cancel = Cancel::never();
        cancel.cancel();
        assert!(matches!(index.all().children("a", all(), &cancel), Err(QueryError::Abandoned)));
        assert!(matches!(index.all().tagged_names(all(), &cancel), Err(QueryError::Abandoned)));
    }
}
