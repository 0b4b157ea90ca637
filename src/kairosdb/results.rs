//! Series become groups, and groups become results.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;

use super::aggregator::{Aggregator, SaveAs};
use super::grouping::Key;
use super::query::{MetricQuery, Order};
use super::sample::Sample;
use super::{GroupBy, range, stepwise};
use plumbago_model::{Cancel, QueryError};

/// The tags of a series.
pub type Tags = BTreeMap<String, String>;

/// Steps between two looks at the clock.
const CHECK_EVERY: usize = 1024;

/// Bytes of a group beside its samples, usually at most.
const GROUP_BYTES: usize = 512;

/// A series as it was read.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// Its tags.
    pub tags: Tags,
    /// Its samples in order of time.
    pub samples: Vec<Sample>,
}

/// One result: the samples that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    pub(super) key: Vec<Key>,
    /// The values of each tag among its series.
    pub tags: BTreeMap<String, BTreeSet<String>>,
    /// What its aggregators made of its samples, in the order asked for.
    pub samples: Vec<Sample>,
    /// What is to be written, with the tags of its series.
    pub saved: Vec<(SaveAs, Tags, Vec<Sample>)>,
}

/// The circumstances of a query: its range in milliseconds, its time zone, and what it may take.
pub struct Work<'a> {
    range: (i64, i64),
    zone: &'a TimeZone,
    cancel: &'a Cancel,
    max_points: usize,
    steps: Cell<usize>,
}

impl<'a> Work<'a> {
    /// A query may make `max_points` of its samples, over all of its results.
    pub fn new(range: (i64, i64), zone: &'a TimeZone, cancel: &'a Cancel, max_points: usize) -> Self {
        Self { range, zone, cancel, max_points, steps: Cell::new(0) }
    }

    /// Called for each sample or so that is made.
    pub(super) fn step(&self, made: usize) -> Result<(), QueryError> {
        if made >= self.max_points {
            let most = self.max_points;
            return Err(QueryError::Limit(format!(
                "an aggregator makes more than {most} points (query.max_points): sample by longer stretches, or ask for a shorter time"
            )));
        }
        let steps = self.steps.get();
        self.steps.set(steps.wrapping_add(1));
        if steps.is_multiple_of(CHECK_EVERY) { Ok(self.cancel.check()?) } else { Ok(()) }
    }
}

/// Samples of one key, before they are aggregated.
#[derive(Default)]
struct Gathered {
    tags: BTreeMap<String, BTreeSet<String>>,
    samples: Vec<Sample>,
}

impl Gathered {
    fn add_tags(&mut self, tags: &Tags) {
        for (tag, value) in tags {
            match self.tags.get_mut(tag) {
                Some(values) if values.contains(value) => {}
                Some(values) => _ = values.insert(value.clone()),
                None => _ = self.tags.insert(tag.clone(), BTreeSet::from([value.clone()])),
            }
        }
    }
}

/// Groups the series of one metric and aggregates each group.
pub fn group(query: &MetricQuery, series: Vec<Read>, work: &Work<'_>) -> Result<Vec<Group>, QueryError> {
    let mut gathered: BTreeMap<Vec<Key>, Gathered> = BTreeMap::new();
    let by_sample = query.group_by.iter().any(|group_by| !matches!(group_by, GroupBy::Tag(_)));
    for mut read in series {
        work.cancel.check()?;
        limit(query, &mut read.samples);
        if by_sample {
            split(query, &read, work, &mut gathered)?;
        } else if !read.samples.is_empty() {
            let key = query.group_by.iter().filter_map(|group_by| group_by.of_series(&read.tags)).collect();
            let group = entry(&mut gathered, key, work)?;
            group.add_tags(&read.tags);
            match group.samples.is_empty() {
                true => group.samples = read.samples,
                false => group.samples.append(&mut read.samples),
            }
        }
    }
    gathered.into_iter().map(|(key, group)| finish(query, key, group, work)).collect()
}

fn entry<'a>(
    gathered: &'a mut BTreeMap<Vec<Key>, Gathered>,
    key: Vec<Key>,
    work: &Work<'_>,
) -> Result<&'a mut Gathered, QueryError> {
    if !gathered.contains_key(&key) {
        work.cancel.take(GROUP_BYTES)?;
    }
    Ok(gathered.entry(key).or_default())
}

