//! Frames out of reads: four bytes of length, most significant first, then that many bytes.

/// Memory for an unfinished frame that a connection may keep between frames.
const KEPT_BYTES: usize = 4096;

const HEADER: usize = 4;

/// The unfinished frame of one connection.
#[derive(Debug)]
pub(super) struct Frames {
    max_bytes: usize,
    /// The header and the frame so far. It grows as bytes arrive: a length alone allocates nothing.
    carried: Vec<u8>,
    /// The carried bytes were already returned as a frame.
    given: bool,
}

/// A frame over the limit. The start of the next one cannot be found, so the connection has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    pub(super) bytes: usize,
}

impl Frames {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, carried: Vec::new(), given: false }
    }

    /// The next whole frame, without its header; its bytes are removed from the front of `read`. `None` when more must be
    /// read first; all of `read` has then been consumed.
    pub(super) fn next<'s, 'r: 's>(&'s mut self, read: &mut &'r [u8]) -> Result<Option<&'s [u8]>, TooLarge> {
        if std::mem::take(&mut self.given) {
            self.carried.clear();
            self.carried.shrink_to(KEPT_BYTES);
        }
        if self.carried.is_empty()
            && let Some((header, after)) = read.split_first_chunk()
            && let Some((frame, after)) = after.split_at_checked(self.length(*header)?)
        {
            *read = after;
            return Ok(Some(frame));
        }
        self.carry(read, HEADER);
        let Some(header) = self.carried.first_chunk() else { return Ok(None) };
        let end = HEADER + self.length(*header)?;
        self.carry(read, end);
        if self.carried.len() < end {
            return Ok(None);
        }
        self.given = true;
        Ok(self.carried.get(HEADER..))
    }

    /// The part of a frame that arrived before the connection ended.
    pub(super) fn unfinished(&self) -> &[u8] {
        if self.given { &[] } else { &self.carried }
    }

    fn length(&self, header: [u8; HEADER]) -> Result<usize, TooLarge> {
        let bytes = u32::from_be_bytes(header) as usize;
        if bytes > self.max_bytes { Err(TooLarge { bytes }) } else { Ok(bytes) }
    }

    /// Moves bytes over until `wanted` are carried or the read is used up.
    fn carry(&mut self, read: &mut &[u8], wanted: usize) {
        let missing = wanted.saturating_sub(self.carried.len()).min(read.len());
        let (part, after) = read.split_at(missing);
        self.carried.extend_from_slice(part);
        *read = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(max: usize, reads: &[&[u8]]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut frames = Frames::new(max);
        let mut found = Vec::new();
        for mut read in reads.iter().copied() {
            while let Some(frame) = frames.next(&mut read)? {
                found.push(frame.to_vec());
            }
            assert!(read.is_empty());
        }
        Ok(found)
    }

    #[test]
    fn frames_are_joined_over_reads() {
        let found = run(10, &[b"\0\0\0\x02ab\0\0", b"\0\x03c", b"", b"de\0\0\0\0", b"\0\0\0\x01f"]);
        assert_eq!(found, Ok(vec![b"ab".to_vec(), b"cde".to_vec(), vec![], b"f".to_vec()]));
    }

    #[test]
    fn an_unfinished_frame_is_known() {
        let mut frames = Frames::new(10);
        let mut read = &b"\0\0\0\x02ab\0\0\0\x02c"[..];
        assert_eq!(frames.next(&mut read), Ok(Some(&b"ab"[..])));
        assert_eq!(frames.unfinished(), b"");
        assert_eq!(frames.next(&mut read), Ok(None));
        assert_eq!(frames.unfinished(), b"\0\0\0\x02c");
        assert_eq!(frames.next(&mut &b"d"[..]), Ok(Some(&b"cd"[..])));
        assert_eq!(frames.unfinished(), b"");
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_anything_is_kept() {
        assert_eq!(run(10, &[b"\0\0\0\x0b"]), Err(TooLarge { bytes: 11 }));
        assert_eq!(run(10, &[b"\xff\xff", b"\xff\xff"]), Err(TooLarge { bytes: u32::MAX as usize }));
        let mut frames = Frames::new(1 << 30);
        assert_eq!(frames.next(&mut &b"\x3f\xff\xff\xff"[..]), Ok(None));
        assert!(frames.carried.capacity() < 100);
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..12),
            cut in 1_usize..9,
        ) {
            let mut wire = Vec::new();
            for content in &contents {
                wire.extend_from_slice(&(content.len() as u32).to_be_bytes());
                wire.extend_from_slice(content);
            }
            let reads: Vec<&[u8]> = wire.chunks(cut).collect();
            prop_assert_eq!(run(12, &reads), Ok(contents));
        }
    }
}
