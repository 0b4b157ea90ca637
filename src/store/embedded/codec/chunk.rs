//! Reading chunks.

use super::counts::{self, Counts};
use super::presence::Presence;
use super::values::Values;
use super::varint::Reader;
use super::{ChunkError, MAX_SLOTS};

/// A chunk whose bytes are checked but not unpacked yet.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    presence: Presence<'a>,
    partials: Option<(u8, Counts<'a>)>,
    values: Values<'a>,
}

/// The slots of a chunk, one entry each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Ascending.
    pub slots: Vec<u32>,
    /// One per slot.
    pub values: Vec<f64>,
    /// One per slot for an aggregated stage; empty for a raw one.
    pub counts: Vec<u32>,
}

impl<'a> Chunk<'a> {
    /// Checks all of `bytes`; unpacks nothing.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ChunkError> {
        const SHORT: ChunkError = ChunkError::Malformed("it ends within its header");
        let mut reader = Reader::new(bytes);
        let tag = reader.byte().ok_or(SHORT)?;
        if tag & 0x80 != 0 {
            return Err(ChunkError::Malformed("it is of an unknown kind"));
        }
        let count = reader.varint().ok_or(SHORT)?;
        if count == 0 || count > MAX_SLOTS as u64 {
            return Err(ChunkError::Malformed("it claims no slots, or more than a chunk can hold"));
        }
        let count = count as usize;
        let first = reader.varint_u32().ok_or(SHORT)?;
        let presence = Presence::read(tag & 3, count, first, &mut reader)?;
        let partials = match tag >> 5 {
            counts::NONE => None,
            form => {
                let method = reader.byte().ok_or(SHORT)?;
                Some((method, Counts::read(form, count, &mut reader)?))
            }
        };
        let values = Values::read(tag >> 2 & 7, reader.rest(), count)?;
        Ok(Self { presence, partials, values })
    }

    /// How many slots it holds: at least one.
    #[expect(clippy::len_without_is_empty, reason = "a chunk is never empty")]
    pub fn len(&self) -> usize {
        self.presence.count
    }

    /// Its first slot.
    pub fn first_slot(&self) -> u32 {
        self.presence.first
    }

    /// Its last slot.
    pub fn last_slot(&self) -> u32 {
        self.presence.last
    }

    /// Tag of the aggregation method for an aggregated stage; `None` for raw points.
    pub fn method(&self) -> Option<u8> {
        self.partials.map(|(method, _)| method)
    }

    /// Writes the slots inside `first_slot..first_slot + values.len()` to their places in `values`, and to `counts` if
    /// requested; all other places are unchanged. So a later chunk overrides an earlier one, slot by slot.
    ///
    /// On an error some places may have been written.
    ///
    /// # Panics
    ///
    /// If `counts` and `values` differ in length.
    pub fn decode_window(
        &self,
        first_slot: u32,
        values: &mut [f64],
        counts: Option<&mut [u32]>,
    ) -> Result<(), ChunkError> {
        let first = u64::from(first_slot);
        let wanted = (self.presence.rank(first), self.presence.rank(first + values.len() as u64));
        if let Some(window) = counts {
            assert_eq!(window.len(), values.len(), "a window has as many counts as values");
            let (_, counts) = self.partials.ok_or(ChunkError::NoCounts)?;
            if wanted.0 < wanted.1 {
                counts.decode(wanted.0, wanted.1, &mut self.scatter(wanted, first_slot, window));
            }
        }
        if wanted.0 >= wanted.1 {
            return Ok(());
        }
        self.values.decode(wanted, self.presence.count, &mut self.scatter(wanted, first_slot, values))
    }

    /// A sink for runs that writes the entries at positions `from..until` to the places of their slots.
    fn scatter<T: Copy>(
        &self,
        (from, until): (usize, usize),
        first_slot: u32,
        window: &mut [T],
    ) -> impl FnMut(usize, &[T]) {
        let is_row = self.presence.is_row();
        // Only used for a row, where every requested position is inside the window.
        let row_start = i64::from(self.presence.first) - i64::from(first_slot);
        let mut slots = self.presence.iter();
        let mut passed = 0;
        move |at, run| {
            let (low, high) = (from.max(at), until.min(at + run.len()));
            if low >= high {
                return;
            }
            let wanted = run.get(low - at..high - at).unwrap_or_default();
            if is_row {
                let start = (row_start + low as i64) as usize;
                if let Some(place) = window.get_mut(start..start + wanted.len()) {
                    place.copy_from_slice(wanted);
                }
                return;
            }
            if low > passed {
                slots.nth(low - passed - 1);
            }
            passed = high;
            for (&entry, slot) in wanted.iter().zip(&mut slots) {
                if let Some(place) = window.get_mut((slot - first_slot) as usize) {
                    *place = entry;
                }
            }
        }
    }

    /// Replaces the contents of `samples` with all slots.
    pub fn decode(&self, samples: &mut Samples) -> Result<(), ChunkError> {
        let count = self.presence.count;
        samples.slots.clear();
        samples.slots.extend(self.presence.iter());
        samples.counts.clear();
        if let Some((_, counts)) = self.partials {
            counts.decode(0, count, &mut |_, run| samples.counts.extend_from_slice(run));
        }
        samples.values.clear();
        samples.values.reserve(count);
        self.values.decode((0, count), count, &mut |_, run| samples.values.extend_from_slice(run))
    }
}