/// Leaves as many points as a series may have.
fn limit(query: &MetricQuery, samples: &mut Vec<Sample>) {
    let Some(limit) = query.limit.filter(|&limit| limit < samples.len()) else { return };
    match query.order {
        Order::Ascending => samples.truncate(limit),
        Order::Descending => _ = samples.drain(..samples.len() - limit),
    }
}

/// Deals the samples of a series out to their groups.
fn split(
    query: &MetricQuery,
    read: &Read,
    work: &Work<'_>,
    gathered: &mut BTreeMap<Vec<Key>, Gathered>,
) -> Result<(), QueryError> {
    let mut dealt: BTreeMap<Vec<Key>, Vec<Sample>> = BTreeMap::new();
    for sample in &read.samples {
        work.step(0)?;
        let key = |group_by: &GroupBy| {
            let number = || Key::Number(group_by.of_sample(sample, work.range.0, work.zone));
            group_by.of_series(&read.tags).unwrap_or_else(number)
        };
        dealt.entry(query.group_by.iter().map(key).collect()).or_default().push(*sample);
    }
    for (key, mut samples) in dealt {
        let group = entry(gathered, key, work)?;
        group.add_tags(&read.tags);
        group.samples.append(&mut samples);
    }
    Ok(())
}

fn finish(
    query: &MetricQuery,
    key: Vec<Key>,
    gathered: Gathered,
    work: &Work<'_>,
) -> Result<Group, QueryError> {
    let Gathered { tags, mut samples } = gathered;
    // Each series is in order already, which this kind of sorting makes use of.
    samples.sort_by_key(|sample| sample.at);
    let mut saved = Vec::new();
    for aggregator in &query.aggregators {
        work.cancel.check()?;
        if let Aggregator::SaveAs(save) = aggregator {
            work.cancel.take(samples.len() * size_of::<Sample>())?;
            saved.push((save.clone(), tags_of_saved(query, save, &tags), samples.clone()));
        } else {
            samples = apply(aggregator, samples, work)?;
        }
    }
    if query.order == Order::Descending {
        samples.reverse();
    }
    Ok(Group { key, tags, samples, saved })
}

fn apply(
    aggregator: &Aggregator,
    mut samples: Vec<Sample>,
    work: &Work<'_>,
) -> Result<Vec<Sample>, QueryError> {
    Ok(match aggregator {
        Aggregator::Range { method, sampling, trim } => {
            range::aggregate(*method, sampling, *trim, &samples, (work.range, work.zone), work)?
        }
        Aggregator::Rate(per) => stepwise::rate(&samples, *per, work.zone)?,
        Aggregator::Sampler(per) => stepwise::sampler(&samples, *per, work.zone)?,
        Aggregator::Scale(factor) => {
            samples.iter().map(|sample| sample.scaled(|value| value * factor)).collect()
        }
        Aggregator::Div(divisor) => {
            samples.iter().map(|sample| sample.scaled(|value| value / divisor)).collect()
        }
        Aggregator::Diff => stepwise::diff(&samples),
        Aggregator::Trim(which) => stepwise::trim(&samples, *which).to_vec(),
        Aggregator::Filter(comparison, threshold) => {
            stepwise::filter(&mut samples, *comparison, *threshold);
            samples
        }
        Aggregator::Sma(size) => stepwise::sma(&samples, *size),
        Aggregator::Merge => stepwise::merge(&samples),
        Aggregator::SaveAs(_) => samples,
    })
}

/// Those of the aggregator, the metric it was made from, and the tags of the group by which it differs from others.
fn tags_of_saved(query: &MetricQuery, save: &SaveAs, tags: &BTreeMap<String, BTreeSet<String>>) -> Tags {
    let mut saved = Tags::new();
    for group_by in &query.group_by {
        let GroupBy::Tag(names) = group_by else { continue };
        for name in names {
            if let Some(value) = tags.get(name).filter(|values| values.len() == 1).and_then(BTreeSet::first) {
                saved.insert(name.clone(), value.clone());
            }
        }
    }
    if save.add_saved_from {
        saved.insert("saved_from".to_owned(), query.name.clone());
    }
    saved.extend(save.tags.clone());
    saved
}
