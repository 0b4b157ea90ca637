//! Reads the answers that the goldens hold.

use std::collections::BTreeMap;

use super::data::{run, value_of};
use super::series::Series;

/// The status of an answer that is one.
pub(crate) fn status(answer: &[String]) -> Option<u16> {
    let rest = answer.first()?.strip_prefix("status ")?;
    Some(rest.split(' ').next()?.parse().expect("a status"))
}

/// The series of an answer of `eval`.
pub(crate) fn series(answer: &[String]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut step = 0;
    for line in answer.iter().filter(|l| *l != "nothing") {
        if let Some(name) = line.strip_prefix('=') {
            let name = name.strip_prefix(' ').unwrap_or(name).replace('\u{2423}', " ");
            all.push(Series { name, tags: BTreeMap::new(), points: Vec::new() });
            continue;
        }
        let series = all.last_mut().expect("a name before its points");
        let line = line.trim_start();
        if let Some(tags) = line.strip_prefix("tags ") {
            series.tags = serde_json::from_str(tags).expect("tags are JSON");
        } else if let Some(point) = line.strip_prefix("at ") {
            let (stamp, value) = point.split_once(' ').expect("at STAMP value");
            series.points.push((stamp.parse().expect("stamp"), value_of(value)));
        } else if line != "empty" {
            let (head, values) = line.split_once('|').expect("START +STEP | values");
            points(series, head.trim(), values, &mut step);
        }
    }
    all
}

/// A line of points; an empty head goes on where the line before ended.
fn points(series: &mut Series, head: &str, values: &str, step: &mut i64) {
    let mut stamp = match head.split_once(" +") {
        Some((start, every)) => {
            *step = every.parse().expect("step");
            start.parse().expect("start")
        }
        None if head.is_empty() => series.points.last().expect("a line to go on from").0 + *step,
        None => head.parse().expect("start"),
    };
    for value in values.split_whitespace().flat_map(run) {
        series.points.push((stamp, value));
        stamp += *step;
    }
}
