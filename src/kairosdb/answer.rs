//! Results as JSON, in the form that KairosDB released.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::query::MetricQuery;
use super::results::Group;
use super::sample::Sample;

/// Bytes of a sample in an answer, usually at most.
const SAMPLE_BYTES: usize = 36;

/// Whole numbers up to here are exact, and are written without a fraction.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What became of the query of one metric.
#[derive(Clone, Debug)]
pub struct Queried<'a> {
    /// What was asked.
    pub query: &'a MetricQuery,
    /// Points that were read.
    pub sample_size: usize,
    /// The results.
    pub groups: Vec<Group>,
}

impl Queried<'_> {
    /// About how long it is as JSON.
    pub fn room(&self) -> usize {
        let tags = |group: &Group| {
            group
                .tags
                .iter()
                .map(|(tag, values)| tag.len() + values.iter().map(|v| v.len() + 4).sum::<usize>())
                .sum::<usize>()
        };
        let group = |group: &Group| {
            group.samples.len() * SAMPLE_BYTES + 2 * tags(group) + self.query.name.len() + 256
        };
        self.groups.iter().map(group).sum()
    }
}

/// The answer of `/api/v1/datapoints/query`.
pub fn write_answer(all: &[Queried<'_>], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"queries\":[");
    for (nth, queried) in all.iter().enumerate() {
        separate(nth, out);
        out.extend_from_slice(b"{\"sample_size\":");
        out.extend_from_slice(itoa::Buffer::new().format(queried.sample_size).as_bytes());
        out.extend_from_slice(b",\"results\":[");
        for (nth, group) in queried.groups.iter().enumerate() {
            separate(nth, out);
            write_group(queried.query, group, out);
        }
        if queried.groups.is_empty() {
            write_empty(queried.query, out);
        }
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(b"]}");
}

/// The answer of `/api/v1/datapoints/query/tags`: of each metric, the tags of its series.
pub fn write_tags(all: &[(&MetricQuery, BTreeMap<String, BTreeSet<String>>)], out: &mut Vec<u8>) {
    let one = |(query, tags): &(&MetricQuery, BTreeMap<String, BTreeSet<String>>)| json!({ "results": [{ "name": query.name, "tags": tags, "values": [] }] });
    let queries: Vec<Value> = all.iter().map(one).collect();
    write_json(&json!({ "queries": queries }), out);
}

fn write_head(query: &MetricQuery, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"name\":");
    write_json(&json!(query.name), out);
    if let Some(alias) = &query.alias {
        out.extend_from_slice(b",\"alias\":");
        write_json(&json!(alias), out);
    }
}

fn write_group(query: &MetricQuery, group: &Group, out: &mut Vec<u8>) {
    write_head(query, out);
    let by = query.group_by.iter().zip(&group.key).map(|(group_by, key)| group_by.to_json(key));
    let by: Vec<Value> = std::iter::once(json!({ "name": "type", "type": "number" })).chain(by).collect();
    out.extend_from_slice(b",\"group_by\":");
    write_json(&json!(by), out);
    if !query.exclude_tags {
        out.extend_from_slice(b",\"tags\":");
        write_json(&json!(group.tags), out);
    }
    out.extend_from_slice(b",\"values\":[");
    for (nth, sample) in group.samples.iter().enumerate() {
        separate(nth, out);
        write_sample(sample, out);
    }
    out.extend_from_slice(b"]}");
}

/// A metric of which nothing was found has one result without points.
fn write_empty(query: &MetricQuery, out: &mut Vec<u8>) {
    write_head(query, out);
    out.extend_from_slice(if query.exclude_tags {
        b",\"values\":[]}"
    } else {
        b",\"tags\":{},\"values\":[]}"
    });
}

fn write_sample(sample: &Sample, out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend_from_slice(itoa::Buffer::new().format(sample.at).as_bytes());
    out.push(b',');
    write_number(sample.value, out);
    out.push(b']');
}

/// JSON has neither NaN nor infinity.
fn write_number(value: f64, out: &mut Vec<u8>) {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        out.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
    } else if value.is_finite() {
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

fn separate(nth: usize, out: &mut Vec<u8>) {
    if nth > 0 {
        out.push(b',');
    }
}

fn write_json(value: &Value, out: &mut Vec<u8>) {
    // Texts and numbers of our own always have a form as JSON, and a vector takes all of it.
    out.extend_from_slice(value.to_string().as_bytes());
}
