//! Points as Ceres' clients send them: a JSON object, or an array of such objects.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Limits;
use plumbago_model::labelled::series_name;
use plumbago_model::{Point, Reject};

/// One point, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The tenant, if the item names one.
    pub tenant: Option<String>,
    /// The metric.
    pub metric: String,
    /// Its tags; at least one.
    pub tags: Vec<(String, String)>,
    /// Time and value.
    pub point: Point,
}

/// Why an item is no point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemError {
    /// What it counts as.
    pub reason: Reject,
    /// What is wrong with it, for its sender.
    pub message: String,
}

/// What a body holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    /// Did they come in an array?
    pub is_array: bool,
    /// Each of them.
    pub items: Vec<Result<Item, ItemError>>,
}

impl Item {
    /// The name under which a metric with this suffix and the tags of the item is stored.
    pub fn series(&self, suffix: &str) -> Result<String, Reject> {
        let tags: Vec<(&str, &str)> = self.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        series_name(&format!("{}{suffix}", self.metric), &tags)
    }
}

/// Reads a body. The error says why it is none.
pub fn read(body: &[u8], limits: &Limits) -> Result<Items, String> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(items)) => {
            let items = items.iter().map(|item| self::item(item, limits)).collect();
            Ok(Items { is_array: true, items })
        }
        Ok(item @ Value::Object(_)) => Ok(Items { is_array: false, items: vec![self::item(&item, limits)] }),
        Ok(_) => {
            Err("send a JSON object with tenant, metricName, tags, ts and value, or an array of them"
                .to_owned())
        }
        Err(error) => Err(format!("the body is not JSON: {error}")),
    }
}

fn bad(reason: Reject, message: impl Into<String>) -> ItemError {
    ItemError { reason, message: message.into() }
}

fn item(value: &Value, limits: &Limits) -> Result<Item, ItemError> {
    let Value::Object(fields) = value else { return Err(bad(Reject::BadItem, "it is not an object")) };
    let metric = text(fields, "metricName")?
        .filter(|metric| !metric.trim().is_empty())
        .ok_or_else(|| bad(Reject::EmptyName, "metricName must not be blank"))?;
    let tenant = text(fields, "tenant")?;
    if tenant.as_deref().is_some_and(|tenant| tenant.trim().is_empty()) {
        return Err(bad(Reject::BadItem, "tenant must not be blank"));
    }
    let tags = tags(fields)?;
    let value = number(fields.get("value"))?;
    limits.check_value(value).map_err(|reason| bad(reason, format!("value {value} is not taken")))?;
    let timestamp = timestamp(fields.get("ts"))?;
    limits.check_future(timestamp).map_err(|reason| {
        bad(reason, format!("ts {timestamp} is too far in the future (ingest.max_future)"))
    })?;
    let point = Point { timestamp, value };
    Ok(Item { tenant: tenant.map(Cow::into_owned), metric: metric.into_owned(), tags, point })
}

fn tags(fields: &Map<String, Value>) -> Result<Vec<(String, String)>, ItemError> {
    let Some(Value::Object(tags)) = fields.get("tags") else {
        return Err(bad(Reject::EmptyTag, "tags must be an object with at least one tag"));
    };
    if tags.is_empty() {
        return Err(bad(Reject::EmptyTag, "tags must not be empty"));
    }
    let one = |(key, value): (&String, &Value)| {
        let value = scalar(value).filter(|value| !value.is_empty() && !key.is_empty());
        let value =
            value.ok_or_else(|| bad(Reject::EmptyTag, format!("the tag `{}` has no value", cut(key))))?;
        Ok((key.clone(), value.into_owned()))
    };
    tags.iter().map(one).collect()
}

/// The text of a field, if it is there. Numbers stand for their text.
fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<Cow<'a, str>>, ItemError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match scalar(value) {
            Some(text) => Ok(Some(text)),
            None => Err(bad(Reject::BadItem, format!("{name} must be text"))),
        },
    }
}

fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(truth) => Some(Cow::Owned(truth.to_string())),
        _ => None,
    }
}

fn number(value: Option<&Value>) -> Result<f64, ItemError> {
    let number = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| bad(Reject::BadValue, "value must be a number"))
}

