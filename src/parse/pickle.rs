//! Carbon's pickle protocol: a list of `(name, (timestamp, value))`, and the dictionaries of its cache queries.
//!
//! Pickle is a small language for a stack machine, and most of what makes it dangerous is its power to call things. This
//! reader knows the opcodes that build plain data and rejects all others, so nothing in a frame can run. It never
//! recurses, keeps all values in flat tables whose size is bounded by the frame's, and takes names from the frame in place.

mod heap;
mod input;
mod machine;
mod request;
mod text;

use super::{Limits, number};
use heap::{Heap, Value};
use plumbago_model::{Batch, Point, Reject};

pub use request::Request;

#[cfg(test)]
mod tests;

/// Longest text that is parsed as a number: the frame may repeat a long one many times.
const MAX_NUMBER_BYTES: usize = 400;

/// Why a frame is not a list of points at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleError {
    /// It ends before its STOP.
    #[error("the pickle ends too early")]
    Truncated,
    /// An opcode that does more than build data, or that does not exist.
    #[error(
        "opcode 0x{opcode:02x} at byte {at} of the pickle is not allowed: send plain lists, tuples, strings and numbers"
    )]
    NotData {
        /// The opcode.
        opcode: u8,
        /// Its position.
        at: usize,
    },
    /// An opcode whose argument cannot be read, or that finds too little on the stack.
    #[error("opcode 0x{opcode:02x} at byte {at} of the pickle cannot be carried out")]
    Malformed {
        /// The opcode.
        opcode: u8,
        /// Its position.
        at: usize,
    },
    /// Nested deeper, or larger, than any list of points.
    #[error("the pickle is nested too deep, or holds too much, at byte {at}")]
    TooBig {
        /// Where the limit was passed.
        at: usize,
    },
    /// It is not a list.
    #[error("the pickle is not a list of (name, (timestamp, value))")]
    NotAList,
    /// It is not a dictionary.
    #[error("the pickle is not a dictionary")]
    NotADictionary,
}

impl From<&PickleError> for Reject {
    fn from(_: &PickleError) -> Self {
        Reject::BadPickle
    }
}

/// The data of one frame.
#[derive(Debug)]
pub struct Pickle<'f> {
    heap: Heap<'f>,
    outer: u32,
}

impl<'f> Pickle<'f> {
    /// Reads one whole frame, without its length.
    pub fn read(frame: &'f [u8]) -> Result<Self, PickleError> {
        let (heap, result) = machine::run(frame)?;
        match result {
            Value::Sequence(outer) => Ok(Self { heap, outer }),
            _ => Err(PickleError::NotAList),
        }
    }

    /// Adds the points to `batch`. `refused` is called with the reason and, if known, the name of each element that is
    /// not a point or is rejected. Returns the number of elements.
    pub fn points<'a>(
        &'a self,
        limits: &Limits,
        batch: &mut Batch<'a>,
        mut refused: impl FnMut(Reject, &'a [u8]),
    ) -> u64 {
        let mut elements = 0;
        for element in self.heap.items(self.outer) {
            elements += 1;
            let (name, rest) = match self.pair(element) {
                Some((name, rest)) => (self.heap.text(name), rest),
                None => (None, Value::Opaque),
            };
            match self.point(name, rest, limits) {
                Ok((name, point)) => batch.push(name, point),
                Err(reason) => refused(reason, name.unwrap_or_default()),
            }
        }
        elements
    }

    fn point<'a>(
        &'a self,
        name: Option<&'a [u8]>,
        rest: Value,
        limits: &Limits,
    ) -> Result<(&'a str, Point), Reject> {
        let name = name.ok_or(Reject::BadPickleElement)?;
        let (timestamp, value) = self.pair(rest).ok_or(Reject::BadPickleElement)?;
        let timestamp = self.number(timestamp).ok_or(Reject::BadPickleElement)?;
        let value = self.number(value).ok_or(Reject::BadPickleElement)?;
        let point = limits.point(timestamp, value)?;
        if name.len() > limits.max_name_bytes {
            return Err(Reject::NameTooLong);
        }
        Ok((std::str::from_utf8(name).map_err(|_| Reject::NotUtf8)?, point))
    }

    /// The two items of a list or tuple of two.
    fn pair(&self, value: Value) -> Option<(Value, Value)> {
        let Value::Sequence(sequence) = value else { return None };
        let mut items = self.heap.items(sequence);
        let pair = (items.next()?, items.next()?);
        items.next().is_none().then_some(pair)
    }

    fn number(&self, value: Value) -> Option<f64> {
        match value {
            Value::Number(number) => Some(number),
            text => {
                let text = self.heap.text(text)?.trim_ascii();
                if text.len() > MAX_NUMBER_BYTES { None } else { number::float(text) }
            }
        }
    }
}
