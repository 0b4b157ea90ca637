//! Where all the metrics come from: by tag and by the start of their names.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Sight, TagSize};
use plumbago_model::{Cancel, QueryError};

/// Names to read before writers get a turn.
const CHUNK: usize = 8192;

/// How many metrics there are, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cardinality {
    /// All metrics.
    pub metrics: u64,
    /// Those with tags.
    pub tagged: u64,
    /// Tags, those with most values first.
    pub tags: Vec<TagSize>,
    /// Starts of untagged names and how many metrics begin with them, most first.
    pub prefixes: Vec<(String, u64)>,
}

/// What to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Only names below this directory; all when it is empty.
    pub below: String,
    /// Names are grouped by this many components after that directory.
    pub depth: usize,
    /// Most entries in each list.
    pub limit: usize,
}

impl Cardinality {
    /// The JSON of `/internal/cardinality` and of the command.
    pub fn to_json(&self) -> Value {
        let tag = |tag: &TagSize| json!({ "tag": tag.tag, "values": tag.values, "metrics": tag.metrics });
        let prefix = |(prefix, metrics): &(String, u64)| json!({ "prefix": prefix, "metrics": metrics });
        json!({
            "metrics": self.metrics,
            "tagged": self.tagged,
            "tags": self.tags.iter().map(tag).collect::<Vec<_>>(),
            "prefixes": self.prefixes.iter().map(prefix).collect::<Vec<_>>(),
        })
    }
}

impl Sight<'_> {
    /// Counts the metrics. Reads all names.
    pub fn cardinality(self, survey: &Survey, cancel: &Cancel) -> Result<Cardinality, QueryError> {
        let (metrics, tagged) = self.count(cancel)?;
        let mut tags = self.tag_sizes(cancel)?;
        tags.sort_by(|a, b| b.values.cmp(&a.values).then_with(|| a.tag.cmp(&b.tag)));
        tags.truncate(survey.limit);
        let mut prefixes: Vec<(String, u64)> = self.count_prefixes(survey, cancel)?.into_iter().collect();
        prefixes.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        prefixes.truncate(survey.limit);
        Ok(Cardinality { metrics, tagged, tags, prefixes })
    }

    fn count_prefixes(self, survey: &Survey, cancel: &Cancel) -> Result<HashMap<String, u64>, QueryError> {
        let below = survey.below.trim_matches('.');
        let start = if below.is_empty() { String::new() } else { format!("{below}.") };
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut walk = self.names();
        loop {
            cancel.check()?;
            let names = walk.next_chunk(&self.read(), CHUNK);
            if names.is_empty() {
                return Ok(counts);
            }
            for name in names.iter().filter(|name| name.starts_with(&start)) {
                let prefix = first_components(name, start.len(), survey.depth);
                match counts.get_mut(prefix) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(prefix.to_owned(), 1);
                    }
                }
            }
        }
    }
}

/// `name` up to this many components after byte `from`.
pub(super) fn first_components(name: &str, from: usize, depth: usize) -> &str {
    let behind = name.get(from..).unwrap_or_default();
    let end = behind.match_indices('.').nth(depth.saturating_sub(1)).map_or(name.len(), |(at, _)| from + at);
    name.get(..end).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Index, SharedIndex};
    use plumbago_model::MetricId;

    #[test]
    fn metrics_are_counted_by_tag_and_by_the_start_of_their_names() {
        let names =
            ["a.b.c", "a.b.d", "a.b", "a.x.y", "ab.c", "top", "m;dc=e;host=1", "m;dc=e;host=2", "n;broken"];
        let mut index = Index::new();
        for (id, name) in (0..).zip(names) {
            index.insert(MetricId(id), name).unwrap();
        }
        let index = SharedIndex::new(index);
        let count = |below: &str, depth, limit| {
            let survey = Survey { below: below.to_owned(), depth, limit };
            index.all().cardinality(&survey, &Cancel::never()).unwrap()
        };
        let all = count("", 1, 10);
        assert_eq!((all.metrics, all.tagged), (9, 2));
        let tags: Vec<_> = all.tags.iter().map(|tag| (&*tag.tag, tag.values, tag.metrics)).collect();
        assert_eq!(tags, [("host", 2, 2), ("dc", 1, 2), ("name", 1, 2)]);
        let prefixes = |found: &Cardinality| {
            found.prefixes.iter().map(|(prefix, n)| format!("{prefix} {n}")).collect::<Vec<_>>()
        };
        assert_eq!(prefixes(&all), ["a 4", "ab 1", "top 1"]);
        assert_eq!(prefixes(&count("", 2, 10)), ["a.b 3", "a.x 1", "ab.c 1", "top 1"]);
        assert_eq!(prefixes(&count("a.", 1, 10)), ["a.b 3", "a.x 1"]);
        assert_eq!(prefixes(&count("a", 1, 1)), ["a.b 3"]);
        assert_eq!(prefixes(&count("a.b", 2, 10)), ["a.b.c 1", "a.b.d 1"]);
        assert_eq!(prefixes(&count("nothing", 1, 10)), [""; 0]);
    }
}
