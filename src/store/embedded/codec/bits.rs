//! Bit-packing, low bits first: runs of numbers of one width, and a bit stream.

/// Numbers per run. Any multiple of 8 numbers ends at a byte boundary, so each run starts at one.
pub(super) const LANES: usize = 32;

/// Widest number that one unaligned 8-byte load can return, whichever bit it starts at.
pub(super) const MAX_WIDTH: u32 = 57;

/// Bytes of a run at the widest, and the 8 more that the last load may touch.
const PADDED: usize = LANES * MAX_WIDTH as usize / 8 + 8;

/// Bits needed for the numbers `0..=max`.
pub(super) fn width_of(max: u64) -> u32 {
    64 - max.leading_zeros()
}

/// Bytes that `count` numbers of `width` bits take.
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends numbers below `2^width`.
#[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
pub(super) fn pack(numbers: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!(width <= MAX_WIDTH && numbers.iter().all(|&n| width_of(n) <= width));
    let (mut word, mut used) = (0u64, 0);
    for &n in numbers {
        word |= n << used;
        used += width;
        if used >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            word = n >> (width - used);
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
}

/// Fills `numbers`, at most [`LANES`] of them, from the front of `bytes`, which must hold them.
pub(super) fn unpack(bytes: &[u8], width: u32, numbers: &mut [u64]) {
    let need = packed_len(numbers.len(), width);
    debug_assert!(width <= MAX_WIDTH && numbers.len() <= LANES && need <= bytes.len());
    if bytes.len() >= need + 8 {
        unpack_padded(bytes, width, numbers);
    } else {
        let mut padded = [0; PADDED];
        padded.iter_mut().zip(bytes).for_each(|(padded, byte)| *padded = *byte);
        unpack_padded(&padded, width, numbers);
    }
}

fn unpack_padded(bytes: &[u8], width: u32, numbers: &mut [u64]) {
    // A load begins with up to 7 bits of the number before. It has as many numbers as fit into the other 57.
    match width {
        0..=7 => unpack_each::<8>(bytes, width, numbers),
        8..=14 => unpack_each::<4>(bytes, width, numbers),
        15..=28 => unpack_each::<2>(bytes, width, numbers),
        _ => unpack_each::<1>(bytes, width, numbers),
    }
}

/// Takes `LOADED` numbers from each load.
fn unpack_each<const LOADED: usize>(bytes: &[u8], width: u32, numbers: &mut [u64]) {
    let mask = (1u64 << width) - 1;
    let mut bit = 0;
    for numbers in numbers.chunks_mut(LOADED) {
        let mut word = load(bytes, bit / 8) >> (bit % 8);
        for n in numbers {
            *n = word & mask;
            word >>= width;
        }
        bit += LOADED * width as usize;
    }
}

/// Eight bytes from `at` on; bytes beyond the end are zero.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at.saturating_add(8)).and_then(|word| word.first_chunk()) {
        Some(&word) => u64::from_le_bytes(word),
        None => load_end(bytes, at),
    }
}

#[cold]
fn load_end(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    word.iter_mut().zip(rest).for_each(|(word, byte)| *word = *byte);
    u64::from_le_bytes(word)
}

/// Appends a stream of bits.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, word: 0, used: 0 }
    }

    /// Appends the low `count` bits, 1 to 64; the others must be zero.
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        self.word |= bits << self.used;
        self.used += count;
        if self.used >= 64 {
            self.out.extend_from_slice(&self.word.to_le_bytes());
            self.used -= 64;
            // If all 64 bits were written at once, the shift is 64 and nothing is left.
            self.word = bits.checked_shr(count - self.used).unwrap_or(0);
        }
    }

    /// Pads the last byte with zeros.
    #[expect(clippy::indexing_slicing, reason = "it writes our own numbers, and knows how many there are")]
    pub(super) fn finish(self) {
        self.out.extend_from_slice(&self.word.to_le_bytes()[..self.used.div_ceil(8) as usize]);
    }
}

/// Reads a stream of bits. Past its end it returns zeros, which [`BitReader::ended_well`] reports.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit: 0 }
    }

    /// The next bits, of which the low [`MAX_WIDTH`] are valid.
    #[inline]
    pub(super) fn peek(&self) -> u64 {
        load(self.bytes, self.bit / 8) >> (self.bit % 8)
    }

    #[inline]
    pub(super) fn skip(&mut self, count: u32) {
        self.bit += count as usize;
    }

    /// The next `count` bits, 1 to 64.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u64 {
        let low = count.min(32);
        let mut bits = self.peek() & ((1u64 << low) - 1);
        self.skip(low);
        if count > low {
            bits |= (self.peek() & ((1u64 << (count - low)) - 1)) << low;
            self.skip(count - low);
        }
        bits
    }

    /// Were more bits read than there are?
    pub(super) fn overran(&self) -> bool {
        self.bit > self.bytes.len() * 8
    }

    /// Was everything read, down to the last byte, and not more?
    pub(super) fn ended_well(&self) -> bool {
        self.bit.div_ceil(8) == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_and_length_round_trips() {
        for width in 0..=MAX_WIDTH {
            for count in [1, 2, 7, 31, 32] {
                let mask = (1u64 << width) - 1;
                let numbers: Vec<u64> =
                    (0..count).map(|i| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i + 1) & mask).collect();
                let mut bytes = Vec::new();
                pack(&numbers, width, &mut bytes);
                assert_eq!(bytes.len(), packed_len(numbers.len(), width));
                for padding in [0, 1, 7, 8, 9] {
                    let padded = [bytes.clone(), vec![0xff; padding]].concat();
                    let mut back = vec![0; numbers.len()];
                    unpack(&padded, width, &mut back);
                    assert_eq!(back, numbers, "width {width}, count {count}, padding {padding}");
                }
            }
        }
    }

    #[test]
    fn bit_streams_round_trip_and_notice_their_end() {
        let fields: Vec<(u64, u32)> =
            (1..=64).chain([64, 64, 1, 63]).map(|n| (u64::MAX >> (64 - n) & !2, n)).collect();
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        fields.iter().for_each(|&(bits, count)| writer.put(bits, count));
        writer.finish();
        let mut reader = BitReader::new(&bytes);
        for &(bits, count) in &fields {
            assert!(!reader.ended_well());
            assert_eq!(reader.take(count), bits, "{count}");
        }
        assert!(reader.ended_well() && !reader.overran());
        reader.skip(8);
        assert!(reader.overran() && !reader.ended_well());
        assert_eq!(reader.take(64), 0);
    }
}
