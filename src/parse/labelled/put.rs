//! The body of OpenTSDB's `POST /api/put`: `{"metric", "timestamp", "value", "tags"}`, or a list of such objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::datapoints::why;
use super::json::{Key, Scalar, Tags};
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

/// One point, as far as it is one. Its members may come in any order; of two with one name the later counts.
struct Item<'i> {
    metric: Scalar<'i>,
    timestamp: Scalar<'i>,
    value: Scalar<'i>,
    tags: Tags<'i>,
}

impl<'de> Visitor<'de> for Body<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a point or a list of points")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        One { reading: self.0, number: 0 }.visit_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while list.next_element_seed(One { reading: &mut *self.0, number })?.is_some() {
            number += 1;
        }
        Ok(())
    }
}

/// The reading of one point.
struct One<'i, 'r> {
    reading: &'i mut Reading<'r>,
    number: usize,
}

impl<'de> DeserializeSeed<'de> for One<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is no object is no point.
macro_rules! no_item {
    ($($name:ident: $of:ty,)*) => {
        $(fn $name<E: serde::de::Error>(self, _: $of) -> Result<(), E> {
            let One { reading, number } = self;
            reading.faults.refuse(Reject::BadItem, 1, format_args!("[{number}]: must be an object"));
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for One<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a point")
    }

    no_item! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_bool(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_bool(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (metric, timestamp, value) = (Scalar::Null, Scalar::Null, Scalar::Null);
        let mut item = Item { metric, timestamp, value, tags: Tags(None) };
        while let Some(Key(key)) = map.next_key::<Key<'_>>()? {
            match &*key {
                "metric" => item.metric = map.next_value()?,
                "timestamp" => item.timestamp = map.next_value()?,
                "value" => item.value = map.next_value()?,
                "tags" => item.tags = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        take(self.reading, item, self.number);
        if self.reading.is_stopped() { Err(A::Error::custom("stopped")) } else { Ok(()) }
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
