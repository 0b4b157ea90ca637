//! What is known of metrics with tags: their series, and the values of their tags.

use std::ops::Range;

use parking_lot::RwLockReadGuard;
use roaring::RoaringBitmap;

use super::tagged::{NAME, pause};
use super::tags::Ids;
use super::{CHECK_EVERY, Index, Sight};
use plumbago_model::{Cancel, MetricId, QueryError};

/// A part of a list of names.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a> {
    /// Only names that begin so.
    pub prefix: &'a str,
    /// Only those that come after this one.
    pub after: Option<&'a str>,
    /// Most of them.
    pub limit: usize,
}

/// A value of a tag, and the series that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Members {
    /// The value.
    pub value: String,
    ids: RoaringBitmap,
}

impl Members {
    /// How many series there are; at least one.
    pub fn count(&self) -> u64 {
        self.ids.len()
    }

    /// How many of their ids are in a range.
    pub fn count_within(&self, range: Range<u32>) -> u64 {
        self.ids.range_cardinality(range)
    }

    /// Those of their ids that are in a range, ascending.
    pub fn ids_within(&self, range: Range<u32>) -> impl Iterator<Item = MetricId> + '_ {
        self.ids.range(range).map(MetricId)
    }
}

impl Sight<'_> {
    /// Values of a tag in order, each with the series that have it: of a metric, or of all.
    pub fn members(
        self,
        tag: &str,
        metric: Option<&str>,
        excerpt: Excerpt<'_>,
        cancel: &Cancel,
    ) -> Result<Vec<Members>, QueryError> {
        let mut index = self.read();
        let among = self.series_among(&mut index, metric, cancel)?;
        self.excerpt(&mut index, tag, excerpt, cancel, |value, of_value| {
            let mut ids = RoaringBitmap::new();
            of_value.add_to(&mut ids);
            if let Some(among) = &among {
                ids &= among;
            }
            cancel.take(ids.serialized_size() + value.len())?;
            Ok((!ids.is_empty()).then(|| Members { value: value.to_owned(), ids }))
        })
    }

    /// Metrics that have series, in order.
    pub fn metrics(self, excerpt: Excerpt<'_>, cancel: &Cancel) -> Result<Vec<String>, QueryError> {
        let mut index = self.read();
        let among = self.covered_if_confined(&mut index, cancel)?;
        self.excerpt(&mut index, NAME, excerpt, cancel, |value, ids| {
            cancel.take(value.len() + size_of::<String>())?;
            Ok(among.as_ref().is_none_or(|among| ids.meets(among)).then(|| value.to_owned()))
        })
    }

    /// What `make` makes of the values of a tag, in order.
    fn excerpt<T>(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        tag: &str,
        excerpt: Excerpt<'_>,
        cancel: &Cancel,
        mut make: impl FnMut(&str, &Ids) -> Result<Option<T>, QueryError>,
    ) -> Result<Vec<T>, QueryError> {
        let mut found = Vec::new();
        if !self.has_tag(tag) {
            return Ok(found);
        }
        let mut last = excerpt.after.map(str::to_owned);
        loop {
            let Some(values) = index.tags.get(tag) else { return Ok(found) };
            let (mut seen, mut next) = (0, None);
            // Where it begins does not matter to what comes after `last`, but to what comes before the prefix.
            let from = last.as_deref().filter(|last| *last >= excerpt.prefix);
            for (value, ids) in values.with_prefix(excerpt.prefix, from).take(CHECK_EVERY) {
                if found.len() >= excerpt.limit {
                    return Ok(found);
                }
                found.extend(make(value, ids)?);
                seen += 1;
                next = (seen == CHECK_EVERY).then(|| value.to_owned());
            }
            if next.is_none() {
                return Ok(found);
            }
            last = next;
            pause(index, cancel)?;
        }
    }

    /// The series of a metric that somebody sees; all that they see without one, unless that is everything.
    pub(super) fn series_among(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        metric: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Option<RoaringBitmap>, QueryError> {
        let Some(metric) = metric else { return self.covered_if_confined(index, cancel) };
        let mut own = RoaringBitmap::new();
        if let Some(ids) = index.tags.get(NAME).and_then(|names| names.get(metric)) {
            ids.add_to(&mut own);
        }
        self.confine(index, &mut own, cancel)?;
        Ok(Some(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SharedIndex;

    #[test]
    fn values_are_listed_with_their_series() {
        let names = ["cpu;dc=e;host=a", "cpu;dc=e;host=b", "cpu;host=c", "mem;host=a", "mem;rack=1", "plain"];
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name).unwrap();
        }
        let index = SharedIndex::new(index);
        let members = |tag: &str, metric: Option<&str>, prefix: &str, after: Option<&str>, limit| {
            let excerpt = Excerpt { prefix, after, limit };
            let found = index.all().members(tag, metric, excerpt, &Cancel::never()).unwrap();
            found.iter().map(|one| format!("{} {}", one.value, one.count())).collect::<Vec<_>>()
        };
        assert_eq!(members("name", None, "", None, 9), ["cpu 3", "mem 2"]);
        assert_eq!(members("name", None, "m", None, 9), ["mem 2"]);
        assert_eq!(members("name", None, "", Some("cpu"), 9), ["mem 2"]);
        assert_eq!(members("name", None, "m", Some("a"), 9), ["mem 2"]);
        assert_eq!(members("name", None, "", None, 1), ["cpu 3"]);
        assert_eq!(members("host", Some("cpu"), "", None, 9), ["a 1", "b 1", "c 1"]);
        assert_eq!(members("host", Some("mem"), "", None, 9), ["a 1"]);
        assert_eq!(members("host", Some("none"), "", None, 9), [""; 0]);
        assert_eq!(members("none", Some("cpu"), "", None, 9), [""; 0]);
        let metrics = |prefix: &str, after: Option<&str>, limit| {
            index.all().metrics(Excerpt { prefix, after, limit }, &Cancel::never()).unwrap()
        };
        assert_eq!(metrics("", None, 9), ["cpu", "mem"]);
        assert_eq!(
            (metrics("", Some("cpu"), 9), metrics("c", None, 9)),
            (vec!["mem".into()], vec!["cpu".into()])
        );
        assert_eq!(metrics("", None, 1), ["cpu"]);
    }
}