/// Seconds since 1970, or an ISO 8601 instant. What is finer than a second is cut off.
fn timestamp(value: Option<&Value>) -> Result<u32, ItemError> {
    let seconds = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => {
            instant(text).map(|seconds| seconds as f64).or_else(|| text.parse().ok())
        }
        _ => None,
    };
    let seconds = seconds.map(f64::floor).filter(|seconds| (0.0..=f64::from(u32::MAX)).contains(seconds));
    let wrong = "ts must be seconds since 1970, or an instant such as 2020-08-23T17:53:00Z";
    seconds.map(|seconds| seconds as u32).ok_or_else(|| bad(Reject::BadTimestamp, wrong))
}

/// The second of an ISO 8601 instant.
pub fn instant(text: &str) -> Option<i64> {
    let instant: Timestamp = text.trim().parse().ok()?;
    // Before 1970, too, a part of a second belongs to the second in which it is.
    Some(instant.as_nanosecond().div_euclid(1_000_000_000) as i64)
}

/// Enough of a text to recognise it.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        now: 1_600_000_000,
        max_future_secs: 3600,
        keep_infinite: true,
        max_line_bytes: 1000,
        max_name_bytes: 1000,
    };

    fn one(body: &str) -> Result<Item, String> {
        let mut items = read(body.as_bytes(), &LIMITS)?;
        items.items.remove(0).map_err(|error| error.message)
    }

    #[test]
    fn the_item_of_the_readme_is_a_point() {
        let item = one(
            r#"{"tenant":"t-1","metricName":"cpu_idle","tags":{"os":"linux","host":"h-1","deployment":"prod"},"ts":1598226796,"value":491}"#,
        )
        .unwrap();
        assert_eq!(item.tenant.as_deref(), Some("t-1"));
        assert_eq!(item.series("").unwrap(), "cpu_idle;deployment=prod;host=h-1;os=linux");
        assert_eq!(item.series("_min").unwrap(), "cpu_idle_min;deployment=prod;host=h-1;os=linux");
        assert_eq!(item.point, Point { timestamp: 1_598_226_796, value: 491.0 });
    }

    #[test]
    fn times_and_values_come_in_several_forms() {
        let with = |ts: &str, value: &str| {
            one(&format!(r#"{{"metricName":"m","tags":{{"a":1}},"ts":{ts},"value":{value}}}"#))
                .map(|i| i.point)
        };
        let point = |timestamp, value| Ok(Point { timestamp, value });
        assert_eq!(with("12.9", "1"), point(12, 1.0));
        assert_eq!(with("\"2020-08-24T00:13:16.999Z\"", "\"1.5\""), point(1_598_227_996, 1.5));
        assert_eq!(with("\"17\"", "-0.5"), point(17, -0.5));
        for (ts, value, part) in [
            ("-1", "1", "ts must"),
            ("\"yesterday\"", "1", "ts must"),
            ("null", "1", "ts must"),
            ("1600003601", "1", "in the future"),
            ("1", "null", "value must"),
            ("1", "\"NaN\"", "NaN is not taken"),
        ] {
            assert!(with(ts, value).unwrap_err().contains(part), "{ts} {value}");
        }
    }

    #[test]
    fn what_is_no_point_is_refused_item_by_item() {
        for (item, part) in [
            (r#"{"tags":{"a":"b"},"ts":1,"value":1}"#, "metricName"),
            (r#"{"metricName":" ","tags":{"a":"b"},"ts":1,"value":1}"#, "metricName"),
            (r#"{"metricName":{},"tags":{"a":"b"},"ts":1,"value":1}"#, "metricName must be text"),
            (r#"{"metricName":"m","tags":{},"ts":1,"value":1}"#, "tags"),
            (r#"{"metricName":"m","ts":1,"value":1}"#, "tags"),
            (r#"{"metricName":"m","tags":{"a":""},"ts":1,"value":1}"#, "`a`"),
            (r#"{"metricName":"m","tags":{"a":[]},"ts":1,"value":1}"#, "`a`"),
            (r#"{"tenant":"","metricName":"m","tags":{"a":"b"},"ts":1,"value":1}"#, "tenant"),
            ("5", "object"),
        ] {
            let error = one(&format!("[{item}]")).unwrap_err();
            assert!(error.contains(part), "{item}: {error}");
        }
        assert!(one("5").is_err() && one("").is_err() && one("{").is_err());
        let both = read(br#"[{"metricName":"m","tags":{"a":"b"},"ts":1,"value":1},7]"#, &LIMITS).unwrap();
        assert!(both.is_array && matches!(&both.items[..], [Ok(_), Err(_)]));
        assert!(read("[".repeat(100_000).as_bytes(), &LIMITS).is_err(), "deep nesting");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&bytes, &LIMITS);
        }
    }
}
