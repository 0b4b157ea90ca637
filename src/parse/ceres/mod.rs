//! Points as Ceres' clients send them: a JSON object, or an array of such objects. Each item is taken before the next one is read.

use std::borrow::Cow;
use std::ops::ControlFlow;

use jiff::Timestamp;
use serde::de::{IgnoredAny, MapAccess};

use super::Limits;
use super::items::{self, Items};
use super::labelled::json::{Scalar, Tags};
use plumbago_model::labelled::series_name;
use plumbago_model::{Point, Reject};

/// One point, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'i> {
    /// The tenant, if the item names one.
    pub tenant: Option<Cow<'i, str>>,
    /// The metric.
    pub metric: Cow<'i, str>,
    /// Its tags; at least one.
    pub tags: Vec<(Cow<'i, str>, Cow<'i, str>)>,
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

/// Takes an item, or what is wrong with it, and its place among the others. The reading ends when it breaks.
pub type Take<'t> = dyn FnMut(usize, Result<Item<'_>, ItemError>) -> ControlFlow<()> + 't;

/// The end of a reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Did the items come in an array?
    pub is_array: bool,
    /// Why the rest of the body is none. What came before was taken.
    pub broken: Option<String>,
}

/// Text that is no array and no object.
const NO_ITEMS: &str = "send a JSON object with tenant, metricName, tags, ts and value, or an array of them";

impl Item<'_> {
    /// The name under which a metric with this suffix and the tags of the item is stored.
    pub fn series(&self, suffix: &str, limits: &Limits) -> Result<String, Reject> {
        let text: usize = self.tags.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
        // Nobody can make us build a name of megabytes.
        if self.metric.len() + suffix.len() + text > limits.max_name_bytes {
            return Err(Reject::NameTooLong);
        }
        let tags: Vec<(&str, &str)> = self.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        let name = series_name(&format!("{}{suffix}", self.metric), &tags)?;
        if name.len() > limits.max_name_bytes { Err(Reject::NameTooLong) } else { Ok(name) }
    }
}

/// Reads a body item by item. Good items are taken although others are bad.
pub fn read(body: &[u8], limits: &Limits, take: &mut Take<'_>) -> End {
    let mut reading = Reading { limits, take, is_array: false };
    let broken = match body.trim_ascii_start().first() {
        Some(b'[' | b'{') => match items::read(body, &mut reading) {
            items::End::Broken(error) => Some(format!("the body is not JSON: {error}")),
            items::End::Complete | items::End::Stopped => None,
        },
        _ => Some(NO_ITEMS.to_owned()),
    };
    End { is_array: reading.is_array, broken }
}

struct Reading<'r, 't> {
    limits: &'r Limits,
    take: &'r mut Take<'t>,
    is_array: bool,
}

impl<'de> Items<'de> for Reading<'_, '_> {
    type Said = Said<'de>;

    fn member<A: MapAccess<'de>>(said: &mut Said<'de>, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "tenant" => said.tenant = Some(map.next_value()?),
            "metricName" => said.metric = Some(map.next_value()?),
            "tags" => said.tags = map.next_value::<Tags<'_>>()?.0,
            "ts" => said.ts = Some(map.next_value()?),
            "value" => said.value = Some(map.next_value()?),
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn begin_list(&mut self) {
        self.is_array = true;
    }

    fn take(&mut self, number: usize, said: Option<Said<'de>>) -> ControlFlow<()> {
        let item = match said {
            Some(said) => said.into_item(self.limits),
            None => Err(bad(Reject::BadItem, "it is not an object")),
        };
        (self.take)(number, item)
    }
}

/// What an item says, before anything is made of it.
#[derive(Default)]
struct Said<'de> {
    tenant: Option<Scalar<'de>>,
    metric: Option<Scalar<'de>>,
    tags: Option<Vec<(Cow<'de, str>, Cow<'de, str>)>>,
    ts: Option<Scalar<'de>>,
    value: Option<Scalar<'de>>,
}

fn bad(reason: Reject, message: impl Into<String>) -> ItemError {
    ItemError { reason, message: message.into() }
}

impl<'de> Said<'de> {
    fn into_item(self, limits: &Limits) -> Result<Item<'de>, ItemError> {
        let metric = text(self.metric, "metricName")?
            .filter(|metric| !metric.trim().is_empty())
            .ok_or_else(|| bad(Reject::EmptyName, "metricName must not be blank"))?;
        let tenant = text(self.tenant, "tenant")?;
        if tenant.as_deref().is_some_and(|tenant| tenant.trim().is_empty()) {
            return Err(bad(Reject::BadItem, "tenant must not be blank"));
        }
        let tags = tags(self.tags)?;
        let value = number(self.value)?;
        limits.check_value(value).map_err(|reason| bad(reason, format!("value {value} is not taken")))?;
        let timestamp = timestamp(self.ts)?;
        limits.check_future(timestamp).map_err(|reason| {
            bad(reason, format!("ts {timestamp} is too far in the future (ingest.max_future)"))
        })?;
        Ok(Item { tenant, metric, tags, point: Point { timestamp, value } })
    }
}

type TagList<'de> = Vec<(Cow<'de, str>, Cow<'de, str>)>;

fn tags(sent: Option<TagList<'_>>) -> Result<TagList<'_>, ItemError> {
    let Some(tags) = sent else {
        return Err(bad(Reject::EmptyTag, "tags must be an object with at least one tag"));
    };
    if tags.is_empty() {
        return Err(bad(Reject::EmptyTag, "tags must not be empty"));
    }
    match tags.iter().find(|(key, value)| key.is_empty() || value.is_empty()) {
        Some((key, _)) => Err(bad(Reject::EmptyTag, format!("the tag `{}` has no value", cut(key)))),
        None => Ok(tags),
    }
}

/// The text of a field, if it is there. Numbers stand for their text.
fn text<'de>(field: Option<Scalar<'de>>, name: &str) -> Result<Option<Cow<'de, str>>, ItemError> {
    match field {
        None | Some(Scalar::Null) => Ok(None),
        Some(Scalar::Structure) => Err(bad(Reject::BadItem, format!("{name} must be text"))),
        Some(scalar) => Ok(scalar.into_text()),
    }
}

fn number(value: Option<Scalar<'_>>) -> Result<f64, ItemError> {
    let number = match value {
        Some(Scalar::Integer(number)) => Some(number as f64),
        Some(Scalar::Float(number)) => Some(number),
        Some(Scalar::Text(text)) => text.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| bad(Reject::BadValue, "value must be a number"))
}

/// Seconds since 1970, or an ISO 8601 instant. What is finer than a second is cut off.
fn timestamp(value: Option<Scalar<'_>>) -> Result<u32, ItemError> {
    let seconds = match value {
        Some(Scalar::Integer(number)) => Some(number as f64),
        Some(Scalar::Float(number)) => Some(number),
        Some(Scalar::Text(text)) => {
            instant(&text).map(|seconds| seconds as f64).or_else(|| text.parse().ok())
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
mod tests;
