//! Points of clients that send a metric and its tags apart: KairosDB's JSON ([`datapoints`]), OpenTSDB's ([`put`]), and the lines of
//! both ([`telnet`]).
//!
//! What an item brings goes into a [`Gathered`], which becomes a batch when it is full, so a body of any length needs the memory of one
//! batch besides itself. What is wrong with an item goes to the [`Faults`], and the other items are taken all the same.

pub mod datapoints;
mod faults;
mod gathered;
pub(super) mod json;
pub mod put;
pub mod telnet;

pub use faults::Faults;
pub use gathered::Gathered;

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::items::{self, Items};
use super::{Limits, number};
use plumbago_model::{Arrival, Reject, labelled};

/// Key and value of a tag, as they were sent.
type Tag<'t> = (Cow<'t, str>, Cow<'t, str>);

/// Takes what was gathered and adds what was refused of it to the faults. The reading ends when it breaks.
pub type Take<'t> = dyn FnMut(&Gathered, &mut Faults) -> ControlFlow<()> + 't;

/// Longest text that is parsed as a number.
const MAX_NUMBER_BYTES: usize = 400;

/// The end of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All was read.
    Complete,
    /// Somewhere the bytes were not JSON. What came before is taken, and the faults say where.
    Broken,
    /// The taker of the points wanted no more.
    Stopped,
}

/// Where the points of one body go.
pub(super) struct Reading<'r> {
    pub(super) limits: &'r Limits,
    pub(super) gathered: Gathered,
    pub(super) faults: &'r mut Faults,
    take: &'r mut Take<'r>,
    /// The name of the series whose points come next.
    name: String,
    stopped: bool,
}

/// A value as it was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, and whether a double cannot hold it exactly.
    Number(f64, bool),
    /// A text that is no number, or a value of a type that is not kept.
    OtherType,
    /// Nothing, or an empty text.
    Nothing,
    /// A list or an object.
    Structure,
}

impl Value {
    pub(super) fn integer(number: i64) -> Self {
        Value::Number(number as f64, number.unsigned_abs() > 1 << 53)
    }

    pub(super) fn of_text(text: &str) -> Self {
        match text.trim() {
            "" => Value::Nothing,
            text if text.len() > MAX_NUMBER_BYTES => Value::OtherType,
            text => match text.parse().map(Value::integer) {
                Ok(integer) => integer,
                Err(_) => number::float(text.as_bytes())
                    .map_or(Value::OtherType, |number| Value::Number(number, false)),
            },
        }
    }
}

impl<'r> Reading<'r> {
    pub(super) fn new(limits: &'r Limits, faults: &'r mut Faults, take: &'r mut Take<'r>) -> Self {
        Self { limits, gathered: Gathered::default(), faults, take, name: String::new(), stopped: false }
    }

    /// Names the series of the points that come next, and puts the tags in the order of the name.
    pub(super) fn begin(&mut self, metric: &str, tags: &mut [Tag<'_>]) -> Result<(), Reject> {
        series_name(self.limits, metric, tags, &mut self.name)
    }

    /// Gathers a point of the series that was begun. `item` and `place` say where it was sent.
    pub(super) fn point(
        &mut self,
        arrival: Arrival,
        (item, place): (usize, Option<usize>),
        millis: i64,
        (value, is_rounded): (f64, bool),
    ) -> Result<(), Reject> {
        let point = self.limits.point_at(millis, value)?;
        if self.gathered.is_full() || !self.gathered.takes(arrival) {
            self.flush();
        }
        if self.stopped {
            return Ok(());
        }
        self.gathered.push(arrival, item, place, &self.name, point);
        self.gathered.rounded += u64::from(is_rounded);
        Ok(())
    }

    /// Hands on what was gathered.
    pub(super) fn flush(&mut self) {
        if !self.stopped && !self.gathered.is_empty() {
            self.stopped = (self.take)(&self.gathered, self.faults).is_break();
        }
        self.gathered.clear();
    }

    /// Breaks when no more points are wanted.
    pub(super) fn goes_on(&self) -> ControlFlow<()> {
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Hands on the last points, and says what was wrong with the body.
    fn finish(mut self, end: Result<items::End, String>) -> End {
        self.flush();
        let why = match end {
            _ if self.stopped => return End::Stopped,
            Ok(items::End::Complete | items::End::Stopped) => return End::Complete,
            Ok(items::End::Broken(error)) => format!("Invalid json. {error}"),
            Err(why) => why,
        };
        self.faults.refuse(Reject::BadItem, 1, format_args!("{why}"));
        End::Broken
    }
}

/// Reads a body that is one item, or a list of them; otherwise says that it is none.
fn read_items<'de>(body: &'de [u8], items: &mut impl Items<'de>) -> Result<items::End, String> {
    match body.trim_ascii_start().first() {
        None => Err("Invalid json. No content due to end of input.".to_owned()),
        Some(b'[' | b'{') => Ok(items::read(body, items)),
        Some(_) => Err("Invalid start of json.".to_owned()),
    }
}

/// Puts the stored name of a metric with tags into `name`, and the tags in its order.
pub(super) fn series_name(
    limits: &Limits,
    metric: &str,
    tags: &mut [Tag<'_>],
    name: &mut String,
) -> Result<(), Reject> {
    name.clear();
    let limit = limits.max_name_bytes;
    let text: usize = tags.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
    // Nobody can make us build a name of megabytes.
    if metric.len() + text > limit {
        return Err(Reject::NameTooLong);
    }
    labelled::push_series_name(metric, tags, name)?;
    if name.len() > limit { Err(Reject::NameTooLong) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
