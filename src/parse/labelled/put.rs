//! The body of OpenTSDB's `POST /api/put`: `{"metric", "timestamp", "value", "tags"}`, or a list of such objects.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::datapoints::why;
use super::json::{Scalar, Tags};
use super::{End, Faults, Reading, Take, Value};
use crate::parse::Limits;
use plumbago_model::{Arrival, Reject};

/// Times below this are seconds, as OpenTSDB has it; others are milliseconds.
const FIRST_MILLIS: i64 = 1 << 33;

/// Reads a body. Good items are taken although others are bad.
pub fn read(body: &[u8], limits: &Limits, faults: &mut Faults, take: &mut Take<'_>) -> End {
    let mut take = |gathered: &super::Gathered, faults: &mut Faults| take(gathered, faults);
    Reading::new(limits, faults, &mut take).run(body, |reading, body| {
        let mut json = serde_json::Deserializer::from_slice(body);
        json.deserialize_any(Body(reading))?;
        json.end()
    })
}

/// One object, or a list of them.
struct Body<'b, 'r>(&'b mut Reading<'r>);

/// One point, as far as it is one.
#[derive(Deserialize)]
struct Item<'i> {
    #[serde(borrow, default = "nothing")]
    metric: Scalar<'i>,
    #[serde(borrow, default = "nothing")]
    timestamp: Scalar<'i>,
    #[serde(borrow, default = "nothing")]
    value: Scalar<'i>,
    #[serde(borrow, default = "no_tags")]
    tags: Tags<'i>,
}

fn nothing<'i>() -> Scalar<'i> {
    Scalar::Null
}

fn no_tags<'i>() -> Tags<'i> {
    Tags(None)
}

impl<'de> Visitor<'de> for Body<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a point or a list of points")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let item = Item::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        take(self.0, item, 0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while list.next_element_seed(One { reading: &mut *self.0, number })?.is_some() {
            number += 1;
        }
        Ok(())
    }
}

/// One of a list.
struct One<'i, 'r> {
    reading: &'i mut Reading<'r>,
    number: usize,
}

impl<'de> DeserializeSeed<'de> for One<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let item = Item::deserialize(deserializer)?;
        take(self.reading, item, self.number);
        if self.reading.is_stopped() { Err(D::Error::custom("stopped")) } else { Ok(()) }
    }
}

fn take(reading: &mut Reading<'_>, item: Item<'_>, number: usize) {
    if let Err((reason, text)) = try_take(reading, item, number) {
        reading.faults.refuse(reason, 1, format_args!("[{number}]: {text}"));
    }
}

fn try_take(
    reading: &mut Reading<'_>,
    item: Item<'_>,
    number: usize,
) -> Result<(), (Reject, Cow<'static, str>)> {
    let wrong = |reason, text: &'static str| (reason, Cow::Borrowed(text));
    let metric = item.metric.into_text().filter(|metric| !metric.is_empty());
    let metric = metric.ok_or_else(|| wrong(Reject::EmptyName, "Metric name was empty"))?;
    let sent = item.timestamp.integer().filter(|timestamp| *timestamp > 0);
    let sent = sent.ok_or_else(|| wrong(Reject::BadTimestamp, "Invalid timestamp"))?;
    let (value, is_rounded) = match item.value.value() {
        Value::Number(value, is_rounded) => (value, is_rounded),
        Value::Nothing => return Err(wrong(Reject::BadValue, "Empty value")),
        _ => return Err(wrong(Reject::BadValue, "Unable to parse value to a number")),
    };
    // Ceres drops tags without a key or value, and so does it for clients that send them empty.
    let mut tags = item.tags.0.unwrap_or_default();
    tags.retain(|(key, value)| !key.trim().is_empty() && !value.trim().is_empty());
    if tags.is_empty() {
        return Err(wrong(Reject::EmptyTag, "Missing tags"));
    }
    reading.begin(&metric, &tags).map_err(|reason| wrong(reason, why(reason)))?;
    let millis = millis(sent);
    let taken = reading.point(Arrival::labelled(0), (number, None), millis, (value, is_rounded));
    taken.map_err(|reason| wrong(reason, why(reason)))
}

/// A time as OpenTSDB has it, in milliseconds.
pub fn millis(sent: i64) -> i64 {
    if sent < FIRST_MILLIS { sent.saturating_mul(1000) } else { sent }
}
