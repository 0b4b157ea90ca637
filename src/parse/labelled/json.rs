//! Values of JSON that may be anything: what an item should have as a text or a number is often sent as the other.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Value;

/// Any value, but for the contents of lists and objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::parse) enum Scalar<'de> {
    #[default]
    Null,
    Integer(i64),
    Float(f64),
    Text(Cow<'de, str>),
    Truth(bool),
    Structure,
}

impl<'de> Scalar<'de> {
    /// As the text that it stands for; a number means its digits.
    pub(in crate::parse) fn into_text(self) -> Option<Cow<'de, str>> {
        match self {
            Scalar::Text(text) => Some(text),
            Scalar::Integer(number) => Some(Cow::Owned(number.to_string())),
            Scalar::Float(number) => Some(Cow::Owned(number.to_string())),
            Scalar::Truth(truth) => Some(Cow::Owned(truth.to_string())),
            Scalar::Null | Scalar::Structure => None,
        }
    }

    /// As a whole number, such as a time.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Scalar::Integer(number) => Some(*number),
            Scalar::Float(number) if number.is_finite() && number.abs() < 9e18 => Some(number.trunc() as i64),
            Scalar::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// As the value of a point.
    pub(super) fn value(&self) -> Value {
        match self {
            Scalar::Null => Value::Nothing,
            Scalar::Integer(number) => Value::integer(*number),
            Scalar::Float(number) => Value::Number(*number, false),
            Scalar::Text(text) => Value::of_text(text),
            Scalar::Truth(_) => Value::OtherType,
            Scalar::Structure => Value::Structure,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Truth(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).map_or(Scalar::Float(number as f64), Scalar::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Float(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Structure)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Structure)
    }
}

/// A key of an object.
pub(in crate::parse) struct Key<'de>(pub(in crate::parse) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any).map(|key| Key(key.into_text().unwrap_or_default()))
    }
}

/// The tags of an item; `None` if they are no object.
#[derive(Default)]
pub(in crate::parse) struct Tags<'de>(pub(in crate::parse) Option<Vec<(Cow<'de, str>, Cow<'de, str>)>>);

impl<'de: 'a, 'a> Deserialize<'de> for Tags<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagsVisitor)
    }
}

struct TagsVisitor;

/// What is no object is no tags.
macro_rules! no_tags {
    ($($name:ident: $of:ty,)*) => {
        $(fn $name<E>(self, _: $of) -> Result<Self::Value, E> {
            Ok(Tags(None))
        })*
    };
}

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = Tags<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with tags")
    }

    no_tags! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tags(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Tags(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut tags = Vec::with_capacity(4);
        while let Some((Key(key), value)) = map.next_entry::<Key<'_>, Scalar<'_>>()? {
            tags.push((key, value.into_text().unwrap_or_default()));
        }
        Ok(Tags(Some(tags)))
    }
}
