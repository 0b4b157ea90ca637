//! The counts of an aggregated chunk: one for all, or bit-packed above the smallest.
//!
//! Counts are rotated by one bit first: bit 31 is the flag of a directly written slot, and as the lowest bit it costs one
//! bit per slot instead of thirty-two.

use super::ChunkError;
use super::bits::{self, LANES};
use super::varint::{self, Reader};

/// The counts of a chunk, as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counts<'a> {
    Constant(u32),
    Packed { base: u32, width: u32, body: &'a [u8] },
}

/// Tags in the first byte of a chunk.
pub(super) const NONE: u8 = 0;
const CONSTANT: u8 = 1;
const PACKED: u8 = 2;

/// Appends the counts, at least one, and returns the tag of the form it chose.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
pub(super) fn write(counts: &[u32], out: &mut Vec<u8>) -> u8 {
    let (base, top) = counts.iter().fold((u32::MAX, 0), |(low, high), &count| {
        let turned = count.rotate_left(1);
        (low.min(turned), high.max(turned))
    });
    varint::put(u64::from(base), out);
    if base == top {
        return CONSTANT;
    }
    let width = bits::width_of(u64::from(top - base));
    out.push(width as u8);
    let mut lanes = [0; LANES];
    for run in counts.chunks(LANES) {
        for (lane, count) in lanes.iter_mut().zip(run) {
            *lane = u64::from(count.rotate_left(1) - base);
        }
        bits::pack(&lanes[..run.len()], width, out);
    }
    PACKED
}

impl<'a> Counts<'a> {
    /// Reads `count` counts in the form tagged `tag`.
    pub(super) fn read(tag: u8, count: usize, reader: &mut Reader<'a>) -> Result<Self, ChunkError> {
        Self::try_read(tag, count, reader).ok_or(ChunkError::Malformed("its counts make no sense"))
    }

    fn try_read(tag: u8, count: usize, reader: &mut Reader<'a>) -> Option<Self> {
        let base = reader.varint_u32()?;
        match tag {
            CONSTANT => Some(Counts::Constant(base.rotate_right(1))),
            PACKED => {
                let width = reader.byte().map(u32::from).filter(|&width| width <= 32)?;
                let body = reader.take(bits::packed_len(count, width))?;
                Some(Counts::Packed { base, width, body })
            }
            _ => None,
        }
    }

    /// Passes on counts `from..until` (and maybe some around them) run by run: position of the first, and the run.
    pub(super) fn decode(&self, from: usize, until: usize, sink: &mut impl FnMut(usize, &[u32])) {
        let mut run = [0; LANES];
        if let Counts::Constant(count) = *self {
            run = [count; LANES];
        }
        let mut lanes = [0; LANES];
        for at in (from / LANES * LANES..until).step_by(LANES) {
            let len = (until - at).min(LANES);
            if let Counts::Packed { base, width, body } = *self {
                let (lanes, _) = lanes.split_at_mut(len);
                bits::unpack(body.get(bits::packed_len(at, width)..).unwrap_or_default(), width, lanes);
                for (count, &lane) in run.iter_mut().zip(lanes.iter()) {
                    *count = base.wrapping_add(lane as u32).rotate_right(1);
                }
            }
            sink(at, run.get(..len).unwrap_or(&run));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(counts: &[u32]) -> usize {
        let mut bytes = Vec::new();
        let tag = write(counts, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let form = Counts::read(tag, counts.len(), &mut reader).unwrap();
        assert!(reader.rest().is_empty());
        let mut back = vec![0; counts.len()];
        form.decode(0, counts.len(), &mut |at, run| back[at..at + run.len()].copy_from_slice(run));
        assert_eq!(back, counts);
        bytes.len()
    }

    #[test]
    fn counts_round_trip_and_stay_small() {
        assert_eq!(round_trip(&[60; 100]), 1);
        assert_eq!(round_trip(&[60, 60, 59, 60]), 3);
        assert_eq!(round_trip(&[1 | 1 << 31; 9]), 1, "the flag costs nothing when all have it");
        assert_eq!(round_trip(&[1, 1 | 1 << 31, 1, 1, 1, 1, 1, 1]), 3, "and a bit when some do");
        assert_eq!(round_trip(&[0, u32::MAX, 1 << 31, 7]), 18);
        round_trip(&(0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn impossible_counts_are_refused() {
        for (tag, bytes) in [(CONSTANT, &[][..]), (PACKED, &[0, 33]), (PACKED, &[0, 8, 1]), (3, &[0, 0])] {
            assert!(Counts::read(tag, 2, &mut Reader::new(bytes)).is_err(), "{tag} {bytes:?}");
        }
    }
}
