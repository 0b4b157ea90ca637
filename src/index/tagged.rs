//! Finds tagged metrics and their tags, with turns for writers in between.

use parking_lot::RwLockReadGuard;
use roaring::RoaringBitmap;

use super::sight::Sight;
use super::tags::{Ids, Tag};
use super::{CHECK_EVERY, FindLimits, Index};
use plumbago_model::{Cancel, MetricId, QueryError, TagCondition, TagWish, name, untagged};

/// The tag that every series has: its own name.
pub(super) const NAME: &str = "name";

/// A tag and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSize {
    /// The tag.
    pub tag: String,
    /// Values it has.
    pub values: usize,
    /// Metrics that have it.
    pub metrics: u64,
}

/// A query, with its text as the client wrote it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The text, for errors.
    pub text: &'a str,
    /// All must hold.
    pub conditions: &'a [&'a dyn TagCondition],
}

impl Sight<'_> {
    /// The tagged metrics for which all conditions hold, sorted by name; where there are none, the untagged one that they name.
    pub fn find_tagged(
        self,
        asked: Asked<'_>,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let mut index = self.read();
        let ids = self.matching(&mut index, asked, cancel)?;
        if ids.is_empty() {
            return Ok(self.untagged_metric(&index, asked).into_iter().collect());
        }
        if ids.len() > limits.max_hits as u64 {
            return Err(limits.exceeded(asked.text));
        }
        let mut found = Vec::with_capacity(ids.len() as usize);
        for (at, id) in ids.iter().enumerate() {
            if at % CHECK_EVERY == CHECK_EVERY - 1 {
                pause(&mut index, cancel)?;
            }
            let name = index.name(MetricId(id)).and_then(|name| self.scope().shown(name));
            found.extend(name.map(|name| (MetricId(id), name.into_owned())));
        }
        drop(index);
        found.sort_unstable_by(|(_, a), (_, b)| a.cmp(b));
        Ok(found)
    }

    /// Up to `limit` tags that `accept` takes, in order.
    pub fn tags(
        self,
        accept: &dyn Fn(&str) -> bool,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<String>, QueryError> {
        let mut index = self.read();
        let seen = self.covered_if_confined(&mut index, cancel)?;
        let is_seen = |of_tag: &Tag| seen.as_ref().is_none_or(|seen| !of_tag.metrics.is_disjoint(seen));
        let tags = index.tags.with_prefix("").filter(|(tag, _)| self.has_tag(tag));
        let tags = tags.filter(|(tag, of_tag)| accept(tag) && is_seen(of_tag));
        Ok(tags.take(limit).map(|(tag, _)| tag.to_owned()).collect())
    }

    /// The series of a metric for which the conditions hold, sorted by name, and the metric itself if it has no tags and the
    /// conditions hold for that.
    pub fn find_series(
        self,
        metric: &str,
        asked: Asked<'_>,
        limits: FindLimits,
        cancel: &Cancel,
    ) -> Result<Vec<(MetricId, String)>, QueryError> {
        let mut found = self.find_tagged(asked, limits, cancel)?;
        let untagged = self.untagged_metric(&self.read(), asked).filter(|(_, name)| name == metric);
        if let Some((id, _)) = untagged
            && !found.iter().any(|(known, _)| *known == id)
        {
            found.insert(0, (id, metric.to_owned()));
        }
        Ok(found)
    }

    /// Every tag with its size, in order.
    pub fn tag_sizes(self, cancel: &Cancel) -> Result<Vec<TagSize>, QueryError> {
        let mut index = self.read();
        let Some(seen) = self.covered_if_confined(&mut index, cancel)? else {
            let size = |(tag, of_tag): (&str, &Tag)| TagSize {
                tag: tag.to_owned(),
                values: of_tag.len(),
                metrics: of_tag.metrics.len(),
            };
            return Ok(index.tags.with_prefix("").map(size).collect());
        };
        let size = |(tag, of_tag): (&str, &Tag)| TagSize {
            tag: tag.to_owned(),
            values: of_tag.with_prefix("", None).filter(|(_, ids)| ids.meets(&seen)).count(),
            metrics: of_tag.metrics.intersection_len(&seen),
        };
        let tags = index.tags.with_prefix("").filter(|(tag, _)| self.has_tag(tag));
        Ok(tags.map(size).filter(|size| size.metrics > 0).collect())
    }

    /// Up to `limit` values of a tag that begin with `prefix` and that `accept` takes, in order, each with the number of
    /// metrics that have it. `None` when there is no such tag.
    pub fn tag_values(
        self,
        tag: &str,
        prefix: &str,
        accept: &dyn Fn(&str) -> bool,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<(String, u64)>>, QueryError> {
        let mut index = self.read();
        let seen = self.covered_if_confined(&mut index, cancel)?;
        let is_seen = |tag: &Tag| seen.as_ref().is_none_or(|seen| !tag.metrics.is_disjoint(seen));
        if !self.has_tag(tag) || !index.tags.get(tag).is_some_and(is_seen) {
            return Ok(None);
        }
        let mut found = Vec::new();
        each_value(&mut index, tag, prefix, cancel, |value, ids| {
            if accept(value) {
                let count = seen.as_ref().map_or_else(|| ids.len(), |seen| common(ids, seen));
                if count > 0 {
                    found.push((value.to_owned(), count));
                }
            }
            found.len() < limit
        })?;
        found.truncate(limit);
        Ok(Some(found))
    }

    /// Up to `limit` tags, in order, that begin with `prefix` and that some of the metrics have for which the conditions
    /// hold; the tags of the conditions are left out.
    pub fn complete_tags(
        self,
        asked: Asked<'_>,
        prefix: &str,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<String>, QueryError> {
        let mut index = self.read();
        let ids = self.matching(&mut index, asked, cancel)?;
        let is_asked = |tag: &str| asked.conditions.iter().any(|condition| condition.tag() == tag);
        let tags = index.tags.with_prefix(prefix);
        let tags = tags.filter(|(tag, _)| self.has_tag(tag) && !is_asked(tag));
        let tags = tags.filter(|(_, of_tag)| !of_tag.metrics.is_disjoint(&ids));
        Ok(tags.take(limit).map(|(tag, _)| tag.to_owned()).collect())
    }

    /// Up to `limit` values of a tag, in order, that begin with `prefix` and that some of the metrics have for which the
    /// conditions hold.
    pub fn complete_values(
        self,
        asked: Asked<'_>,
        tag: &str,
        prefix: &str,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<String>, QueryError> {
        let mut index = self.read();
        let ids = self.matching(&mut index, asked, cancel)?;
        let mut found = Vec::new();
        if ids.is_empty() && tag == NAME {
            found.extend(self.untagged_metric(&index, asked).map(|(_, name)| name));
            found.retain(|name| name.starts_with(prefix));
            found.truncate(limit);
        }
        if limit == 0 || ids.is_empty() || !self.has_tag(tag) {
            return Ok(found);
        }
        each_value(&mut index, tag, prefix, cancel, |value, of_value| {
            if of_value.meets(&ids) {
                found.push(value.to_owned());
            }
            found.len() < limit
        })?;
        Ok(found)
    }

    /// The metric without tags that the conditions name.
    fn untagged_metric(self, index: &Index, asked: Asked<'_>) -> Option<(MetricId, String)> {
        let name = untagged(asked.conditions)?;
        let stored = self.scope().stored(name).filter(|stored| self.scope().covers(stored))?;
        Some((index.lookup(stored.as_bytes())?, name.to_owned()))
    }

    /// The metrics for which all conditions hold.
    fn matching(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        asked: Asked<'_>,
        cancel: &Cancel,
    ) -> Result<RoaringBitmap, QueryError> {
        let (known, unknown): (Vec<&dyn TagCondition>, Vec<_>) =
            asked.conditions.iter().copied().partition(|condition| self.has_tag(condition.tag()));
        if !unknown.iter().all(|condition| condition.holds("")) {
            return Ok(RoaringBitmap::new());
        }
        let mut found = self.tagged(index);
        narrow_all(index, &mut found, known, cancel)?;
        self.confine(index, &mut found, cancel)?;
        Ok(found)
    }

    /// The tagged metrics that are inside, unless all are.
    pub(super) fn covered_if_confined(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        cancel: &Cancel,
    ) -> Result<Option<RoaringBitmap>, QueryError> {
        if self.scope().is_everything() { Ok(None) } else { self.covered(index, cancel).map(Some) }
    }
}

/// How many of them there are in both.
fn common(ids: &Ids, others: &RoaringBitmap) -> u64 {
    let mut own = RoaringBitmap::new();
    ids.add_to(&mut own);
    own.intersection_len(others)
}

/// Lets a writer in, and stops the query when the client is gone.
pub(super) fn pause(index: &mut RwLockReadGuard<'_, Index>, cancel: &Cancel) -> Result<(), QueryError> {
    cancel.check()?;
    RwLockReadGuard::bump(index);
    Ok(())
}

/// Keeps the metrics for which all conditions hold. The cheapest and most selective conditions come first; what is left is then
/// often only a few names to test.
fn narrow_all(
    index: &mut RwLockReadGuard<'_, Index>,
    found: &mut RoaringBitmap,
    mut conditions: Vec<&dyn TagCondition>,
    cancel: &Cancel,
) -> Result<(), QueryError> {
    conditions.sort_by_key(|condition| match condition.wanted() {
        TagWish::Is(_) | TagWish::OneOf(_) => 0,
        TagWish::Present => 1,
        TagWish::Tested { .. } if !condition.holds("") => 2,
        TagWish::IsNot(_) | TagWish::Absent => 3,
        TagWish::Tested { .. } => 4,
    });
    for condition in conditions {
        pause(index, cancel)?;
        narrow(index, found, condition, cancel)?;
        if found.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Keeps in `found` those for which one more condition holds.
fn narrow(
    index: &mut RwLockReadGuard<'_, Index>,
    found: &mut RoaringBitmap,
    condition: &dyn TagCondition,
    cancel: &Cancel,
) -> Result<(), QueryError> {
    let tag = index.tags.get(condition.tag());
    match condition.wanted() {
        TagWish::Is(value) => match tag.and_then(|tag| tag.get(value)) {
            Some(ids) => ids.retain_in(found),
            None => found.clear(),
        },
        TagWish::OneOf(values) => {
            let mut picked = RoaringBitmap::new();
            for ids in values.iter().filter_map(|value| tag?.get(value)) {
                ids.add_to(&mut picked);
            }
            *found &= picked;
        }
        TagWish::IsNot(value) => {
            if let Some(ids) = tag.and_then(|tag| tag.get(value)) {
                let mut others = RoaringBitmap::new();
                ids.add_to(&mut others);
                *found -= others;
            }
        }
        TagWish::Present => match tag {
            Some(tag) => *found &= &tag.metrics,
            None => found.clear(),
        },
        TagWish::Absent => {
            if let Some(tag) = tag {
                *found -= &tag.metrics;
            }
        }
        TagWish::Tested { .. } if found.len() < tag.map_or(0, Tag::len) as u64 => {
            return narrow_by_name(index, found, condition, cancel);
        }
        TagWish::Tested { prefix } => {
            let needed = !condition.holds("");
            let mut picked = RoaringBitmap::new();
            each_value(index, condition.tag(), prefix, cancel, |value, ids| {
                if condition.holds(value) == needed {
                    ids.add_to(&mut picked);
                }
                true
            })?;
            if needed { *found &= picked } else { *found -= picked }
        }
    }
    Ok(())
}

/// The same, by testing the names of the metrics that are left.
fn narrow_by_name(
    index: &mut RwLockReadGuard<'_, Index>,
    found: &mut RoaringBitmap,
    condition: &dyn TagCondition,
    cancel: &Cancel,
) -> Result<(), QueryError> {
    let mut kept = RoaringBitmap::new();
    for (at, id) in found.iter().enumerate() {
        if at % CHECK_EVERY == CHECK_EVERY - 1 {
            pause(index, cancel)?;
        }
        let value = index.name(MetricId(id)).map(|name| name::tag(name, condition.tag()));
        if value.is_some_and(|value| condition.holds(value)) {
            kept.insert(id);
        }
    }
    *found = kept;
    Ok(())
}

/// Visits the values of a tag that begin with `prefix`, in order, for as long as `visit` wants more.
pub(super) fn each_value(
    index: &mut RwLockReadGuard<'_, Index>,
    tag: &str,
    prefix: &str,
    cancel: &Cancel,
    mut visit: impl FnMut(&str, &Ids) -> bool,
) -> Result<(), QueryError> {
    let mut last: Option<String> = None;
    loop {
        let Some(values) = index.tags.get(tag) else { return Ok(()) };
        let (mut seen, mut next) = (0, None);
        for (value, ids) in values.with_prefix(prefix, last.as_deref()).take(CHECK_EVERY) {
            if !visit(value, ids) {
                return Ok(());
            }
            seen += 1;
            next = (seen == CHECK_EVERY).then(|| value.to_owned());
        }
        if next.is_none() {
            return Ok(());
        }
        last = next;
        pause(index, cancel)?;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::*;
    use crate::index::SharedIndex;
    use graphite_render::source::TagQuery;

    const NO_LIMIT: FindLimits = FindLimits::NONE;

    fn shared(names: &[String]) -> SharedIndex {
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name).unwrap();
        }
        SharedIndex::new(index)
    }

    fn found(index: &SharedIndex, query: &TagQuery) -> Vec<String> {
        let asked = Asked { text: "", conditions: &query.conditions() };
        let found = index.find_tagged(asked, NO_LIMIT, &Cancel::never()).unwrap();
        found.into_iter().map(|(_, name)| name).collect()
    }

    const EXPRESSIONS: [&str; 24] = [
        "name=m0",
        "name=m1",
        "name!=m0",
        "name=~m",
        "name=~m[01]",
        "name!=~m1",
        "dc=east",
        "dc=west",
        "dc!=east",
        "dc=",
        "dc!=",
        "dc=~e",
        "dc=~.*",
        "dc=~east|west",
        "dc!=~ea",
        "dc!=~.*",
        "host=1",
        "host=~1",
        "host=~[0-3]$",
        "host!=",
        "host!=~2",
        "nosuch=x",
        "nosuch=",
        "nosuch!=~x",
    ];

    prop_compose! {
        fn any_name()(
            metric in 0..3_u8,
            dc in select(vec!["", ";dc=east", ";dc=west", ";dc=eastern"]),
            host in prop::option::of(0..20_u8),
        ) -> String {
            let host = host.map_or_else(String::new, |host| format!(";host={host}"));
            format!("m{metric}{dc}{host}")
        }
    }

    proptest! {
        /// Compared with testing every name.
        #[test]
        fn finds_what_a_look_at_every_name_finds(
            names in prop::collection::btree_set(any_name(), 0..60),
            removed in prop::collection::vec(0..60_u32, 0..10),
            expressions in subsequence(EXPRESSIONS.to_vec(), 1..4),
        ) {
            let names: Vec<String> = names.into_iter().collect();
            let index = shared(&names);
            for id in &removed {
                index.write().remove(MetricId(*id));
            }
            let left = (0..).zip(&names).filter(|(id, _)| !removed.contains(id)).map(|(_, name)| name);
            if let Ok(query) = TagQuery::new(&expressions) {
                let left: Vec<&String> = left.collect();
                let mut expected: Vec<&String> = left.iter().copied().filter(|name| query.matches(name)).collect();
                if expected.is_empty() {
                    let named = untagged(&query.conditions());
                    expected.extend(left.into_iter().filter(|name| Some(name.as_str()) == named));
                }
                expected.sort();
                let found = found(&index, &query);
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected.clone());
                check_completions(&index, &query, &expressions, &expected)?;
            }
        }
    }

    fn check_completions(
        index: &SharedIndex,
        query: &TagQuery,
        expressions: &[&str],
        expected: &[&String],
    ) -> Result<(), TestCaseError> {
        let asked = Asked { text: "", conditions: &query.conditions() };
        let searched: Vec<&str> =
            expressions.iter().map(|text| text.split(['!', '=']).next().unwrap()).collect();
        let pairs = || expected.iter().flat_map(|name| name::tags(name));
        let tags: BTreeSet<&str> =
            pairs().map(|(tag, _)| tag).filter(|tag| !searched.contains(tag)).collect();
        let got = index.all().complete_tags(asked, "", 2, &Cancel::never()).unwrap();
        prop_assert_eq!(got, tags.into_iter().take(2).collect::<Vec<_>>());
        for (tag, prefix) in [("host", "1"), ("dc", ""), ("name", "m")] {
            let values: BTreeSet<&str> = pairs()
                .filter(|(of, value)| *of == tag && value.starts_with(prefix))
                .map(|(_, value)| value)
                .collect();
            let got = index.all().complete_values(asked, tag, prefix, 3, &Cancel::never()).unwrap();
            prop_assert_eq!(got, values.into_iter().take(3).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// More values, and more names, than are read between two pauses.
    #[test]
    fn many_values_are_all_looked_at() {
        let names: Vec<String> = (0..5000).map(|i| format!("m;host=h{i:04};kind={}", i % 2)).collect();
        let index = shared(&names);
        let count = |expressions: &[&str]| found(&index, &TagQuery::new(expressions).unwrap()).len();
        assert_eq!(count(&["host=~.*7$"]), 500);
        assert_eq!(count(&["name=m", "host!=~.*7$"]), 4500);
        assert_eq!(count(&["kind=1", "host=~.*7$"]), 500);
        assert_eq!(count(&["kind=0", "host=~.*7$"]), 0);
        assert_eq!(count(&["host=~h00"]), 100);
        let values =
            index.all().tag_values("host", "h1", &|value| value.ends_with('9'), 1000, &Cancel::never());
        assert_eq!(values.unwrap().unwrap().len(), 100);
        assert_eq!(
            index.all().tag_values("host", "", &|_| true, 3, &Cancel::never()).unwrap().unwrap().len(),
            3
        );
        assert!(index.all().tag_values("nosuch", "", &|_| true, 3, &Cancel::never()).unwrap().is_none());
        assert_eq!(index.all().tags(&|tag| tag != "kind", 9, &Cancel::never()).unwrap(), ["host", "name"]);
    }

    #[test]
    fn a_name_that_is_written_out_finds_the_metric_without_tags() {
        let index = shared(&["plain.name".to_owned(), "disk".to_owned(), "disk;host=a".to_owned()]);
        for (expressions, names) in [
            (&["name=plain.name"][..], &["plain.name"][..]),
            (&["name=plain.name", "dc="], &["plain.name"]),
            (&["name=plain.name", "dc!=east", "name=~plain"], &["plain.name"]),
            (&["name=plain.name", "dc=east"], &[]),
            (&["name=plain.name", "name!=plain.name"], &[]),
            (&["name=~plain.name"], &[]),
            // It never joins tagged series.
            (&["name=disk"], &["disk;host=a"]),
            (&["name=disk", "host="], &["disk"]),
            (&["name=nosuch"], &[]),
        ] {
            assert_eq!(found(&index, &TagQuery::new(expressions).unwrap()), names, "{expressions:?}");
        }
        let query = TagQuery::new(&["name=plain.name"]).unwrap();
        let asked = Asked { text: "", conditions: &query.conditions() };
        let values = |tag, prefix, limit| {
            index.all().complete_values(asked, tag, prefix, limit, &Cancel::never()).unwrap()
        };
        assert_eq!(values("name", "pl", 9), ["plain.name"]);
        assert!(
            values("name", "x", 9).is_empty()
                && values("name", "", 0).is_empty()
                && values("dc", "", 9).is_empty()
        );
    }

    #[test]
    fn limits_and_deadlines_are_kept() {
        let index = shared(&["m;a=1".to_owned(), "m;a=2".to_owned()]);
        let query = TagQuery::new(&["name=m"]).unwrap();
        let asked = Asked { text: "name=m", conditions: &query.conditions() };
        let error = index.find_tagged(asked, FindLimits::names(1), &Cancel::never()).unwrap_err();
        assert!(error.to_string().contains("`name=m` matches more than 1 names"), "{error}");
        let late = Cancel::at(std::time::Instant::now());
        assert!(matches!(index.find_tagged(asked, NO_LIMIT, &late), Err(QueryError::Deadline)));
    }
}
