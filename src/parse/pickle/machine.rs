//! The stack machine: runs the opcodes that build data and rejects the others.
//!
//! Opcodes of protocols 0 to 5 as `pickletools` names them. Rejected on purpose: GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST,
//! OBJ, NEWOBJ, NEWOBJ_EX, EXT1–4, PERSID, BINPERSID (they name or call things) and the out-of-band buffers of protocol 5.

use super::PickleError;
use super::heap::{Heap, TooDeep, Value};
use super::input::Input;
use super::text;
use crate::parse::number;

/// Most open MARKs; each is a level of nesting.
const MAX_MARKS: usize = 16;

/// Entries that even the smallest frame may have on the stack and in the memo.
const SMALL: usize = 64;

/// Runs one frame up to its STOP; like Python, it ignores what follows.
pub(super) fn run(frame: &[u8]) -> Result<(Heap<'_>, Value), PickleError> {
    let mut machine = Machine {
        heap: Heap::new(frame),
        input: Input::new(frame),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        // A value takes at least four bytes where points are pickled, and a memo entry two.
        max_stack: frame.len() / 4 + SMALL,
        max_memo: frame.len() / 2 + SMALL,
    };
    loop {
        let at = machine.input.at();
        let opcode = machine.input.byte().ok_or(PickleError::Truncated)?;
        match machine.step(opcode) {
            Ok(None) => {}
            Ok(Some(result)) => return Ok((machine.heap, result)),
            Err(Fault::NotData) => return Err(PickleError::NotData { opcode, at }),
            Err(Fault::TooBig) => return Err(PickleError::TooBig { at }),
            Err(Fault::Malformed) => return Err(PickleError::Malformed { opcode, at }),
        }
    }
}

struct Machine<'f> {
    heap: Heap<'f>,
    input: Input<'f>,
    stack: Vec<Value>,
    /// Stack heights at the open MARKs.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    max_stack: usize,
    max_memo: usize,
}

enum Fault {
    NotData,
    TooBig,
    Malformed,
}

impl From<TooDeep> for Fault {
    fn from(_: TooDeep) -> Self {
        Fault::TooBig
    }
}

type Step = Result<(), Fault>;

fn known<T>(value: Option<T>) -> Result<T, Fault> {
    value.ok_or(Fault::Malformed)
}

