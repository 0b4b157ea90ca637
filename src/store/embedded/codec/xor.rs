//! Values as the bits that changed since the previous one: for numbers with no short decimal form.
//!
//! The scheme is that of Facebook's Gorilla: a value equal to its predecessor is one bit; otherwise the changed bits,
//! either within the window of the last ones (two bits more) or within a window of their own (fourteen bits more).

use super::ChunkError;
use super::bits::{BitReader, BitWriter, LANES};

/// Bits of a new window: two of control, six for the leading zeros, six for the length minus one.
const NEW_WINDOW: u32 = 14;

/// Appends all values, at least one.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
pub(super) fn write(values: &[f64], out: &mut Vec<u8>) {
    out.extend_from_slice(&values[0].to_bits().to_le_bytes());
    let mut writer = BitWriter::new(out);
    each_field(values, |bits, count| writer.put(bits, count));
    writer.finish();
}

/// How many bytes [`write()`] appends.
pub(super) fn len(values: &[f64]) -> usize {
    let mut bits = 0;
    each_field(values, |_, count| bits += count as usize);
    8 + bits.div_ceil(8)
}

/// The bit fields of all values except the first.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
fn each_field(values: &[f64], mut field: impl FnMut(u64, u32)) {
    // An empty window: no change fits into it, so the first change opens a new one.
    let (mut lead, mut trail) = (64, 64);
    let mut previous = values[0].to_bits();
    for value in &values[1..] {
        let changed = value.to_bits() ^ previous;
        previous = value.to_bits();
        if changed == 0 {
            field(0, 1);
            continue;
        }
        let (zeros_before, zeros_after) = (changed.leading_zeros(), changed.trailing_zeros());
        let own = 64 - zeros_before - zeros_after;
        let fits = zeros_before >= lead && zeros_after >= trail;
        if fits && 64 - lead - trail < own + NEW_WINDOW - 2 {
            field(0b01, 2);
            field(changed >> trail, 64 - lead - trail);
        } else {
            (lead, trail) = (zeros_before, zeros_after);
            field(0b11 | u64::from(lead) << 2 | u64::from(own - 1) << 8, NEW_WINDOW);
            field(changed >> trail, own);
        }
    }
}

/// Passes on the first `until` of `count` values run by run: position of the first, and the run.
pub(super) fn decode(
    bytes: &[u8],
    count: usize,
    until: usize,
    sink: &mut impl FnMut(usize, &[f64]),
) -> Result<(), ChunkError> {
    const TORN: ChunkError = ChunkError::Malformed("its values end too early or too late");
    let (&first, bytes) = bytes.split_first_chunk().ok_or(TORN)?;
    let mut value = u64::from_le_bytes(first);
    let mut reader = BitReader::new(bytes);
    let (mut own, mut trail) = (0, 0);
    let mut run = [f64::from_bits(value); LANES];
    for at in (0..until).step_by(LANES) {
        let len = (until - at).min(LANES);
        for (i, out) in run.iter_mut().take(len).enumerate() {
            if at + i > 0 {
                value ^= change(&mut reader, &mut own, &mut trail)?;
            }
            *out = f64::from_bits(value);
        }
        if reader.overran() {
            return Err(TORN);
        }
        sink(at, run.get(..len).unwrap_or(&run));
    }
    if until == count && !reader.ended_well() { Err(TORN) } else { Ok(()) }
}

/// The changed bits of the next value.
#[inline]
fn change(reader: &mut BitReader<'_>, own: &mut u32, trail: &mut u32) -> Result<u64, ChunkError> {
    let bits = reader.peek();
    if bits & 1 == 0 {
        reader.skip(1);
        return Ok(0);
    }
    if bits & 2 == 0 {
        reader.skip(2);
    } else {
        reader.skip(NEW_WINDOW);
        let lead = (bits >> 2) as u32 & 63;
        *own = ((bits >> 8) as u32 & 63) + 1;
        *trail = 64u32
            .checked_sub(lead + *own)
            .ok_or(ChunkError::Malformed("its windows are wider than a value"))?;
    }
    if *own == 0 {
        return Err(ChunkError::Malformed("it refers to a window before any was opened"));
    }
    Ok(reader.take(*own) << *trail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[f64]) -> usize {
        let mut bytes = Vec::new();
        write(values, &mut bytes);
        assert_eq!(bytes.len(), len(values));
        let mut back = Vec::new();
        decode(&bytes, values.len(), values.len(), &mut |_, run| back.extend_from_slice(run)).unwrap();
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(values));
        bytes.len()
    }

    #[test]
    fn values_round_trip_bit_for_bit() {
        round_trip(&[0.1 + 0.2]);
        round_trip(&[f64::NAN, f64::INFINITY, -0.0, 0.0, f64::MIN_POSITIVE, -f64::MAX, f64::from_bits(1)]);
        round_trip(&(0..500).map(|i| f64::from(i).sin()).collect::<Vec<_>>());
        assert_eq!(round_trip(&[std::f64::consts::PI; 81]), 8 + 10, "a bit for each repetition");
        let sign_flips: Vec<f64> = (0..65).map(|i| if i % 2 == 0 { 1.5 } else { -1.5 }).collect();
        assert_eq!(round_trip(&sign_flips), 8 + (14 + 1 + 63 * 3u32).div_ceil(8) as usize);
    }

    #[test]
    fn torn_or_senseless_bits_are_refused() {
        let mut bytes = Vec::new();
        write(&[1.1, 2.2, 3.3], &mut bytes);
        let refused = |bytes: &[u8]| decode(bytes, 3, 3, &mut |_, _| {}).is_err();
        assert!(!refused(&bytes));
        for len in 0..bytes.len() {
            assert!(refused(&bytes[..len]), "{len}");
        }
        assert!(refused(&[&bytes[..], &[0]].concat()), "more than three values need");
        assert!(refused(&[0, 0, 0, 0, 0, 0, 0, 0, 0b01]), "no window yet");
        assert!(refused(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff]), "window wider than a value");
    }
}
