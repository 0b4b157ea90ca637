//! What a request asks for, read from its JSON.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use serde_json::Value;

use super::aggregator::Aggregator;
use super::fields::{Fields, shown};
use super::grouping::GroupBy;
use super::unit::within_time;
use super::wrong::Wrong;

/// A query: a stretch of time, and the metrics to read.
#[derive(Clone, Debug)]
pub struct Query {
    /// The first millisecond.
    pub start: i64,
    /// The last one; none if the end is open.
    pub end: Option<i64>,
    /// Where days begin.
    pub zone: TimeZone,
    /// What is asked of each metric, in the order of the answer.
    pub metrics: Vec<MetricQuery>,
}

/// What is asked of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricQuery {
    /// Its name.
    pub name: String,
    /// What it is called in the answer, besides.
    pub alias: Option<String>,
    /// For each tag the values of which a series must have one; any series has one of none.
    pub tags: BTreeMap<String, BTreeSet<String>>,
    /// Are the tags left out of the answer?
    pub exclude_tags: bool,
    /// Most points of one series.
    pub limit: Option<usize>,
    /// The order of the points of the answer.
    pub order: Order,
    /// What happens to the points of each group, in this order.
    pub aggregators: Vec<Aggregator>,
    /// How the points are split into groups.
    pub group_by: Vec<GroupBy>,
}

/// The order of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The oldest first.
    #[default]
    Ascending,
    /// The newest first; a limit leaves out the oldest.
    Descending,
}

impl Query {
    /// Reads a query that arrives at `now`, in milliseconds.
    pub fn parse(json: &[u8], now: i64) -> Result<Self, Wrong> {
        if json.iter().all(u8::is_ascii_whitespace) {
            return Err(Wrong::new("Invalid json. No content due to end of input."));
        }
        let root: Value = serde_json::from_slice(json)
            .map_err(|error| Wrong::new(format!("the query is not valid JSON: {error}")))?;
        let query = Fields::of(&root, "query")?;
        let zone = zone(&query)?;
        let cache_time = query.integer("cache_time")?.unwrap_or(0);
        let [start, end] = ["start", "end"].map(|edge| moment(&query, edge, now));
        if cache_time < 0 {
            return Err(Wrong::new("cache_time must be greater than or equal to 0"));
        }
        let (start, end) = (start?, end?);
        refuse_plugins(&query)?;
        let Some(metrics) = query.list("metrics")?.filter(|metrics| !metrics.is_empty()) else {
            return Err(Wrong::new("query.metric[] must have a size of at least 1"));
        };
        let read = |(nth, metric)| {
            let place = format!("query.metric[{nth}]");
            let fields = Fields::of(metric, &*place)?;
            let name = name_of(&fields)?;
            let Some(start) = start else {
                return Err(fields.wrong("start_time", "relative or absolute time must be set"));
            };
            if end.is_some_and(|end| end < start) {
                return Err(fields.wrong("end_time", "must be greater than the start time"));
            }
            MetricQuery::read(&fields, name)
        };
        let metrics = metrics.iter().enumerate().map(read).collect::<Result<Vec<MetricQuery>, Wrong>>()?;
        let start = within_time(start.unwrap_or_default());
        Ok(Self { start, end: end.map(within_time), zone, metrics })
    }

    /// Refuses tags without a value, which do not narrow a query: a deletion would take far more than was meant.
    pub fn check_narrow(&self) -> Result<(), Wrong> {
        for (nth, metric) in self.metrics.iter().enumerate() {
            if let Some((tag, _)) = metric.tags.iter().find(|(_, values)| values.is_empty()) {
                let place = format!("query.metric[{nth}].tags.{tag}");
                return Err(Wrong::at(&place, "must have a value, or all values would be deleted"));
            }
        }
        Ok(())
    }
}

