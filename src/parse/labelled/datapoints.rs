//! The body of KairosDB's `POST /api/v1/datapoints`: an object with a metric and its points, or a list of such objects.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::json::{Scalar, Tags};
use super::{End, Faults, Reading, Take, Value};
use crate::parse::Limits;
use crate::parse::items::Items;
use plumbago_model::{Arrival, Reject};

/// Reads a body. The points of an item are taken although others are bad.
pub fn read(body: &[u8], limits: &Limits, faults: &mut Faults, take: &mut Take<'_>) -> End {
    // The lifetime of the closure's captures is shortened to that of the reading.
    let mut take = |gathered: &super::Gathered, faults: &mut Faults| take(gathered, faults);
    let mut metrics = Metrics(Reading::new(limits, faults, &mut take));
    let end = super::read_items(body, &mut metrics);
    metrics.0.finish(end)
}

/// What the items become.
struct Metrics<'r>(Reading<'r>);

/// What an item says, before anything is made of it: its members may come in any order.
#[derive(Default)]
struct Said<'de> {
    name: Option<Cow<'de, str>>,
    tags: Option<Vec<(Cow<'de, str>, Cow<'de, str>)>>,
    kind: Option<Cow<'de, str>>,
    timestamp: Option<Scalar<'de>>,
    value: Option<Scalar<'de>>,
    points: Vec<Listed>,
    /// The list of points is none.
    no_list: bool,
    ttl: Option<Scalar<'de>>,
}

/// A point of a list.
struct Listed {
    millis: Option<i64>,
    value: Value,
}

impl<'de> Items<'de> for Metrics<'_> {
    type Said = Said<'de>;

    fn member<A: MapAccess<'de>>(said: &mut Said<'de>, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => said.name = map.next_value::<Scalar<'_>>()?.into_text(),
            "tags" => said.tags = map.next_value::<Tags<'_>>()?.0,
            "timestamp" if said.timestamp.is_none() => said.timestamp = Some(map.next_value()?),
            "time" => said.timestamp = Some(map.next_value()?),
            "value" => said.value = Some(map.next_value()?),
            "type" => said.kind = map.next_value::<Scalar<'_>>()?.into_text(),
            "ttl" => said.ttl = Some(map.next_value()?),
            "datapoints" => said.no_list |= !map.next_value_seed(Points(&mut said.points))?,
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn take(&mut self, number: usize, said: Option<Said<'de>>) -> ControlFlow<()> {
        let reading = &mut self.0;
        match said {
            Some(said) => Item { reading, number }.take(said),
            None => {
                reading.faults.refuse(Reject::BadItem, 1, format_args!("metric[{number}] must be an object"));
            }
        }
        reading.goes_on()
    }
}

/// One metric with its points.
struct Item<'i, 'r> {
    reading: &'i mut Reading<'r>,
    number: usize,
}

impl Item<'_, '_> {
    /// Gathers the points of an item, or says what is wrong with it.
    fn take(&mut self, mut said: Said<'_>) {
        let points = said.points.len() + usize::from(said.value.is_some() || said.timestamp.is_some());
        let (number, faults) = (self.number, &mut *self.reading.faults);
        let mut refuse = |reason, text: fmt::Arguments<'_>| faults.refuse(reason, points.max(1) as u64, text);
        let name = match said.name.as_deref() {
            None => return refuse(Reject::BadItem, format_args!("metric[{number}].name may not be null.")),
            Some("") => {
                return refuse(Reject::EmptyName, format_args!("metric[{number}].name may not be empty."));
            }
            Some(name) => name,
        };
        let item = ItemName { number, name };
        let tags = said.tags.as_deref_mut().unwrap_or_default();
        if tags.is_empty() {
            let text = format_args!("{item}.tags count must be greater than or equal to 1.");
            return refuse(Reject::EmptyTag, text);
        }
        for (key, value) in &*tags {
            let (key, part) = match (&**key, &**value) {
                ("", _) => ("", "name"),
                (key, "") => (key, "value"),
                _ => continue,
            };
            let text = format_args!("{item}.tag[{}].{part} may not be empty.", shown(key));
            return refuse(Reject::EmptyTag, text);
        }
        if said.no_list {
            return refuse(
                Reject::BadItem,
                format_args!("{item}.datapoints must be a list of [timestamp, value]"),
            );
        }
        if points == 0 {
            return refuse(Reject::BadItem, format_args!("{item}.value may not be null."));
        }
        match said.kind.as_deref() {
            None | Some("" | "long" | "double") => {}
            Some("string") => {
                return refuse(
                    Reject::UnsupportedType,
                    format_args!("{item} has values of the type string; only numbers are kept"),
                );
            }
            Some(other) => {
                return refuse(
                    Reject::UnsupportedType,
                    format_args!("{item} Unregistered data point type '{}'", shown(other)),
                );
            }
        }
        if let Err(reason) = self.reading.begin(name, tags) {
            let text = format_args!("{item} {}", why(reason));
            return self.reading.faults.refuse(reason, points as u64, text);
        }
        self.take_points(&said, item);
    }

