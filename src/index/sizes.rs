//! How many values the tags of metrics have. One pass over the values of a tag counts them for many metrics, and what was counted is
//! known until a series comes or goes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use roaring::RoaringBitmap;

use super::tagged::{NAME, TagSize, each_value, pause};
use super::{CHECK_EVERY, Index, Sight};
use plumbago_model::{Cancel, MetricId, QueryError, name};

/// Metrics whose sizes are kept.
const KEPT: usize = 4096;

/// Taking a tag out of a name costs as much as visiting so many series of its values.
const NAME_COST: u64 = 50;

/// What was counted last.
#[derive(Debug, Default)]
pub(super) struct KnownSizes {
    version: u64,
    by_metric: HashMap<String, Arc<[TagSize]>>,
}

impl KnownSizes {
    fn get(&self, version: u64, metric: &str) -> Option<Arc<[TagSize]>> {
        self.by_metric.get(metric).filter(|_| self.version == version).map(Arc::clone)
    }

    fn keep(&mut self, version: u64, metric: &str, sizes: &Arc<[TagSize]>) {
        if self.version != version || self.by_metric.len() >= KEPT {
            self.by_metric.clear();
        }
        self.version = version;
        self.by_metric.insert(metric.to_owned(), Arc::clone(sizes));
    }
}