impl MetricQuery {
    fn read(fields: &Fields<'_>, name: &str) -> Result<Self, Wrong> {
        let tags = tags(fields)?;
        let group_by = named(fields, "group_by", GroupBy::read)?;
        let aggregators = named(fields, "aggregators", Aggregator::read)?;
        refuse_plugins(fields)?;
        let order = match fields.text("order")? {
            None => Order::Ascending,
            Some(text) if text.eq_ignore_ascii_case("asc") => Order::Ascending,
            Some(text) if text.eq_ignore_ascii_case("desc") => Order::Descending,
            Some(text) => {
                return Err(fields.wrong("order", format_args!("must be asc or desc, not `{text}`")));
            }
        };
        let limit = fields.integer("limit")?.unwrap_or(0);
        if limit < 0 {
            return Err(fields.wrong("limit", "must be greater than or equal to 0"));
        }
        Ok(Self {
            name: name.to_owned(),
            alias: fields.text("alias")?.map(str::to_owned),
            tags,
            exclude_tags: fields.boolean("exclude_tags")?.unwrap_or(false),
            limit: usize::try_from(limit).ok().filter(|&limit| limit > 0),
            order,
            aggregators,
            group_by,
        })
    }
}

fn name_of<'a>(fields: &Fields<'a>) -> Result<&'a str, Wrong> {
    match fields.text("name")? {
        None => Err(fields.wrong("name", "may not be null")),
        Some("") => Err(fields.wrong("name", "may not be empty")),
        Some(name) => Ok(name),
    }
}

/// Where days begin; UTC if nothing else is said.
fn zone(query: &Fields<'_>) -> Result<TimeZone, Wrong> {
    match query.text("time_zone")? {
        None | Some("") => Ok(TimeZone::UTC),
        Some(name) => TimeZone::get(name).map_err(|_| {
            let place = format!("query.{name}");
            Wrong::at(&place, "is not a valid time zone, must be a name such as Europe/Berlin")
        }),
    }
}

/// An edge of the query. The absolute form wins.
fn moment(query: &Fields<'_>, edge: &str, now: i64) -> Result<Option<i64>, Wrong> {
    if let Some(at) = query.integer(&format!("{edge}_absolute"))? {
        return Ok(Some(at));
    }
    let name = format!("{edge}_relative");
    let Some(value) = query.get(&name) else { return Ok(None) };
    // The place of a bad length has no `query.` before it, that of a bad unit has.
    let wrapped = Value::Object([(name.clone(), value.clone())].into_iter().collect());
    let length = Fields::of(&wrapped, "")?.length_within(&name, "query")?;
    Ok(length.map(|length| length.unit.add(&TimeZone::UTC, now, length.value.saturating_neg())))
}

fn tags(fields: &Fields<'_>) -> Result<BTreeMap<String, BTreeSet<String>>, Wrong> {
    let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let Some(value) = fields.get("tags") else { return Ok(tags) };
    for (nth, (tag, value)) in Fields::of(value, fields.place_of("tags"))?.entries().enumerate() {
        let place = fields.place_of(&format!("tags[{nth}]"));
        if tag.is_empty() {
            return Err(Wrong::at(&place, "name must not be empty"));
        }
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let wanted = tags.entry(tag.clone()).or_default();
        for value in values {
            let text = match value {
                Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
                value => shown(value),
            };
            if text.is_empty() {
                let place = format!("{place}.{tag}");
                return Err(Wrong::at(&place, "value must not be null or empty"));
            }
            wanted.insert(text);
        }
    }
    Ok(tags)
}

/// A list of objects that have names.
fn named<T>(
    fields: &Fields<'_>,
    property: &str,
    read: impl Fn(&str, &Fields<'_>) -> Result<T, Wrong>,
) -> Result<Vec<T>, Wrong> {
    let list = fields.list(property)?.unwrap_or_default();
    let one = |(nth, value)| {
        let inner = Fields::of(value, fields.place_of(&format!("{property}[{nth}]")))?;
        match inner.text("name")? {
            None | Some("") => Err(Wrong::at(&inner.place, "must have a name")),
            Some(name) => read(name, &inner),
        }
    };
    list.iter().enumerate().map(one).collect()
}

/// Plugins are Java classes.
fn refuse_plugins(fields: &Fields<'_>) -> Result<(), Wrong> {
    named(fields, "plugins", |name, inner| Err::<(), Wrong>(inner.wrong(name, "invalid plugins name")))
        .map(drop)
}
