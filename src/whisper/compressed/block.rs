//! One block of compressed points, and the entry for it in the index of blocks.

use plumbago_model::Point;

use super::bits::BitReader;
use crate::whisper::fields::{Fields, point};
use crate::whisper::{POINT_BYTES, ReadError};

/// Bytes of an entry in the index of blocks.
pub(super) const ENTRY_BYTES: u64 = 16;

/// What the index says about a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Time stamp of its first point, or 0 if it is empty.
    pub(super) start: u32,
    /// Points in it, without the first.
    pub(super) count: u32,
    /// Checksum of its bytes.
    pub(super) crc: u32,
}

impl Block {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, ReadError> {
        let start = fields.u32()?;
        // The time stamp of the last point: the points say it themselves.
        fields.u32()?;
        Ok(Self { start, count: fields.u32()?, crc: fields.u32()? })
    }
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// Too short for a point, or a point that was never written.
    #[error("it has no first point: the file is damaged")]
    NoPoint,
    /// A time stamp between two slots.
    #[error("it has a point at {timestamp}, which is no multiple of {step} s: the file is damaged")]
    Unaligned {
        /// The time stamp.
        timestamp: u32,
        /// Seconds per point.
        step: u32,
    },
    /// Time stamps do not grow.
    #[error("a point at {timestamp} follows one at {before}: the file is damaged")]
    Order {
        /// The time stamp.
        timestamp: i64,
        /// The one before.
        before: u32,
    },
    /// The changed bits of a value lie outside of it.
    #[error("the point at {timestamp} changes bits outside of a value: the file is damaged")]
    Bits {
        /// The time stamp.
        timestamp: u32,
    },
    /// No mark at the end.
    #[error("it ends without an end mark: the file is damaged")]
    NoEnd,
    /// The last byte is not the one that the header has.
    #[error(
        "its last byte is {found:02x}, but the header has {stated:02x}: go-carbon is writing the file, or it is damaged; \
         stop go-carbon or read a copy"
    )]
    LastByte {
        /// What the header says.
        stated: u8,
        /// What is in the block.
        found: u8,
    },
    /// Another number of points than the index says.
    #[error("it has {found} points instead of {stated}: the file is damaged")]
    Count {
        /// What the index says.
        stated: u64,
        /// What is in it.
        found: u64,
    },
}

/// Decodes a block of points that are `step` seconds apart or a multiple of it. Every point costs at least two bits.
pub fn decode(bytes: &[u8], step: u32, mut take: impl FnMut(Point)) -> Result<(), BlockError> {
    let (first, rest) = bytes.split_first_chunk::<POINT_BYTES>().ok_or(BlockError::NoPoint)?;
    let mut last = point(first);
    if last.timestamp == 0 || step == 0 {
        return Err(BlockError::NoPoint);
    }
    aligned(last.timestamp, step)?;
    take(last);
    let mut state = State { last, before: last };
    let mut reader = BitReader::new(rest);
    while let Some(timestamp) = state.timestamp(&mut reader, step)? {
        let value = state.value(&mut reader).ok_or(BlockError::Bits { timestamp })?;
        // A block without an end mark would go on with zeros, which are valid points.
        if reader.overran() {
            return Err(BlockError::NoEnd);
        }
        last = Point { timestamp, value };
        take(last);
        state = State { last, before: state.last };
    }
    Ok(())
}

/// The last two points: the next one is written as the difference to them.
struct State {
    last: Point,
    before: Point,
}

impl State {
    /// The next time stamp, or `None` at the end mark.
    ///
    /// A prefix of up to four bits says how many bits follow. They are a sign and by how many steps the distance to the last
    /// point differs from the one before it; or, with the longest prefix, the time stamp itself, where 0 is the end mark.
    #[inline]
    fn timestamp(&self, reader: &mut BitReader<'_>, step: u32) -> Result<Option<u32>, BlockError> {
        let change = match (reader.peek() >> 60) as u8 {
            0b0000..=0b0111 => {
                reader.skip(1);
                0
            }
            0b1000..=0b1011 => signed(reader, 2, 7),
            0b1100..=0b1101 => signed(reader, 3, 9),
            0b1110 => signed(reader, 4, 12),
            _ => return self.whole_timestamp(reader, step),
        };
        if reader.overran() {
            return Err(BlockError::NoEnd);
        }
        let (last, before) = (i64::from(self.last.timestamp), i64::from(self.before.timestamp));
        let next = 2 * last - before + change * i64::from(step);
        self.later(next).map(Some)
    }

