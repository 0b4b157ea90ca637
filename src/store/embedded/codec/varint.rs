//! Variable-length integers: seven bits per byte, low bits first, and a reader that never runs past its end.

/// Appends `n` in 1 to 10 bytes.
pub(crate) fn put(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// How many bytes [`put`] appends.
pub(crate) fn len(n: u64) -> usize {
    (64 - (n | 1).leading_zeros() as usize).div_ceil(7)
}

/// Maps small numbers of either sign to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
pub(crate) fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Undoes [`zigzag`].
pub(crate) fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Reads numbers from the front of some bytes. `None` always means that the bytes end too early or the number is too large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut n = 0;
        for (i, &byte) in self.rest.iter().enumerate().take(10) {
            if i == 9 && byte > 1 {
                return None;
            }
            n |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = self.rest.get(i + 1..)?;
                return Some(n);
            }
        }
        None
    }

    pub(crate) fn varint_u32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    pub(crate) fn zigzag(&mut self) -> Option<i64> {
        self.varint().map(unzigzag)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (&head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_le_bytes(head))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (&head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_in_the_length_foretold() {
        for n in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 62, u64::MAX] {
            let mut bytes = Vec::new();
            put(n, &mut bytes);
            assert_eq!(bytes.len(), len(n), "{n}");
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint(), Some(n));
            assert!(reader.rest().is_empty());
        }
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(n)), n);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }

    #[test]
    fn short_or_oversized_numbers_are_refused() {
        assert_eq!(Reader::new(&[]).varint(), None);
        assert_eq!(Reader::new(&[0x80]).varint(), None);
        assert_eq!(Reader::new(&[0xff; 10]).varint(), None);
        assert_eq!(Reader::new(&[0xff; 11]).varint(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x10]).varint_u32(), None);
        assert_eq!(Reader::new(&[1, 2, 3]).u32(), None);
        assert_eq!(Reader::new(&[1, 2]).take(3), None);
    }
}
