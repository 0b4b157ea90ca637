//! An inverted index of tags: for each tag its values, and for each value the metrics that have it.
//!
//! Nothing here takes memory before the first tagged name.

use std::collections::BTreeMap;
use std::ops::Bound;

use roaring::RoaringBitmap;

use plumbago_model::name;

/// Up to this many ids are kept as a list. Most values belong to few metrics, and a bitmap of one id takes four times as
/// much memory.
const FEW: usize = 16;

/// All tags.
#[derive(Debug, Default)]
pub(super) struct Tags {
    metrics: RoaringBitmap,
    tags: BTreeMap<Box<str>, Tag>,
    /// Another one after every change.
    version: u64,
}

/// One tag, the metric's own name (`name`) among them.
#[derive(Debug, Default)]
pub(super) struct Tag {
    /// The metrics that have it.
    pub(super) metrics: RoaringBitmap,
    values: BTreeMap<Box<str>, Ids>,
}

/// The metrics that have one value; at least one.
#[derive(Debug)]
pub(super) enum Ids {
    /// Ascending.
    Few(Vec<u32>),
    Many(RoaringBitmap),
}

impl Tags {
    /// All tagged metrics.
    pub(super) fn metrics(&self) -> &RoaringBitmap {
        &self.metrics
    }

    /// Is the same for as long as there is no change.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// All tags in order, from the first that starts with `prefix` to the last of all.
    pub(super) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Tag)> {
        from(&self.tags, prefix).take_while(move |(tag, _)| tag.starts_with(prefix))
    }

    pub(super) fn get(&self, tag: &str) -> Option<&Tag> {
        self.tags.get(tag)
    }

    /// Adds a new metric. A name with malformed tags has none.
    pub(super) fn insert(&mut self, id: u32, name: &str) {
        if !name::is_tagged(name) {
            return;
        }
        self.version += 1;
        self.metrics.insert(id);
        for (tag, value) in name::tags(name) {
            if !self.tags.contains_key(tag) {
                self.tags.insert(tag.into(), Tag::default());
            }
            if let Some(tag) = self.tags.get_mut(tag) {
                tag.insert(id, value);
            }
        }
    }

    /// Forgets a metric, and the tags and values that no other metric has.
    pub(super) fn remove(&mut self, id: u32, name: &str) {
        if !self.metrics.remove(id) {
            return;
        }
        self.version += 1;
        for (tag, value) in name::tags(name) {
            let Some(found) = self.tags.get_mut(tag) else { continue };
            found.remove(id, value);
            if found.values.is_empty() {
                self.tags.remove(tag);
            }
        }
    }

    /// Bytes allocated, estimated: nodes of these maps are about seven tenths full.
    pub(super) fn memory_bytes(&self) -> usize {
        let entry = (size_of::<Box<str>>() + size_of::<Ids>()) * 10 / 7;
        let value = |(text, ids): (&str, &Ids)| entry + text.len() + ids.memory_bytes();
        let tag =
            |tag: &Tag| tag.metrics.serialized_size() + tag.with_prefix("", None).map(value).sum::<usize>();
        self.metrics.serialized_size() * usize::from(!self.metrics.is_empty())
            + self.tags.values().map(tag).sum::<usize>()
    }
}

impl Tag {
    /// How many values it has.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn get(&self, value: &str) -> Option<&Ids> {
        self.values.get(value)
    }

    /// The values that start with `prefix`, in order; only those after `last`, if given.
    pub(super) fn with_prefix<'a>(
        &'a self,
        prefix: &'a str,
        last: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a Ids)> {
        let start = last.map_or(Bound::Included(prefix), Bound::Excluded);
        let values = self.values.range::<str, _>((start, Bound::Unbounded));
        values.map(|(value, ids)| (&**value, ids)).take_while(move |(value, _)| value.starts_with(prefix))
    }

    fn insert(&mut self, id: u32, value: &str) {
        self.metrics.insert(id);
        match self.values.get_mut(value) {
            Some(ids) => ids.insert(id),
            None => {
                self.values.insert(value.into(), Ids::Few(vec![id]));
            }
        }
    }

    fn remove(&mut self, id: u32, value: &str) {
        self.metrics.remove(id);
        if let Some(ids) = self.values.get_mut(value) {
            ids.remove(id);
            if ids.len() == 0 {
                self.values.remove(value);
            }
        }
    }
}