impl Sight<'_> {
    /// For each of some metrics the tags that its series have, in order, with how many values and how many of its series have them.
    pub fn tags_of(self, metrics: &[&str], cancel: &Cancel) -> Result<Vec<Arc<[TagSize]>>, QueryError> {
        let mut index = self.read();
        let version = index.tags.version();
        // What a scope leaves of them is not kept: there may be many.
        let known = self.scope().is_everything().then(|| self.known_sizes());
        let known_of = |metric: &&str| known.and_then(|known| known.lock().get(version, metric));
        let mut found: Vec<Option<Arc<[TagSize]>>> = metrics.iter().map(known_of).collect();
        let missing = || metrics.iter().zip(0..).filter(|(_, at): &(_, usize)| found[*at].is_none());
        let missing: Vec<(&str, usize)> = missing().map(|(metric, at)| (*metric, at)).collect();
        let mut own = Vec::with_capacity(missing.len());
        for (metric, _) in &missing {
            own.push(self.series_among(&mut index, Some(metric), cancel)?.unwrap_or_default());
        }
        let counted = self.count_tags(&mut index, &own, cancel)?;
        for ((metric, at), sizes) in missing.into_iter().zip(counted) {
            let sizes = Arc::from(sizes);
            if let Some(known) = known.filter(|_| index.tags.version() == version) {
                known.lock().keep(version, metric, &sizes);
            }
            found[at] = Some(sizes);
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The sizes of all tags that some sets of series have.
    fn count_tags(
        self,
        index: &mut RwLockReadGuard<'_, Index>,
        own: &[RoaringBitmap],
        cancel: &Cancel,
    ) -> Result<Vec<Vec<TagSize>>, QueryError> {
        let mut sizes = vec![Vec::new(); own.len()];
        if own.iter().all(RoaringBitmap::is_empty) {
            return Ok(sizes);
        }
        let owners = Owners::new(own, cancel)?;
        let tags: Vec<String> = index.tags.with_prefix("").map(|(tag, _)| tag.to_owned()).collect();
        for tag in tags.into_iter().filter(|tag| tag != NAME && self.has_tag(tag)) {
            pause(index, cancel)?;
            let Some(of_tag) = index.tags.get(&tag) else { continue };
            let have_all = of_tag.metrics.len() == index.tags.metrics().len();
            let count = |own: &RoaringBitmap| match have_all {
                true => own.len(),
                false => of_tag.metrics.intersection_len(own),
            };
            let series: Vec<u64> = own.iter().map(count).collect();
            let values = match series.iter().sum() {
                0 => continue,
                few if few.saturating_mul(NAME_COST) < of_tag.metrics.len() => {
                    values_in_names(index, &tag, own, cancel)?
                }
                _ => owners.values_of(index, &tag, &series, cancel)?,
            };
            for ((sizes, metrics), values) in sizes.iter_mut().zip(series).zip(values) {
                if metrics > 0 {
                    sizes.push(TagSize { tag: tag.clone(), values, metrics });
                }
            }
        }
        Ok(sizes)
    }
}

/// Which of some sets each series is in.
struct Owners {
    first: u32,
    /// The number of the set, counted from 1, of each series from the first on; 0 if it is in none.
    of: Vec<u32>,
}

impl Owners {
    fn new(own: &[RoaringBitmap], cancel: &Cancel) -> Result<Self, QueryError> {
        let first = own.iter().filter_map(RoaringBitmap::min).min().unwrap_or_default();
        let last = own.iter().filter_map(RoaringBitmap::max).max().unwrap_or_default();
        let len = (last - first) as usize + 1;
        cancel.take(len * size_of::<u32>())?;
        let mut of = vec![0; len];
        for (ids, nth) in own.iter().zip(1..) {
            cancel.check()?;
            ids.iter().for_each(|id| of[(id - first) as usize] = nth);
        }
        Ok(Self { first, of })
    }

    /// How many values of a tag each set has. The number of its series that have the tag is known.
    fn values_of(
        &self,
        index: &mut RwLockReadGuard<'_, Index>,
        tag: &str,
        series: &[u64],
        cancel: &Cancel,
    ) -> Result<Vec<usize>, QueryError> {
        let have_it = series.iter().filter(|series| **series > 0).count();
        let mut values = vec![0; series.len()];
        let mut last_value = vec![0_u32; series.len()];
        let mut value = 0;
        each_value(index, tag, "", cancel, |_, ids| {
            value += 1;
            let mut seen = 0;
            ids.each_while(|id| {
                let owner = self.of.get(id.wrapping_sub(self.first) as usize).copied().unwrap_or(0);
                if let Some(owner) = (owner as usize).checked_sub(1)
                    && last_value[owner] != value
                {
                    last_value[owner] = value;
                    values[owner] += 1;
                    seen += 1;
                }
                // Usually a few series are enough to have met all that there are.
                seen < have_it
            });
            true
        })?;
        Ok(values)
    }
}

/// The same by the names of the series, for sets that are small.
fn values_in_names(
    index: &mut RwLockReadGuard<'_, Index>,
    tag: &str,
    own: &[RoaringBitmap],
    cancel: &Cancel,
) -> Result<Vec<usize>, QueryError> {
    let mut read = 0;
    let mut counts = Vec::with_capacity(own.len());
    for ids in own {
        let mut values: HashSet<String> = HashSet::new();
        for id in ids {
            read += 1;
            if read % CHECK_EVERY == 0 {
                pause(index, cancel)?;
            }
            let value = index.name(MetricId(id)).map_or("", |name| name::tag(name, tag));
            if !value.is_empty() && !values.contains(value) {
                cancel.take(value.len())?;
                values.insert(value.to_owned());
            }
        }
        counts.push(values.len());
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::index::SharedIndex;
    use plumbago_model::Scope;

    fn sizes(index: &SharedIndex, scope: &Arc<Scope>, metrics: &[&str]) -> Vec<Vec<String>> {
        let found = index.within(scope).tags_of(metrics, &Cancel::never()).unwrap();
        let shown = |size: &TagSize| format!("{} {} {}", size.tag, size.values, size.metrics);
        found.iter().map(|sizes| sizes.iter().map(shown).collect()).collect()
    }

    /// As a look at every name counts them.
    fn model(names: &BTreeSet<String>, scope: &Scope, metric: &str) -> Vec<String> {
        let mut tags: BTreeMap<&str, (BTreeSet<&str>, u64)> = BTreeMap::new();
        for stored in names.iter().filter(|stored| scope.covers(stored) && name::tag(stored, NAME) == metric)
        {
            for (tag, value) in name::tags(stored).into_iter().filter(|(tag, _)| *tag != NAME) {
                let size = tags.entry(tag).or_default();
                size.0.insert(value);
                size.1 += 1;
            }
        }
        tags.into_iter().map(|(tag, (values, series))| format!("{tag} {} {series}", values.len())).collect()
    }

    #[test]
    fn a_metric_with_few_series_among_many_is_counted_by_their_names() {
        let mut index = Index::new();
        let mut names: BTreeSet<String> = (0..2000).map(|i| format!("many;dc=x;host=h{i}")).collect();
        names.extend((0..10).map(|i| format!("few;dc=x{};host=h{i}", i / 5)));
        for (id, name) in (0..).zip(&names) {
            index.insert(MetricId(id), name).unwrap();
        }
        let index = SharedIndex::new(index);
        let found = sizes(&index, &Arc::default(), &["few", "none", "many"]);
        assert_eq!(found, [&["dc 2 10", "host 10 10"][..], &[], &["dc 1 2000", "host 2000 2000"]]);
        assert_eq!(sizes(&index, &Arc::default(), &["few"])[0], model(&names, &Scope::default(), "few"));
    }

    proptest! {
        /// What is known is forgotten when a series comes or goes, and is never that of somebody else's scope.
        #[test]
        fn sizes_are_those_of_the_names_that_are_there(
            changes in prop::collection::vec(("m[0-2](;dc=[ab])?(;host=[a-f])?(;rack=[xyz])?", prop::bool::weighted(0.7)), 1..60),
            within in prop::sample::select(vec![&[][..], &["*;dc=a"], &["m1"], &["*;host=b", "m2;rack=x"]]),
        ) {
            let (index, mut names) = (SharedIndex::default(), BTreeSet::new());
            let scopes = [Arc::default(), Arc::new(Scope::of(within.iter().copied()).unwrap())];
            let metrics = ["m0", "m2", "m1", "m3"];
            for (id, (name, add)) in (0..).zip(changes) {
                let known = index.read().lookup(name.as_bytes());
                if let Some(known) = known.filter(|_| !add) {
                    names.remove(&name);
                    index.write().remove(known);
                } else if add && index.write().insert(MetricId(id), &name).is_ok() {
                    names.insert(name);
                }
                for scope in &scopes {
                    let expected: Vec<_> = metrics.iter().map(|metric| model(&names, scope, metric)).collect();
                    prop_assert_eq!(sizes(&index, scope, &metrics), expected);
                }
            }
        }
    }
}
