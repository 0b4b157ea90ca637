//! Compares whole bodies of answers.

use serde_json::Value;

use super::series::{close, parse_json, two};

/// Compares JSON by value. When data begins and ends (`intervals`) is the store's business, so only its presence counts.
pub(crate) fn json(expected: &str, got: &str) -> Option<String> {
    let (Ok(a), Ok(b)) = (parse_json(expected), parse_json(got)) else { return Some(two(expected, got)) };
    (!same_json(&a, &b)).then(|| two(&a.to_string(), &b.to_string()))
}

fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            close(x.as_f64().unwrap_or(f64::NAN), y.as_f64().unwrap_or(f64::NAN))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_json(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            let same = |(key, x): (&String, &Value)| {
                y.get(key).is_some_and(|y| key == "intervals" || same_json(x, y))
            };
            x.len() == y.len() && x.iter().all(same)
        }
        _ => a == b,
    }
}
