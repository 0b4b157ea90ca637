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

use super::{Limits, number};
use plumbago_model::{Arrival, Reject, labelled};

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

    /// Names the series of the points that come next.
    pub(super) fn begin(
        &mut self,
        metric: &str,
        tags: &[(Cow<'_, str>, Cow<'_, str>)],
    ) -> Result<(), Reject> {
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

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Reads a body that is one item, or a list of them.
    fn run(mut self, body: &[u8], items: fn(&mut Self, &[u8]) -> Result<(), serde_json::Error>) -> End {
        let outcome = match body.trim_ascii_start().first() {
            None => Err("Invalid json. No content due to end of input.".to_owned()),
            Some(b'[' | b'{') => items(&mut self, body).map_err(|error| format!("Invalid json. {error}")),
            Some(_) => Err("Invalid start of json.".to_owned()),
        };
        self.flush();
        match outcome {
            _ if self.stopped => End::Stopped,
            Ok(()) => End::Complete,
            Err(text) => {
                self.faults.refuse(Reject::BadItem, 1, format_args!("{text}"));
                End::Broken
            }
        }
    }
}

/// Puts the stored name of a metric with tags into `name`.
pub(super) fn series_name(
    limits: &Limits,
    metric: &str,
    tags: &[(Cow<'_, str>, Cow<'_, str>)],
    name: &mut String,
) -> Result<(), Reject> {
    name.clear();
    let limit = limits.max_name_bytes;
    let text: usize = tags.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
    // Nobody can make us build a name of megabytes.
    if metric.len() + text > limit {
        return Err(Reject::NameTooLong);
    }
    let mut tags: Vec<(&str, &str)> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    labelled::push_series_name(metric, &mut tags, name)?;
    if name.len() > limit { Err(Reject::NameTooLong) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
