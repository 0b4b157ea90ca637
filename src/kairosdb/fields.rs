//! The properties of one JSON object, read as KairosDB reads them: numbers and booleans may be strings.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::property::Property;
use super::unit::{Length, Unit};
use super::wrong::Wrong;

/// An object, and its place in the query.
pub(super) struct Fields<'a> {
    /// The place, such as `query.metric[0].aggregators[1]`.
    pub(super) place: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The properties of what must be an object.
    pub(super) fn of(value: &'a Value, place: impl Into<String>) -> Result<Self, Wrong> {
        let place = place.into();
        match value {
            Value::Object(map) => Ok(Self { place, map }),
            other => Err(Wrong::at(&place, format_args!("must be an object, not {}", kind(other)))),
        }
    }

    /// A property that is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// Where a property is.
    pub(super) fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// What is wrong with a property.
    pub(super) fn wrong(&self, name: &str, text: impl std::fmt::Display) -> Wrong {
        Wrong::at(&self.place_of(name), text)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, format_args!("must be a string, not {}", kind(other)))),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(Value::String(text)) => Ok(Some(text.eq_ignore_ascii_case("true"))),
            Some(other) => Err(self.wrong(name, format_args!("must be true or false, not {}", kind(other)))),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Wrong> {
        self.get(name).map(|value| number(value).map_err(|text| self.wrong(name, text))).transpose()
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, Wrong> {
        let whole = |value: &Value| match value.as_i64() {
            Some(number) => Ok(number),
            None => {
                let number = number(value)?;
                // What is beyond the edge becomes the edge.
                if number.fract() == 0.0 { Ok(number as i64) } else { Err(unreadable(&shown(value))) }
            }
        };
        self.get(name).map(|value| whole(value).map_err(|text| self.wrong(name, text))).transpose()
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, Wrong> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.wrong(name, format_args!("must be a list, not {}", kind(other)))),
        }
    }

    /// A unit of time. KairosDB puts the bad name where the path would be.
    pub(super) fn unit(&self, name: &str, context: &str) -> Result<Option<Unit>, Wrong> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let refusal = || Wrong::at(&format!("{context}.{text}"), Unit::refusal());
        Unit::named(text).map(Some).ok_or_else(refusal)
    }

    /// An object with `value` and `unit`.
    pub(super) fn length(&self, name: &str) -> Result<Option<Length>, Wrong> {
        self.length_within(name, &self.place)
    }

    /// The same, where a bad unit is reported at a place of its own.
    pub(super) fn length_within(&self, name: &str, context: &str) -> Result<Option<Length>, Wrong> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let inner = Fields::of(value, self.place_of(name))?;
        let unit = inner.unit("unit", context)?;
        let value = inner.integer("value")?.unwrap_or(0);
        if value < 1 {
            return Err(inner.wrong("value", "must be greater than or equal to 1"));
        }
        let unit = unit.ok_or_else(|| inner.wrong("unit", "may not be null"))?;
        Ok(Some(Length { value, unit }))
    }

    /// An object of texts.
    pub(super) fn texts(&self, name: &str) -> Result<BTreeMap<String, String>, Wrong> {
        let Some(value) = self.get(name) else { return Ok(BTreeMap::new()) };
        let inner = Fields::of(value, self.place_of(name))?;
        let pair = |(key, value): (&String, &Value)| match value {
            Value::Null | Value::Array(_) | Value::Object(_) => {
                Err(inner.wrong(key, "value must not be null or empty"))
            }
            value => Ok((key.clone(), shown(value))),
        };
        inner.map.iter().map(pair).collect()
    }

    /// Refuses what is not among `known`, as KairosDB does for properties of aggregators and groups.
    pub(super) fn only(&self, object: &str, known: &[Property]) -> Result<(), Wrong> {
        let is_known = |key: &str| key == "name" || known.iter().any(|property| property.name == key);
        self.map.keys().find(|key| !is_known(key)).map_or(Ok(()), |property| {
            Err(Wrong::new(format!(
                "Property '{property}' was specified for object '{object}' but no matching setter was found on '{object}'"
            )))
        })
    }

    /// One of some words, in any case.
    pub(super) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)], usual: T) -> Result<T, Wrong> {
        let Some(text) = self.text(name)? else { return Ok(usual) };
        let chosen = words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        chosen.map(|(_, value)| *value).ok_or_else(|| {
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let (last, others) = all.split_last().unwrap_or((&"", &[]));
            self.wrong(name, format_args!("must be {} or {last}, not `{text}`", others.join(", ")))
        })
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter()
    }
}

/// A number, which may be in a string. The error is what Java says.
fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| unreadable(&number.to_string())),
        Value::String(text) => {
            text.trim().parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| unreadable(text))
        }
        other => Err(format!("must be a number, not {}", kind(other))),
    }
}

fn unreadable(text: &str) -> String {
    if text.matches('.').count() > 1 {
        return "multiple points".to_owned();
    }
    let mut text: String = text.chars().take(80).collect();
    text.retain(|c| !c.is_control());
    format!("For input string: \"{text}\"")
}

/// A plain value as text.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
