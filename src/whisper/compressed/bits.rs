//! The bit stream of a block: the high bit of a byte comes first, yet the low byte of a number.

/// Reads numbers. Past its end it returns zeros, which [`BitReader::overran`] reports.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, bit: 0 }
    }

    /// The next bits, the first one on top; at least 57 of them are valid.
    #[inline]
    pub(super) fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.bit / 8..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(&word) => u64::from_be_bytes(word),
            None => padded(rest),
        };
        word << (self.bit % 8)
    }

    #[inline]
    pub(super) fn skip(&mut self, count: u32) {
        self.bit += count as usize;
    }

    /// The next `count` bits as a number, 1 to 64.
    #[inline]
    pub(super) fn number(&mut self, count: u32) -> u64 {
        let low = count.min(32);
        let mut number = self.half(low);
        if count > low {
            number |= self.half(count - low) << 32;
        }
        number
    }

    /// Up to 32 bits. Whole bytes come first, the lowest one before all others; what is left over is the highest part.
    #[inline]
    fn half(&mut self, count: u32) -> u64 {
        let bits = self.peek() >> (64 - count);
        self.skip(count);
        let (whole, rest) = (count / 8 * 8, count % 8);
        let low = (bits >> rest).swap_bytes().checked_shr(64 - whole).unwrap_or(0);
        low | (bits & ((1 << rest) - 1)) << whole
    }

    /// Were more bits read than there are?
    pub(super) fn overran(&self) -> bool {
        self.bit > self.bytes.len() * 8
    }
}

#[cold]
fn padded(rest: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(rest).for_each(|(word, byte)| *word = *byte);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_low_byte_first() {
        let mut reader = BitReader::new(&[0x34, 0x12, 0b1010_1111]);
        assert_eq!(reader.number(16), 0x1234);
        assert_eq!(reader.number(3), 0b101);
        assert!(!reader.overran());
        reader.skip(6);
        assert!(reader.overran());
        assert_eq!(reader.number(64), 0);
    }

    #[test]
    fn what_is_more_than_whole_bytes_is_the_high_part() {
        // 0xabc in twelve bits: the byte 0xbc, then the four bits of 0xa.
        assert_eq!(BitReader::new(&[0xbc, 0xa0]).number(12), 0xabc);
        let mut reader = BitReader::new(&[0b0001_0111, 0b1001_0100, 0]);
        reader.skip(3);
        assert_eq!(reader.number(12), 0b1010_1011_1100);
        // 33 bits: four bytes and one bit above them.
        assert_eq!(BitReader::new(&[1, 2, 3, 4, 0x80]).number(33), 0x1_0403_0201);
    }

    #[test]
    fn every_width_is_read_at_every_bit() {
        for width in 1..=64u32 {
            for start in 0..8 {
                let number = 0x9e37_79b9_7f4a_7c15u64 >> (64 - width);
                let bits = (0..start).map(|_| true).chain(stream(number, width));
                let mut bytes = vec![0u8; 10];
                bits.enumerate().for_each(|(at, bit)| bytes[at / 8] |= u8::from(bit) << (7 - at % 8));
                let mut reader = BitReader::new(&bytes);
                reader.skip(start);
                assert_eq!(reader.number(width), number, "{width} bits at {start}");
            }
        }
    }

    /// The bits of a number in the order in which they are written.
    fn stream(number: u64, width: u32) -> Vec<bool> {
        let mut bits = Vec::new();
        for low in (0..width).step_by(8) {
            let high = (low + 8).min(width);
            bits.extend((low..high).rev().map(|bit| number >> bit & 1 == 1));
        }
        bits
    }
}