    #[cold]
    fn whole_timestamp(&self, reader: &mut BitReader<'_>, step: u32) -> Result<Option<u32>, BlockError> {
        reader.skip(4);
        let timestamp = reader.number(32) as u32;
        if reader.overran() {
            return Err(BlockError::NoEnd);
        }
        if timestamp == 0 {
            return Ok(None);
        }
        aligned(timestamp, step)?;
        self.later(timestamp.into()).map(Some)
    }

    #[inline]
    fn later(&self, next: i64) -> Result<u32, BlockError> {
        let before = self.last.timestamp;
        let later = u32::try_from(next).ok().filter(|&next| next > before);
        later.ok_or(BlockError::Order { timestamp: next, before })
    }

    /// The next value: the bits in which it differs from the last one. `None` if they lie outside of a value.
    #[inline]
    fn value(&self, reader: &mut BitReader<'_>) -> Option<f64> {
        let last = self.last.value.to_bits();
        let changed = match (reader.peek() >> 62) as u8 {
            0b00 | 0b01 => {
                reader.skip(1);
                0
            }
            0b10 => {
                reader.skip(2);
                // Within the bits in which the last two values differ.
                let window = last ^ self.before.value.to_bits();
                let width = 64u32.checked_sub(window.leading_zeros() + window.trailing_zeros())?;
                reader.number(width) << window.trailing_zeros()
            }
            _ => {
                reader.skip(2);
                own_window(reader)?
            }
        };
        Some(f64::from_bits(last ^ changed))
    }
}

/// Changed bits with a window of their own: five bits for the zeros before it, six for its width. The width 63 means all 64 bits.
#[inline]
fn own_window(reader: &mut BitReader<'_>) -> Option<u64> {
    let zeros = reader.number(5) as u32;
    match reader.number(6) as u32 {
        0 => None,
        63 => Some(reader.number(64)),
        width => {
            let behind = 64u32.checked_sub(zeros + width)?;
            Some(reader.number(width) << behind)
        }
    }
}

/// A sign and a number, with `width` bits for both, behind a prefix.
#[inline]
fn signed(reader: &mut BitReader<'_>, prefix: u32, width: u32) -> i64 {
    reader.skip(prefix);
    let bits = reader.number(width).cast_signed();
    let sign = 1 << (width - 1);
    if bits & sign == 0 { bits } else { -(bits & (sign - 1)) }
}

