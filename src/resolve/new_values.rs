//! The limit on values of a tag, for names that are not in the index yet.

use std::collections::{HashMap, HashSet};

use crate::index::Index;
use plumbago_model::{Reject, name};

/// Values of tags that only the new metrics of one batch have.
#[derive(Debug)]
pub(super) struct NewValues<'a> {
    /// Most values of a tag; 0 means no limit.
    most: u64,
    values: HashMap<&'a str, HashSet<&'a str>>,
}

impl<'a> NewValues<'a> {
    pub(super) fn new(most: u64) -> Self {
        Self { most, values: HashMap::new() }
    }

    /// May there be a metric of this name?
    pub(super) fn check(&self, index: &Index, name: &str) -> Result<(), Reject> {
        if self.most == 0 {
            return Ok(());
        }
        let is_over = |(tag, value): (&str, &str)| {
            let new = self.values.get(tag);
            !index.has_tag_value(tag, value)
                && !new.is_some_and(|new| new.contains(value))
                && (index.count_tag_values(tag) + new.map_or(0, HashSet::len)) as u64 >= self.most
        };
        if tags(name).any(is_over) { Err(Reject::TagValues) } else { Ok(()) }
    }

    /// A metric of this name is created.
    pub(super) fn add(&mut self, index: &Index, name: &'a str) {
        if self.most == 0 {
            return;
        }
        for (tag, value) in tags(name) {
            if !index.has_tag_value(tag, value) {
                self.values.entry(tag).or_default().insert(value);
            }
        }
    }
}

/// The tags of a name, but for the one that is the name of the series.
fn tags(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let tags = if name::is_tagged(name) { name::tags(name) } else { Default::default() };
    tags.into_iter().filter(|(tag, _)| *tag != "name")
}