    fn take_points(&mut self, said: &Said<'_>, item: ItemName<'_>) {
        let ttl = said.ttl.as_ref().and_then(Scalar::integer).unwrap_or(0).max(0);
        let arrival = Arrival::labelled(u32::try_from(ttl).unwrap_or(u32::MAX));
        if said.timestamp.is_some() || said.value.is_some() {
            let millis = said.timestamp.as_ref().and_then(Scalar::integer);
            let value = said.value.as_ref().map_or(Value::Nothing, Scalar::value);
            self.point(arrival, None, (millis, value), item);
        }
        for (place, listed) in said.points.iter().enumerate() {
            self.point(arrival, Some(place), (listed.millis, listed.value), item);
        }
    }

    fn point(
        &mut self,
        arrival: Arrival,
        place: Option<usize>,
        (millis, value): (Option<i64>, Value),
        item: ItemName<'_>,
    ) {
        let (reason, part, text) = match (millis, value) {
            (Some(millis), Value::Number(value, is_rounded)) => {
                let at = (self.number, place);
                match self.reading.point(arrival, at, millis, (value, is_rounded)) {
                    Ok(()) => return,
                    Err(reason) => (reason, "", why(reason)),
                }
            }
            (None, _) => (Reject::BadTimestamp, ".timestamp", "cannot be null or empty."),
            (_, Value::Nothing) => (Reject::BadValue, ".value", "cannot be null or empty."),
            (_, Value::OtherType) => {
                (Reject::UnsupportedType, ".value", "is no number; only the types long and double are kept")
            }
            (_, Value::Structure) => (Reject::BadValue, "", "value is an invalid type"),
        };
        let list = place.map(|place| format!(".datapoints[{place}]")).unwrap_or_default();
        self.reading.faults.refuse(reason, 1, format_args!("{item}{list}{part} {text}"));
    }
}

/// An item in an error: `metric[3](name=cpu.load)`. It is written only when there is one.
#[derive(Clone, Copy)]
struct ItemName<'a> {
    number: usize,
    name: &'a str,
}

impl fmt::Display for ItemName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metric[{}](name={})", self.number, shown(self.name))
    }
}

/// The list of points of an item. False if it is none.
struct Points<'p>(&'p mut Vec<Listed>);

impl<'de> DeserializeSeed<'de> for Points<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is no list has no points.
macro_rules! no_list {
    ($($name:ident: $of:ty,)*) => {
        $(fn $name<E>(self, _: $of) -> Result<bool, E> {
            Ok(false)
        })*
    };
}

impl<'de> Visitor<'de> for Points<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of [timestamp, value]")
    }

    no_list! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        while let Some(Pair(listed)) = list.next_element()? {
            self.0.push(listed);
        }
        Ok(true)
    }
}

/// `[timestamp, value]` or `[timestamp, value, type]`.
struct Pair(Listed);

impl<'de> serde::Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairVisitor).map(Pair)
    }
}

struct PairVisitor;

/// What is no list is no point.
macro_rules! no_pair {
    ($($name:ident: $of:ty,)*) => {
        $(fn $name<E>(self, _: $of) -> Result<Listed, E> {
            Ok(Listed { millis: None, value: Value::Nothing })
        })*
    };
}

impl<'de> Visitor<'de> for PairVisitor {
    type Value = Listed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[timestamp, value]")
    }

    no_pair! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, }

    fn visit_unit<E>(self) -> Result<Listed, E> {
        Ok(Listed { millis: None, value: Value::Nothing })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Listed, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Listed { millis: None, value: Value::Nothing })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Listed, A::Error> {
        let millis = list.next_element::<Scalar<'_>>()?.as_ref().and_then(Scalar::integer);
        let value = list.next_element::<Scalar<'_>>()?.as_ref().map_or(Value::Nothing, Scalar::value);
        let kind = list.next_element::<Scalar<'_>>()?.and_then(Scalar::into_text);
        while list.next_element::<IgnoredAny>()?.is_some() {}
        let is_known = kind.is_none_or(|kind| matches!(&*kind, "" | "long" | "double"));
        Ok(Listed { millis, value: if is_known { value } else { Value::OtherType } })
    }
}

/// What a sender is told about a reason.
pub fn why(reason: Reject) -> &'static str {
    match reason {
        Reject::EmptyName => "has a name without any component",
        Reject::EmptyTag => "has a tag without a key or a value",
        Reject::NameTooLong => "has a name, tags included, that is longer than ingest.max_name_bytes allows",
        Reject::TooManyComponents => "has a name with more than 63 components",
        Reject::NanValue => "has the value NaN",
        Reject::InfiniteValue => "has an infinite value (ingest.keep_infinite)",
        Reject::BadTimestamp => "has a timestamp before 1970",
        Reject::TooFarInFuture => "has a timestamp further in the future than ingest.max_future allows",
        Reject::TooOld => "has a timestamp older than the retention of the metric",
        Reject::OutOfScope => "is outside of what you may write",
        Reject::CreateRate => "is a new metric, and ingest.max_creates_per_second of them were made",
        Reject::MetricLimit => "is a new metric, and there are ingest.max_metrics already",
        Reject::DiskFull => "is a new metric, and the disk is nearly full (store.reserve_bytes)",
        Reject::Blacklisted => "is on the blacklist",
        Reject::NotWhitelisted => "is not on the whitelist",
        other => other.label(),
    }
}

/// A text in an error: no more than a person reads, and on one line.
pub fn shown(text: &str) -> String {
    const CHARS: usize = 80;
    let mut shown: String =
        text.chars().take(CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(CHARS).is_some() {
        shown.push('…');
    }
    shown
}
