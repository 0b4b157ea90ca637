//! What `/render?format=json` answers, of this program and of others.

use std::borrow::Cow;

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// One series of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// What the server calls it.
    pub(super) name: String,
    /// Times and values, by ascending time. A null is `None`.
    pub(super) points: Vec<(i64, Option<f64>)>,
}

/// As it is written.
#[derive(Deserialize)]
struct Written {
    target: String,
    datapoints: Vec<(Option<f64>, i64)>,
}

/// JSON has no infinite numbers. Graphite writes this one, which is too large for a float.
const INFINITE: &str = "1e9999";
/// What we read in its place; nobody measures it.
const LARGEST: &str = "1.7976931348623157e308";

/// Reads an answer.
pub(super) fn series(body: &[u8]) -> Result<Vec<Series>> {
    let text = std::str::from_utf8(body).context("its answer is no text")?;
    let text = if text.contains(INFINITE) {
        let positive = text.replace(&format!("[{INFINITE}"), &format!("[{LARGEST}"));
        Cow::Owned(positive.replace(&format!("[-{INFINITE}"), &format!("[-{LARGEST}")))
    } else {
        Cow::Borrowed(text)
    };
    let written: Vec<Written> = serde_json::from_str(&text).with_context(|| {
        format!("its answer is not the JSON of /render (it begins with `{}`)", start(&text))
    })?;
    Ok(written.into_iter().map(read).collect())
}

fn read(written: Written) -> Series {
    let value = |value: f64| if value.abs() < f64::MAX { value } else { value * 2.0 };
    let mut points: Vec<(i64, Option<f64>)> =
        written.datapoints.into_iter().map(|(seen, time)| (time, seen.map(value))).collect();
    points.sort_by_key(|point| point.0);
    Series { name: written.target, points }
}

/// The first characters of a text on one line.
pub(super) fn start(text: &str) -> String {
    const SHOWN: usize = 120;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_to_the_last_digit() {
        let text = br#"[{"target": "a", "tags": {"name": "a"}, "datapoints":
            [[0.30000000000000004, 60], [null, 120], [1e9999, 180], [-1e9999, 240], [7, 300]]}]"#;
        let values: Vec<_> =
            series(text).unwrap().remove(0).points.into_iter().map(|point| point.1).collect();
        let infinite = f64::INFINITY;
        assert_eq!(values, [Some(0.1 + 0.2), None, Some(infinite), Some(-infinite), Some(7.0)]);
    }

    #[test]
    fn what_is_no_answer_is_named() {
        let error = format!("{:#}", series(b"<html>\n  not\n found").unwrap_err());
        assert!(error.contains("not the JSON of /render (it begins with `<html> not found`)"), "{error}");
        assert!(series(br#"{"error": 1}"#).is_err());
        assert_eq!(start(&"ü".repeat(200)).chars().count(), 121);
    }
}
