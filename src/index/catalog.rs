//! What is known of metrics with tags: their series, their tags, and the values of these.

use parking_lot::RwLockReadGuard;
use roaring::RoaringBitmap;

use super::tagged::{NAME, TagSize, pause};
use super::tags::Tag;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The value.
    pub value: String,
    /// The series.
    pub ids: Vec<MetricId>,
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
        let mut found: Vec<Members> = Vec::new();
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
                let mut own = RoaringBitmap::new();
                ids.add_to(&mut own);
                if let Some(among) = &among {
                    own &= among;
                }
                if !own.is_empty() {
                    cancel.take(own.len() as usize * size_of::<MetricId>() + value.len())?;
                    found.push(Members { value: value.to_owned(), ids: own.iter().map(MetricId).collect() });
                }
                seen += 1;
                next = (seen == CHECK_EVERY).then(|| value.to_owned());
            }
            if next.is_none() {
                return Ok(found);
            }
            last = next;
            pause(&mut index, cancel)?;
        }
    }

    /// The tags that series of a metric have, in order, with how many values and how many of its series have them.
    pub fn tags_of(self, metric: &str, cancel: &Cancel) -> Result<Vec<TagSize>, QueryError> {
        let mut index = self.read();
        let Some(own) = self.series_among(&mut index, Some(metric), cancel)? else { return Ok(Vec::new()) };
        let mut sizes = Vec::new();
        let tags: Vec<String> = index.tags.with_prefix("").map(|(tag, _)| tag.to_owned()).collect();
        for tag in tags.into_iter().filter(|tag| tag != NAME && self.has_tag(tag)) {
            pause(&mut index, cancel)?;
            let Some(of_tag) = index.tags.get(&tag) else { continue };
            let metrics = of_tag.metrics.intersection_len(&own);
            if metrics > 0 {
                let values = values_among(of_tag, &own);
                sizes.push(TagSize { tag, values, metrics });
            }
        }
        Ok(sizes)
    }

    /// The series of a metric that somebody sees; all that they see without one, unless that is everything.
    fn series_among(
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

/// How many values of a tag some series have.
fn values_among(of_tag: &Tag, own: &RoaringBitmap) -> usize {
    if of_tag.metrics.is_subset(own) {
        return of_tag.len();
    }
    of_tag.with_prefix("", None).filter(|(_, ids)| ids.meets(own)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SharedIndex;

    #[test]
    fn values_and_tags_are_listed_with_their_series() {
        let names = ["cpu;dc=e;host=a", "cpu;dc=e;host=b", "cpu;host=c", "mem;host=a", "mem;rack=1", "plain"];
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name).unwrap();
        }
        let index = SharedIndex::new(index);
        let members = |tag: &str, metric: Option<&str>, prefix: &str, after: Option<&str>, limit| {
            let excerpt = Excerpt { prefix, after, limit };
            let found = index.all().members(tag, metric, excerpt, &Cancel::never()).unwrap();
            found.iter().map(|one| format!("{} {}", one.value, one.ids.len())).collect::<Vec<_>>()
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
        let tags = |metric: &str| {
            let found = index.all().tags_of(metric, &Cancel::never()).unwrap();
            found.iter().map(|one| format!("{} {} {}", one.tag, one.values, one.metrics)).collect::<Vec<_>>()
        };
        assert_eq!(tags("cpu"), ["dc 1 2", "host 3 3"]);
        assert_eq!(tags("mem"), ["host 1 1", "rack 1 1"]);
        assert_eq!(tags("none"), [""; 0]);
    }
}
