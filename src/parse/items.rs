//! A body of JSON that is one item, or a list of items, whatever they mean. Each is taken before the next one is read.
//!
//! Usual text is read by [`usual`], which is several times as quick as a reader that knows all of JSON. Where it stops, serde_json
//! begins again and passes over the items that were taken already. So it alone says what is JSON and what is wrong with the rest.

mod usual;

use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::labelled::json::Key;

/// What is made of items.
pub(super) trait Items<'de> {
    /// What an item says, before anything is made of it: its members may come in any order.
    type Said: Default;

    /// Reads the value of a member, or passes over it.
    fn member<A: MapAccess<'de>>(said: &mut Self::Said, key: &str, map: &mut A) -> Result<(), A::Error>;

    /// The items are in a list.
    fn begin_list(&mut self) {}

    /// Takes an item, which has nothing to say if it is no object. The reading ends when it breaks.
    fn take(&mut self, number: usize, said: Option<Self::Said>) -> ControlFlow<()>;
}

/// How a reading ended.
#[derive(Debug)]
pub(super) enum End {
    /// All was read.
    Complete,
    /// An item was the last one that was wanted.
    Stopped,
    /// The rest is no JSON.
    Broken(serde_json::Error),
}

/// Reads a body item by item.
pub(super) fn read<'de>(body: &'de [u8], items: &mut impl Items<'de>) -> End {
    let mut reading = Reading { items, taken: 0, passed: 0, stopped: false, lifetime: PhantomData };
    let outcome = match std::str::from_utf8(body) {
        Ok(text) if usual::read(text, Body(&mut reading)).is_ok() || reading.stopped => Ok(()),
        _ => reading.begin_again(body),
    };
    match outcome {
        _ if reading.stopped => End::Stopped,
        Ok(()) => End::Complete,
        Err(error) => End::Broken(error),
    }
}

struct Reading<'r, 'de, I> {
    items: &'r mut I,
    /// Items that were taken.
    taken: usize,
    /// Items to pass over.
    passed: usize,
    stopped: bool,
    lifetime: PhantomData<&'de ()>,
}

impl<'de, I: Items<'de>> Reading<'_, 'de, I> {
    fn begin_again(&mut self, body: &'de [u8]) -> Result<(), serde_json::Error> {
        self.passed = self.taken;
        let mut json = serde_json::Deserializer::from_slice(body);
        json.deserialize_any(Body(self))?;
        json.end()
    }

    fn take<E: serde::de::Error>(&mut self, number: usize, said: Option<I::Said>) -> Result<(), E> {
        self.taken = number + 1;
        self.stopped = self.items.take(number, said).is_break();
        if self.stopped { Err(E::custom("stopped")) } else { Ok(()) }
    }
}

/// One item, or a list of them.
struct Body<'b, 'r, 'de, I>(&'b mut Reading<'r, 'de, I>);

impl<'de, I: Items<'de>> Visitor<'de> for Body<'_, '_, 'de, I> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.0.passed == 0 {
            return One { reading: self.0, number: 0 }.visit_map(map);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.items.begin_list();
        let mut number = 0;
        while number < self.0.passed && list.next_element::<IgnoredAny>()?.is_some() {
            number += 1;
        }
        while list.next_element_seed(One { reading: &mut *self.0, number })?.is_some() {
            number += 1;
        }
        Ok(())
    }
}

/// The reading of one item.
struct One<'o, 'r, 'de, I> {
    reading: &'o mut Reading<'r, 'de, I>,
    number: usize,
}

impl<'de, I: Items<'de>> DeserializeSeed<'de> for One<'_, '_, 'de, I> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is no object has nothing to say.
macro_rules! no_item {
    ($($name:ident: $of:ty,)*) => {
        $(fn $name<E: serde::de::Error>(self, _: $of) -> Result<(), E> {
            self.reading.take(self.number, None)
        })*
    };
}

impl<'de, I: Items<'de>> Visitor<'de> for One<'_, '_, 'de, I> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
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
        let mut said = I::Said::default();
        while let Some(Key(key)) = map.next_key::<Key<'_>>()? {
            I::member(&mut said, &key, &mut map)?;
        }
        self.reading.take(self.number, Some(said))
    }
}