impl Machine<'_> {
    /// Runs one opcode. Returns the result at STOP.
    fn step(&mut self, opcode: u8) -> Result<Option<Value>, Fault> {
        match opcode {
            b'.' => return self.pop().map(Some),               // STOP
            0x80 => self.skip(1),                              // PROTO
            0x95 => self.skip(8),                              // FRAME
            b'(' => self.mark(),                               // MARK
            b'0' => self.discard(),                            // POP
            b'1' => self.take_marked().map(drop),              // POP_MARK
            b'2' => self.top().and_then(|top| self.push(top)), // DUP
            b')' | b']' => self.gather(0),                     // EMPTY_TUPLE, EMPTY_LIST
            0x85 => self.gather(1),                            // TUPLE1
            0x86 => self.gather(2),                            // TUPLE2
            0x87 => self.gather(3),                            // TUPLE3
            b't' | b'l' => self.gather_marked(),               // TUPLE, LIST
            b'a' => self.append(),                             // APPEND
            b'e' => self.append_marked(),                      // APPENDS
            b'p' | b'q' | b'r' | 0x94 => self.memoize(opcode), // PUT, BINPUT, LONG_BINPUT, MEMOIZE
            b'g' | b'h' | b'j' => self.recall(opcode),         // GET, BINGET, LONG_BINGET
            b'N' | 0x8f => self.push(Value::Opaque),           // NONE, EMPTY_SET
            b'}' => self.empty_dictionary(),                   // EMPTY_DICT
            b'd' => self.dictionary_marked(),                  // DICT
            b's' => self.set_item(),                           // SETITEM
            b'u' => self.set_items_marked(),                   // SETITEMS
            0x91 => self.opaque_marked(),                      // FROZENSET
            0x90 => self.take_marked().map(drop),              // ADDITEMS
            _ => known(self.literal(opcode)?).and_then(|value| self.push(value)),
        }?;
        Ok(None)
    }

    /// Numbers and texts. `Ok(None)` is an argument that cannot be read.
    fn literal(&mut self, opcode: u8) -> Result<Option<Value>, Fault> {
        let input = &mut self.input;
        let value = match opcode {
            0x88 => Some(Value::Number(1.0)),                      // NEWTRUE
            0x89 => Some(Value::Number(0.0)),                      // NEWFALSE
            b'K' => input.byte().map(|n| Value::Number(n.into())), // BININT1
            b'M' => input.array().map(|n| Value::Number(u16::from_le_bytes(n).into())), // BININT2
            b'J' => input.array().map(|n| Value::Number(i32::from_le_bytes(n).into())), // BININT
            b'G' => input.array().map(|n| Value::Number(f64::from_be_bytes(n))), // BINFLOAT
            0x8a => input.length::<1>().and_then(|n| input.bytes(n)).map(long), // LONG1
            0x8b => input.length::<4>().and_then(|n| input.bytes(n)).map(long), // LONG4
            b'I' | b'L' | b'F' => input.line().and_then(|(_, line)| decimal(line)), // INT, LONG, FLOAT
            b'U' | b'C' | 0x8c => input.length::<1>().and_then(|n| input.text(n)), // SHORT_BIN*
            b'T' | b'B' | b'X' => input.length::<4>().and_then(|n| input.text(n)), // BINSTRING, BINBYTES, BINUNICODE
            0x8d | 0x8e | 0x96 => input.length::<8>().and_then(|n| input.text(n)), // *8
            b'S' => self.quoted(),                                                 // STRING
            b'V' => self.unicode(),                                                // UNICODE
            _ => return Err(Fault::NotData),
        };
        Ok(value)
    }

    fn quoted(&mut self) -> Option<Value> {
        let (at, line) = self.input.line()?;
        let inner = text::unquote(line.trim_ascii_end())?;
        match memchr::memchr(b'\\', inner) {
            None => in_place(at + 1, inner),
            Some(_) => self.heap.unescape(|out| text::unescape_quoted(inner, out)),
        }
    }

    fn unicode(&mut self) -> Option<Value> {
        let (at, line) = self.input.line()?;
        if line.is_ascii() && memchr::memchr(b'\\', line).is_none() {
            return in_place(at, line);
        }
        self.heap.unescape(|out| text::unescape_unicode(line, out))
    }

    fn push(&mut self, value: Value) -> Step {
        if self.stack.len() >= self.max_stack {
            return Err(Fault::TooBig);
        }
        self.stack.push(value);
        Ok(())
    }

    /// Values below the last MARK are out of reach.
    fn pop(&mut self) -> Result<Value, Fault> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(Fault::Malformed);
        }
        known(self.stack.pop())
    }

    fn top(&mut self) -> Result<Value, Fault> {
        let top = self.pop()?;
        self.stack.push(top);
        Ok(top)
    }

    /// POP takes a value, or the MARK when that is on top.
    fn discard(&mut self) -> Step {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn mark(&mut self) -> Step {
        if self.marks.len() >= MAX_MARKS {
            return Err(Fault::TooBig);
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn skip(&mut self, bytes: usize) -> Step {
        known(self.input.bytes(bytes)).map(drop)
    }

    /// Takes everything above the last MARK, and the MARK.
    fn take_marked(&mut self) -> Result<std::vec::Drain<'_, Value>, Fault> {
        let mark = known(self.marks.pop())?;
        if mark > self.stack.len() {
            return Err(Fault::Malformed);
        }
        Ok(self.stack.drain(mark..))
    }

    /// Makes a sequence of the topmost `count` values.
    fn gather(&mut self, count: usize) -> Step {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start = known(self.stack.len().checked_sub(count))?;
        if start < floor {
            return Err(Fault::Malformed);
        }
        self.gather_from(start)
    }

    fn gather_marked(&mut self) -> Step {
        let mark = known(self.marks.pop())?;
        self.gather_from(mark)
    }

    fn gather_from(&mut self, start: usize) -> Step {
        let sequence = self.heap.sequence();
        for &value in known(self.stack.get(start..))? {
            self.heap.append(sequence, value)?;
        }
        self.stack.truncate(start);
        self.push(Value::Sequence(sequence))
    }

    fn append(&mut self) -> Step {
        let value = self.pop()?;
        let Value::Sequence(list) = self.top()? else { return Err(Fault::Malformed) };
        Ok(self.heap.append(list, value)?)
    }

    fn append_marked(&mut self) -> Step {
        let mark = known(self.marks.pop())?;
        let (below, items) = known(self.stack.split_at_checked(mark))?;
        let Some(&Value::Sequence(list)) = below.last() else { return Err(Fault::Malformed) };
        for &item in items {
            self.heap.append(list, item)?;
        }
        self.stack.truncate(mark);
        Ok(())
    }

    fn empty_dictionary(&mut self) -> Step {
        let dictionary = self.heap.sequence();
        self.push(Value::Dictionary(dictionary))
    }

    fn dictionary_marked(&mut self) -> Step {
        let mark = known(self.marks.pop())?;
        let dictionary = self.heap.sequence();
        self.fill(dictionary, mark)?;
        self.push(Value::Dictionary(dictionary))
    }

    fn set_item(&mut self) -> Step {
        let (value, key) = (self.pop()?, self.pop()?);
        let Value::Dictionary(dictionary) = self.top()? else { return Err(Fault::Malformed) };
        self.heap.append(dictionary, key)?;
        Ok(self.heap.append(dictionary, value)?)
    }

    fn set_items_marked(&mut self) -> Step {
        let mark = known(self.marks.pop())?;
        let below = mark.checked_sub(1).and_then(|at| self.stack.get(at));
        let Some(&Value::Dictionary(dictionary)) = below else { return Err(Fault::Malformed) };
        self.fill(dictionary, mark)
    }

    /// Moves what is on the stack from `start` on into a dictionary.
    fn fill(&mut self, dictionary: u32, start: usize) -> Step {
        let items = known(self.stack.get(start..))?;
        if items.len() % 2 != 0 {
            return Err(Fault::Malformed);
        }
        for &item in items {
            self.heap.append(dictionary, item)?;
        }
        self.stack.truncate(start);
        Ok(())
    }

    fn opaque_marked(&mut self) -> Step {
        self.take_marked().map(drop)?;
        self.push(Value::Opaque)
    }

    fn memoize(&mut self, opcode: u8) -> Step {
        let index = match opcode {
            0x94 => self.memo.len(),
            named => self.memo_index(named)?,
        };
        if index >= self.max_memo {
            return Err(Fault::TooBig);
        }
        let value = self.top()?;
        if index >= self.memo.len() {
            self.memo.resize(index + 1, None);
        }
        if let Some(entry) = self.memo.get_mut(index) {
            *entry = Some(value);
        }
        Ok(())
    }

    fn recall(&mut self, opcode: u8) -> Step {
        let index = self.memo_index(opcode)?;
        let value = known(self.memo.get(index).copied().flatten())?;
        self.push(value)
    }

    fn memo_index(&mut self, opcode: u8) -> Result<usize, Fault> {
        known(match opcode {
            b'q' | b'h' => self.input.byte().map(usize::from),
            b'r' | b'j' => self.input.u32().map(|index| index as usize),
            _ => self.input.line().and_then(|(_, line)| number::seconds(line)).map(|index| index as usize),
        })
    }
}

fn in_place(at: usize, text: &[u8]) -> Option<Value> {
    Some(Value::Text { at: u32::try_from(at).ok()?, len: u32::try_from(text.len()).ok()? })
}

/// A line with a number: Python 2 appends an `L` to long ones.
fn decimal(line: &[u8]) -> Option<Value> {
    let line = line.trim_ascii();
    number::float(line.strip_suffix(b"L").unwrap_or(line)).map(Value::Number)
}

/// A whole number of any length, little-endian in two's complement. One beyond 128 bits cannot be the value of a metric.
fn long(bytes: &[u8]) -> Value {
    let negative = bytes.last().is_some_and(|&top| top >= 0x80);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    match wide.get_mut(..bytes.len()) {
        Some(low) => low.copy_from_slice(bytes),
        None => return Value::Opaque,
    }
    Value::Number(i128::from_le_bytes(wide) as f64)
}
