//! The values of a chunk, in whichever form is smallest.

use super::ChunkError;
use super::bits::LANES;
use super::decimal::{self, Packed, Scaler};
use super::varint::{self, Reader};
use super::xor;

/// The values of a chunk, as they are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values<'a> {
    Constant(f64),
    Packed(Packed<'a>),
    Xor(&'a [u8]),
    Raw(&'a [u8]),
}

/// Tags in the first byte of a chunk.
const ZERO: u8 = 0;
const CONSTANT_DECIMAL: u8 = 1;
const CONSTANT: u8 = 2;
const PACKED: u8 = 3;
const XOR: u8 = 4;
const RAW: u8 = 5;

/// Appends the values, at least one, and returns the tag of the form it chose.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
pub(super) fn write(values: &[f64], scaler: &mut Scaler, out: &mut Vec<u8>) -> u8 {
    if values.iter().all(|value| value.to_bits() == values[0].to_bits()) {
        return write_constant(values[0], out);
    }
    match scaler.pack(values) {
        Some(packing) if !xor_beats(packing.len, values) => {
            scaler.write(&packing, out);
            PACKED
        }
        _ => write_xor_or_raw(values, out),
    }
}

fn write_constant(value: f64, out: &mut Vec<u8>) -> u8 {
    if value.to_bits() == 0 {
        return ZERO;
    }
    match decimal::to_code(value) {
        Some(code) if varint::len(code) < 8 => {
            varint::put(code, out);
            CONSTANT_DECIMAL
        }
        _ => {
            out.extend_from_slice(&value.to_bits().to_le_bytes());
            CONSTANT
        }
    }
}

/// Is XOR smaller than `packed` bytes? It needs a dozen bits for each change, so it can only win where values mostly stay
/// the same, and only there is the exact answer worth a pass over the values.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn xor_beats(packed: usize, values: &[f64]) -> bool {
    let least = 8 + (values.len() - 1).div_ceil(8);
    if packed <= least {
        return false;
    }
    let changes =
        values.windows(2).map(|pair| usize::from(pair[0].to_bits() != pair[1].to_bits())).sum::<usize>();
    changes * 4 <= values.len() && xor::len(values) < packed
}

fn write_xor_or_raw(values: &[f64], out: &mut Vec<u8>) -> u8 {
    let start = out.len();
    xor::write(values, out);
    if out.len() - start < values.len() * 8 {
        return XOR;
    }
    out.truncate(start);
    values.iter().for_each(|value| out.extend_from_slice(&value.to_bits().to_le_bytes()));
    RAW
}

impl<'a> Values<'a> {
    /// Reads all of `bytes` as `count` values in the form tagged `tag`.
    pub(super) fn read(tag: u8, bytes: &'a [u8], count: usize) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(bytes);
        let constant = match tag {
            ZERO => Some(0.0),
            CONSTANT_DECIMAL => reader.varint().and_then(decimal::from_code),
            CONSTANT => reader.u64().map(f64::from_bits),
            PACKED => return Packed::read(bytes, count).map(Values::Packed),
            XOR => return Ok(Values::Xor(bytes)),
            RAW if bytes.len() == count * 8 => return Ok(Values::Raw(bytes)),
            _ => None,
        };
        let whole = constant.filter(|_| reader.rest().is_empty());
        whole.map(Values::Constant).ok_or(ChunkError::Malformed("its values make no sense"))
    }

    /// Passes on values `from..until` of `count` (and maybe some around them) run by run: the position of the first, and
    /// the run.
    pub(super) fn decode(
        &self,
        (from, until): (usize, usize),
        count: usize,
        sink: &mut impl FnMut(usize, &[f64]),
    ) -> Result<(), ChunkError> {
        match self {
            Values::Constant(value) => {
                let run = [*value; LANES];
                (from..until).step_by(LANES).for_each(|at| sink(at, run.get(..until - at).unwrap_or(&run)));
            }
            Values::Packed(packed) => packed.decode(from, until, sink),
            Values::Xor(bytes) => xor::decode(bytes, count, until, sink)?,
            Values::Raw(bytes) => {
                let mut run = [0.0; LANES];
                let wanted = bytes.get(from * 8..until * 8).unwrap_or_default();
                for (i, words) in wanted.chunks(LANES * 8).enumerate() {
                    let (words, _) = words.as_chunks();
                    for (value, &word) in run.iter_mut().zip(words) {
                        *value = f64::from_bits(u64::from_le_bytes(word));
                    }
                    sink(from + i * LANES, run.get(..words.len()).unwrap_or(&run));
                }
            }
        }
        Ok(())
    }
}
