//! Where the values of a pickle live: flat tables, with numbers for references.
//!
//! Lists, tuples and dictionaries are all kept as chains of cells. A chain can grow while others already refer to it, as a pickled
//! list does, and dropping the tables never recurses however deep the data is nested.

/// Deepest nesting of lists and tuples. A list of points has three levels.
const MAX_DEPTH: u8 = 16;

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// A value on the stack, in the memo or in a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// Any number or boolean: carbon converts them all to floats.
    Number(f64),
    /// Bytes or text in the frame itself.
    Text { at: u32, len: u32 },
    /// Bytes or text that had escapes.
    Unescaped { at: u32, len: u32 },
    /// A list or tuple.
    Sequence(u32),
    /// A dictionary: a sequence in which keys and their values take turns.
    Dictionary(u32),
    /// Data that we never read: None, sets.
    Opaque,
}

#[derive(Debug)]
struct Cell {
    value: Value,
    next: u32,
}

#[derive(Debug)]
struct Sequence {
    first: u32,
    last: u32,
    depth: u8,
}

/// All texts and sequences of one frame.
#[derive(Debug)]
pub(super) struct Heap<'f> {
    frame: &'f [u8],
    unescaped: Vec<u8>,
    cells: Vec<Cell>,
    sequences: Vec<Sequence>,
}

/// The data is nested too deeply.
#[derive(Debug)]
pub(super) struct TooDeep;

impl<'f> Heap<'f> {
    pub(super) fn new(frame: &'f [u8]) -> Self {
        Self { frame, unescaped: Vec::new(), cells: Vec::new(), sequences: Vec::new() }
    }

    /// A new sequence without items.
    pub(super) fn sequence(&mut self) -> u32 {
        self.sequences.push(Sequence { first: NIL, last: NIL, depth: 1 });
        (self.sequences.len() - 1) as u32
    }

    /// Adds an item at the end.
    pub(super) fn append(&mut self, sequence: u32, value: Value) -> Result<(), TooDeep> {
        let depth_below = match value {
            Value::Sequence(below) | Value::Dictionary(below) => {
                self.sequences.get(below as usize).map_or(0, |s| s.depth)
            }
            _ => 0,
        };
        let cell = self.cells.len() as u32;
        self.cells.push(Cell { value, next: NIL });
        let Some(grown) = self.sequences.get_mut(sequence as usize) else { return Ok(()) };
        grown.depth = grown.depth.max(depth_below.saturating_add(1));
        if grown.depth > MAX_DEPTH {
            return Err(TooDeep);
        }
        match self.cells.get_mut(grown.last as usize) {
            Some(last) => last.next = cell,
            None => grown.first = cell,
        }
        grown.last = cell;
        Ok(())
    }

    /// The items of a sequence in order.
    pub(super) fn items(&self, sequence: u32) -> impl Iterator<Item = Value> + '_ {
        let mut next = self.sequences.get(sequence as usize).map_or(NIL, |s| s.first);
        std::iter::from_fn(move || {
            let cell = self.cells.get(next as usize)?;
            next = cell.next;
            Some(cell.value)
        })
    }

    /// Keeps text whose bytes differ from those in the frame.
    pub(super) fn unescape(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<Value> {
        let at = self.unescaped.len();
        write(&mut self.unescaped)?;
        Some(Value::Unescaped { at: at as u32, len: (self.unescaped.len() - at) as u32 })
    }

    /// The bytes of a text; `None` for other values.
    pub(super) fn text(&self, value: Value) -> Option<&[u8]> {
        let (table, at, len) = match value {
            Value::Text { at, len } => (self.frame, at, len),
            Value::Unescaped { at, len } => (self.unescaped.as_slice(), at, len),
            _ => return None,
        };
        table.get(at as usize..at as usize + len as usize)
    }
}