impl Ids {
    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        match self {
            Ids::Few(list) => list.len() as u64,
            Ids::Many(bitmap) => bitmap.len(),
        }
    }

    /// Visits them in order for as long as `visit` wants more.
    pub(super) fn each_while(&self, mut visit: impl FnMut(u32) -> bool) {
        let _ = match self {
            Ids::Few(list) => list.iter().all(|&id| visit(id)),
            Ids::Many(bitmap) => bitmap.iter().all(visit),
        };
    }

    /// Adds them to a set.
    pub(super) fn add_to(&self, set: &mut RoaringBitmap) {
        match self {
            Ids::Few(list) => set.extend(list.iter().copied()),
            Ids::Many(bitmap) => *set |= bitmap,
        }
    }

    /// Keeps only these in a set.
    pub(super) fn retain_in(&self, set: &mut RoaringBitmap) {
        match self {
            Ids::Few(list) => *set = list.iter().copied().filter(|id| set.contains(*id)).collect(),
            Ids::Many(bitmap) => *set &= bitmap,
        }
    }

    /// Is any of them in a set?
    pub(super) fn meets(&self, set: &RoaringBitmap) -> bool {
        match self {
            Ids::Few(list) => list.iter().any(|id| set.contains(*id)),
            Ids::Many(bitmap) => !bitmap.is_disjoint(set),
        }
    }

    fn insert(&mut self, id: u32) {
        match self {
            Ids::Many(bitmap) => {
                bitmap.insert(id);
            }
            Ids::Few(list) => {
                if let Err(at) = list.binary_search(&id) {
                    list.insert(at, id);
                }
                if list.len() > FEW {
                    *self = Ids::Many(list.iter().copied().collect());
                }
            }
        }
    }

    fn remove(&mut self, id: u32) {
        match self {
            Ids::Many(bitmap) => {
                bitmap.remove(id);
            }
            Ids::Few(list) => list.retain(|&other| other != id),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Ids::Few(list) => list.capacity() * size_of::<u32>(),
            Ids::Many(bitmap) => bitmap.serialized_size(),
        }
    }
}

fn from<'a, T>(
    map: &'a BTreeMap<Box<str>, T>,
    first: &str,
) -> impl Iterator<Item = (&'a str, &'a T)> + use<'a, T> {
    map.range::<str, _>((Bound::Included(first), Bound::Unbounded)).map(|(text, value)| (&**text, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_is_allocated_before_the_first_tagged_name() {
        let mut tags = Tags::default();
        tags.insert(0, "a.b;broken");
        tags.insert(1, "a.b");
        assert_eq!(tags.memory_bytes(), 0);
        assert!(tags.tags.is_empty() && tags.metrics.is_empty());
    }

    #[test]
    fn lists_become_bitmaps_and_both_do_the_same() {
        let mut ids = Ids::Few(vec![5]);
        for id in [9, 1, 5] {
            ids.insert(id);
        }
        assert!(matches!(&ids, Ids::Few(list) if *list == [1, 5, 9]));
        (0..40).for_each(|id| ids.insert(id * 2));
        assert!(matches!(ids, Ids::Many(_)));
        assert_eq!(ids.len(), 43);
        ids.remove(5);
        assert_eq!(ids.len(), 42);
        let mut set: RoaringBitmap = (0..10).collect();
        assert!(ids.meets(&set) && !ids.meets(&[5].into_iter().collect()));
        ids.retain_in(&mut set);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 4, 6, 8, 9]);
    }

    proptest! {
        /// Compared with a plain set of names, through creations and deletions.
        #[test]
        fn values_have_the_metrics_that_have_them(
            changes in prop::collection::vec((0..12_u32, prop::bool::weighted(0.7)), 1..80),
        ) {
            let name = |id: u32| match id % 4 {
                0 => format!("m{};dc=east;host={id}", id % 3),
                1 => format!("m{};host={}", id % 3, id % 2),
                2 => format!("m{id}"),
                _ => format!("m;dc=west;env=x{}", id % 5),
            };
            let (mut tags, mut model) = (Tags::default(), BTreeSet::new());
            for (id, add) in changes {
                if add && model.insert(id) {
                    tags.insert(id, &name(id));
                } else if !add && model.remove(&id) {
                    tags.remove(id, &name(id));
                }
            }
            let mut expected: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
            for &id in model.iter().filter(|id| name::is_tagged(&name(**id))) {
                for (tag, value) in name::tags(&name(id)) {
                    expected.entry((tag.to_owned(), value.to_owned())).or_default().push(id);
                }
            }
            let mut found = BTreeMap::new();
            for (tag, of_tag) in tags.with_prefix("") {
                let mut all = RoaringBitmap::new();
                for (value, ids) in of_tag.with_prefix("", None) {
                    let mut set = RoaringBitmap::new();
                    ids.add_to(&mut set);
                    all |= &set;
                    prop_assert_eq!(ids.len(), set.len());
                    found.insert((tag.to_owned(), value.to_owned()), set.iter().collect());
                }
                prop_assert_eq!(&all, &of_tag.metrics);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
