//! Series as an answer shows them, and what two answers differ in, told so that a reader sees it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// A stamp and its value; NaN is null.
pub(crate) type Point = (i64, f64);

/// How far values may be apart, as a part of their size.
const TOLERANCE: f64 = 1e-9;

/// One series of an answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) points: Vec<Point>,
}

/// The lines that a reader compares, or nothing when they are the same.
pub(crate) fn texts(expected: &str, got: &str) -> Option<String> {
    (expected != got).then(|| two(expected, got))
}

/// Both, one below the other.
pub(crate) fn two(expected: &str, got: &str) -> String {
    format!("    expected {expected}\n    got      {got}\n")
}

/// Compares names, tags and stamps exactly, and values by [`TOLERANCE`].
pub(crate) fn difference(expected: &[Series], got: &[Series]) -> Option<String> {
    let names = |all: &[Series]| all.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    if names(expected) != names(got) {
        return Some(two(&format!("{:?}", names(expected)), &format!("{:?}", names(got))));
    }
    let mut found = String::new();
    for (a, b) in expected.iter().zip(got) {
        if a.tags != b.tags {
            let _ = write!(
                found,
                "  {} tags\n{}",
                a.name,
                two(&format!("{:?}", a.tags), &format!("{:?}", b.tags))
            );
        }
        let same = |(x, y): (&Point, &Point)| x.0 == y.0 && close(x.1, y.1);
        if a.points.len() != b.points.len() || !a.points.iter().zip(&b.points).all(same) {
            let _ = write!(found, "  {}\n{}", a.name, two(&points(&a.points), &points(&b.points)));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The same value, to [`TOLERANCE`]?
pub(crate) fn close(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// Points as the goldens write them.
fn points(points: &[Point]) -> String {
    let steps: Vec<i64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let even = steps.windows(2).all(|pair| pair[0] == pair[1]);
    let mut text = match (points.first(), steps.first()) {
        (None, _) => return "empty".to_owned(),
        (Some(first), None) => format!("{} |", first.0),
        (Some(first), Some(step)) if even => format!("{} +{step} |", first.0),
        _ => "at".to_owned(),
    };
    for (stamp, value) in points {
        let value = if value.is_nan() { "_".to_owned() } else { value.to_string() };
        let _ = if even { write!(text, " {value}") } else { write!(text, " {stamp} {value}") };
    }
    text
}

/// Infinity, as Python writes it or as the number too large to read that Grafana gets, becomes a text.
pub(crate) fn parse_json(text: &str) -> serde_json::Result<Value> {
    let text = text.replace("1e9999", "Infinity");
    let text = text.replace("-Infinity", "\"-inf\"").replace("Infinity", "\"inf\"");
    serde_json::from_str(&text)
}

/// The series of a body of `/render?format=json`.
pub(crate) fn of_json(body: &str) -> Vec<Series> {
    let value = parse_json(body).unwrap_or_else(|e| panic!("{e}: {body}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| match value {
        Value::String(infinite) => infinite.parse().expect("inf or -inf"),
        other => other.as_f64().unwrap_or(f64::NAN),
    };
    let series = |one: &Value| Series {
        name: text(&one["target"]),
        tags: one["tags"].as_object().into_iter().flatten().map(|(k, v)| (k.clone(), text(v))).collect(),
        points: one["datapoints"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|point| (point[1].as_i64().unwrap_or(i64::MIN), number(&point[0])))
            .collect(),
    };
    value.as_array().into_iter().flatten().map(series).collect()
}