fn aligned(timestamp: u32, step: u32) -> Result<(), BlockError> {
    if timestamp.is_multiple_of(step) { Ok(()) } else { Err(BlockError::Unaligned { timestamp, step }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a block by hand, field by field.
    struct Writer {
        bytes: Vec<u8>,
        bits: Vec<bool>,
    }

    impl Writer {
        fn new(timestamp: u32, value: f64) -> Self {
            let bytes = [&timestamp.to_be_bytes()[..], &value.to_be_bytes()].concat();
            Self { bytes, bits: Vec::new() }
        }

        fn prefix(mut self, bits: &str) -> Self {
            self.bits.extend(bits.chars().map(|bit| bit == '1'));
            self
        }

        fn number(mut self, number: u64, width: u32) -> Self {
            for low in (0..width).step_by(8) {
                let high = (low + 8).min(width);
                self.bits.extend((low..high).rev().map(|bit| number >> bit & 1 == 1));
            }
            self
        }

        fn end(self) -> Vec<u8> {
            self.prefix("1111").number(0, 32).cut()
        }

        fn cut(mut self) -> Vec<u8> {
            for bits in self.bits.chunks(8) {
                self.bytes.push((0..).zip(bits).fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at)));
            }
            self.bytes
        }
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<(u32, f64)>, BlockError> {
        let mut points = Vec::new();
        decode(bytes, 10, |point| points.push((point.timestamp, point.value))).map(|()| points)
    }

    #[test]
    fn equal_distances_and_values_cost_two_bits() {
        let block = Writer::new(100, 1.5).prefix("1111").number(110, 32).prefix("0");
        let block = block.prefix("00").prefix("00").end();
        assert_eq!(decoded(&block).unwrap(), [(100, 1.5), (110, 1.5), (120, 1.5), (130, 1.5)]);
    }

    #[test]
    fn distances_change_by_steps_in_three_widths() {
        let block = Writer::new(1_000_000, 1.0).prefix("10").number(2, 7).prefix("0");
        let block = block.prefix("10").number(64 | 1, 7).prefix("0");
        let block = block.prefix("110").number(255, 9).prefix("0");
        let block = block.prefix("110").number(256 | 254, 9).prefix("0");
        let block = block.prefix("1110").number(2047, 12).prefix("0");
        let block = block.prefix("1110").number(2048 | 2046, 12).prefix("0").end();
        let times: Vec<u32> = decoded(&block).unwrap().iter().map(|(t, _)| *t).collect();
        let steps: Vec<u32> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 10).collect();
        assert_eq!(steps, [2, 1, 256, 2, 2049, 3]);
    }

    #[test]
    fn values_change_inside_a_window() {
        let (a, b, c) = (1.0f64, 1.25f64, 1.75f64);
        let (first, second) = (a.to_bits() ^ b.to_bits(), b.to_bits() ^ c.to_bits());
        assert_eq!((first.leading_zeros(), first.trailing_zeros()), (13, 50));
        assert_eq!(second.trailing_zeros(), 51);
        let block = Writer::new(100, a).prefix("1111").number(110, 32);
        let block = block.prefix("11").number(13, 5).number(1, 6).number(first >> 50, 1);
        let block = block.prefix("0").prefix("11").number(12, 5).number(1, 6).number(second >> 51, 1);
        let block = block.prefix("0").prefix("10").number(second >> 51, 1).end();
        assert_eq!(decoded(&block).unwrap(), [(100, a), (110, b), (120, c), (130, b)]);
    }

    #[test]
    fn a_window_may_be_the_whole_value() {
        let (a, b) = (f64::from_bits(1), f64::from_bits(1 << 63));
        let block = Writer::new(100, a).prefix("1111").number(110, 32);
        let block = block.prefix("11").number(0, 5).number(63, 6).number(1 << 63 | 1, 64).end();
        let points = decoded(&block).unwrap();
        assert_eq!(points[1].1.to_bits(), b.to_bits());
    }

    #[test]
    fn blocks_that_end_early_are_refused() {
        let block = Writer::new(100, 1.5).prefix("1111").number(110, 32).prefix("0").end();
        for len in 0..block.len() {
            let wanted = if len < POINT_BYTES { BlockError::NoPoint } else { BlockError::NoEnd };
            let found = decoded(&block[..len]).unwrap_err();
            assert!(found == wanted, "{len} bytes: {found:?}");
        }
        assert_eq!(decoded(&[block, vec![0xff; 9]].concat()).unwrap().len(), 2, "old bytes may follow");
    }

    #[test]
    fn times_that_do_not_grow_and_bits_outside_are_refused() {
        assert_eq!(decoded(&Writer::new(0, 1.0).end()), Err(BlockError::NoPoint));
        assert_eq!(
            decoded(&Writer::new(101, 1.0).end()),
            Err(BlockError::Unaligned { timestamp: 101, step: 10 })
        );
        let same = Writer::new(100, 1.0).prefix("0").end();
        assert_eq!(decoded(&same), Err(BlockError::Order { timestamp: 100, before: 100 }));
        let back = Writer::new(100, 1.0).prefix("1111").number(90, 32).end();
        assert_eq!(decoded(&back), Err(BlockError::Order { timestamp: 90, before: 100 }));
        let late = Writer::new(4_294_967_290, 1.0).prefix("10").number(1, 7).end();
        assert_eq!(
            decoded(&late),
            Err(BlockError::Order { timestamp: 4_294_967_300, before: 4_294_967_290 })
        );
        let between = Writer::new(100, 1.0).prefix("1111").number(111, 32).end();
        assert_eq!(decoded(&between), Err(BlockError::Unaligned { timestamp: 111, step: 10 }));
        let wrong = Err(BlockError::Bits { timestamp: 110 });
        let next = || Writer::new(100, 1.0).prefix("1111").number(110, 32);
        assert_eq!(decoded(&next().prefix("10").end()), wrong, "no window yet");
        assert_eq!(decoded(&next().prefix("11").number(31, 5).number(40, 6).end()), wrong, "too wide");
        assert_eq!(decoded(&next().prefix("11").number(31, 5).number(0, 6).end()), wrong, "nothing changed");
    }
}
