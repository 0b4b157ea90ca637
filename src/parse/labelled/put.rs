//! The body of OpenTSDB's `POST /api/put`: `{"metric", "timestamp", "value", "tags"}`, or a list of such objects.

use std::borrow::Cow;
use std::ops::ControlFlow;

use serde::de::{IgnoredAny, MapAccess};

use super::datapoints::why;
use super::json::{Scalar, Tags};
use super::{End, Faults, Reading, Take, Value};
use crate::parse::Limits;
use crate::parse::items::Items;
use plumbago_model::{Arrival, Reject};

/// Times below this are seconds, as OpenTSDB has it; others are milliseconds.
const FIRST_MILLIS: i64 = 1 << 33;

/// Reads a body. Good items are taken although others are bad.
pub fn read(body: &[u8], limits: &Limits, faults: &mut Faults, take: &mut Take<'_>) -> End {
    let mut take = |gathered: &super::Gathered, faults: &mut Faults| take(gathered, faults);
    let mut points = Points(Reading::new(limits, faults, &mut take));
    let end = super::read_items(body, &mut points);
    points.0.finish(end)
}

/// What the items become.
struct Points<'r>(Reading<'r>);

/// One point, as far as it is one; of two members with one name the later counts.
#[derive(Default)]
struct Item<'i> {
    metric: Scalar<'i>,
    timestamp: Scalar<'i>,
    value: Scalar<'i>,
    tags: Tags<'i>,
}

impl<'de> Items<'de> for Points<'_> {
    type Said = Item<'de>;

    fn member<A: MapAccess<'de>>(item: &mut Item<'de>, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "metric" => item.metric = map.next_value()?,
            "timestamp" => item.timestamp = map.next_value()?,
            "value" => item.value = map.next_value()?,
            "tags" => item.tags = map.next_value()?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn take(&mut self, number: usize, item: Option<Item<'de>>) -> ControlFlow<()> {
        let reading = &mut self.0;
        let taken = match item {
            Some(item) => try_take(reading, item, number),
            None => Err((Reject::BadItem, "must be an object".into())),
        };
        if let Err((reason, text)) = taken {
            reading.faults.refuse(reason, 1, format_args!("[{number}]: {text}"));
        }
        reading.goes_on()
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
    reading.begin(&metric, &mut tags).map_err(|reason| wrong(reason, why(reason)))?;
    let millis = millis(sent);
    let taken = reading.point(Arrival::labelled(0), (number, None), millis, (value, is_rounded));
    taken.map_err(|reason| wrong(reason, why(reason)))
}

/// A time as OpenTSDB has it, in milliseconds.
pub fn millis(sent: i64) -> i64 {
    if sent < FIRST_MILLIS { sent.saturating_mul(1000) } else { sent }
}
