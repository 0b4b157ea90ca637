//! `group_by`: how series and samples are split into groups.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::feature::Feature;
use super::fields::{Fields, shown};
use super::property::{Kind, LENGTH, Property};
use super::results::Tags;
use super::sample::Sample;
use super::sampling::Sampling;
use super::unit::{Length, Unit, zoned};
use super::wrong::Wrong;

/// One way to split.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupBy {
    /// Series by their values of these tags.
    Tag(Vec<String>),
    /// Samples by stretches of time, which repeat after `count`.
    Time {
        /// The length of a stretch.
        range: Length,
        /// How many groups there are.
        count: i64,
    },
    /// Samples by ranges of values of this size.
    Value(f64),
    /// Samples by bins, of which these are the lower ends.
    Bin(Vec<f64>),
}

/// What the members of a group share, for one `group_by`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// Values of tags; empty where a series lacks the tag.
    Tags(Vec<String>),
    /// The number of a stretch, a range or a bin.
    Number(i64),
}

impl GroupBy {
    /// Reads the `group_by` of a name.
    pub(super) fn read(name: &str, fields: &Fields<'_>) -> Result<Self, Wrong> {
        Feature::named(GROUPINGS, "group_by", name, fields)
    }

    /// The key of a series, if only its tags matter.
    pub(super) fn of_series(&self, tags: &Tags) -> Option<Key> {
        let GroupBy::Tag(names) = self else { return None };
        let value = |name: &String| tags.get(name).cloned().unwrap_or_default();
        Some(Key::Tags(names.iter().map(value).collect()))
    }

    /// The number of a sample's group. `start` is that of the query.
    pub(super) fn of_sample(&self, sample: &Sample, start: i64, zone: &TimeZone) -> i64 {
        match self {
            GroupBy::Tag(_) => 0,
            GroupBy::Time { range, count } => stretch(*range, sample.at, start, zone) % count,
            GroupBy::Value(size) => (sample.value / size) as i64,
            GroupBy::Bin(bins) => bins.iter().take_while(|&&lower| sample.value >= lower).count() as i64,
        }
    }

    /// The `group_by` of a result.
    pub(super) fn to_json(&self, key: &Key) -> Value {
        let number = match key {
            Key::Number(number) => *number,
            Key::Tags(_) => 0,
        };
        match (self, key) {
            (GroupBy::Tag(names), Key::Tags(values)) => {
                let group: serde_json::Map<String, Value> =
                    names.iter().cloned().zip(values.iter().cloned().map(Value::String)).collect();
                json!({ "name": "tag", "tags": names, "group": group })
            }
            (GroupBy::Tag(names), Key::Number(_)) => json!({ "name": "tag", "tags": names, "group": {} }),
            (GroupBy::Time { range, count }, _) => json!({
                "name": "time",
                "range_size": { "value": range.value, "unit": range.unit.name() },
                "group_count": count,
                "group": { "group_number": number },
            }),
            (GroupBy::Value(size), _) => {
                json!({ "name": "value", "range_size": plain(*size), "group": { "group_number": number } })
            }
            (GroupBy::Bin(bins), _) => {
                let bins: Vec<Value> = bins.iter().copied().map(plain).collect();
                json!({ "name": "bin", "bins": bins, "group": { "bin_number": number } })
            }
        }
    }
}

/// The number of a stretch of time since the start. Months and years are those of the calendar.
fn stretch(range: Length, at: i64, start: i64, zone: &TimeZone) -> i64 {
    let at = at.max(start);
    let (first, moment) = (zoned(start, zone), zoned(at, zone));
    let years = i64::from(moment.year()) - i64::from(first.year());
    match range.unit {
        Unit::Years => years / range.value,
        Unit::Months => (years * 12 + i64::from(moment.month() - first.month())) / range.value,
        _ => {
            Sampling { length: range, align: false, ..Sampling::default() }.buckets(start, zone).number_of(at)
        }
    }
}

/// All ways to split.
pub(super) const GROUPINGS: &[Feature<GroupBy>] = &[
    Feature {
        name: "tag",
        label: "Tag",
        about: "Splits series by their values of tags.",
        takes: &[Property::new("tags", "Tags", Kind::List("tags"), "The tags.")
            .must("value.length > 0", "There must be a tag.")],
        read: tags,
    },
    Feature {
        name: "time",
        label: "Time",
        about: "Splits points by stretches of time, which repeat.",
        takes: &[
            Property::new("range_size", "Range size", LENGTH, "The length of a stretch."),
            Property::new(
                "group_count",
                "Count",
                Kind::Long,
                "How many groups there are; then it begins again.",
            )
            .must("value > 0", "The count must be greater than 0."),
        ],
        read: time,
    },
    Feature {
        name: "value",
        label: "Value",
        about: "Splits points by ranges of values.",
        takes: &[Property::new("range_size", "Range size", Kind::Double, "The size of a range.")
            .must("value >= 1", "The size must be at least 1.")],
        read: value,
    },
    Feature {
        name: "bin",
        label: "Bin",
        about: "Splits points by bins of values.",
        takes: &[Property::new(
            "bins",
            "Bins",
            Kind::List(""),
            "The lower ends of the bins, in ascending order.",
        )
        .must("value.length > 0", "There must be a bin.")],
        read: |fields| Ok(GroupBy::Bin(bins(fields)?)),
    },
];

fn tags(fields: &Fields<'_>) -> Result<GroupBy, Wrong> {
    let tags = fields.list("tags")?.ok_or_else(|| fields.wrong("tags", "may not be null"))?;
    if tags.is_empty() {
        return Err(fields.wrong("tags", "may not be empty"));
    }
    Ok(GroupBy::Tag(tags.iter().map(shown).collect()))
}

fn time(fields: &Fields<'_>) -> Result<GroupBy, Wrong> {
    let range = fields.length("range_size")?;
    let range = range.ok_or_else(|| fields.wrong("rangeSize", "may not be null"))?;
    let count = fields.integer("group_count")?.unwrap_or(0);
    if count < 1 {
        return Err(fields.wrong("groupCount", "must be greater than or equal to 1"));
    }
    Ok(GroupBy::Time { range, count })
}

fn value(fields: &Fields<'_>) -> Result<GroupBy, Wrong> {
    match fields.number("range_size")? {
        Some(size) if size >= 1.0 => Ok(GroupBy::Value(size)),
        _ => Err(fields.wrong("range_size.value", "must be greater than or equal to 1")),
    }
}

/// A number without a fraction where it has none.
fn plain(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

fn bins(fields: &Fields<'_>) -> Result<Vec<f64>, Wrong> {
    let list = fields.list("bins")?.unwrap_or_default();
    if list.is_empty() {
        return Err(fields.wrong("bins", "may not be empty"));
    }
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let bins: Option<Vec<f64>> = list.iter().map(number).collect();
    match bins {
        Some(bins) if bins.is_sorted() => Ok(bins),
        _ => Err(fields.wrong("bins", "must be numbers in ascending order")),
    }
}
