//! Lines out of reads: a line may be spread over several reads, and one that is too long costs no memory.

use memchr::{memchr, memrchr};

/// Memory for an unfinished line that a connection may keep between reads.
const KEPT_BYTES: usize = 4096;

/// The unfinished line of one connection.
#[derive(Debug)]
pub(super) struct Lines {
    max_bytes: usize,
    /// The line that the last read finished.
    joined: Vec<u8>,
    /// The bytes after the last line feed; never more than `max_bytes`.
    tail: Vec<u8>,
    /// True while the rest of a line that was too long is being dropped.
    skipping: bool,
}

/// The whole lines of one read, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole<'a> {
    /// The line that earlier reads started; empty if there is none.
    pub(super) joined: &'a [u8],
    /// The lines that are completely in this read.
    pub(super) rest: &'a [u8],
}

impl Lines {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, joined: Vec::new(), tail: Vec::new(), skipping: false }
    }

    /// Consumes a read. Calls `too_long` with the start of an unfinished line once it exceeds the limit; that line is then
    /// dropped. (The parser checks the length of whole lines.)
    pub(super) fn feed<'a>(&'a mut self, read: &'a [u8], too_long: impl FnMut(&[u8])) -> Whole<'a> {
        self.release();
        let Some(first_end) = memchr(b'\n', read).map(|at| at + 1) else {
            self.carry(read, too_long);
            return Whole { joined: &[], rest: &[] };
        };
        let mut rest = read;
        if self.skipping || !self.tail.is_empty() {
            let end;
            (end, rest) = read.split_at(first_end);
            if !self.skipping {
                std::mem::swap(&mut self.joined, &mut self.tail);
                self.joined.extend_from_slice(end);
            }
            self.skipping = false;
        }
        let last_end = memrchr(b'\n', rest).map_or(0, |at| at + 1);
        let (rest, unfinished) = rest.split_at(last_end);
        self.carry(unfinished, too_long);
        Whole { joined: &self.joined, rest }
    }

    /// Gives the memory of the line back that the last read finished. A connection may be silent for long.
    pub(super) fn release(&mut self) {
        self.joined.clear();
        self.joined.shrink_to(KEPT_BYTES);
    }

    /// The line that was not finished when the connection ended.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.tail
    }

    fn carry(&mut self, part: &[u8], mut too_long: impl FnMut(&[u8])) {
        if self.skipping {
            return;
        }
        let room = self.max_bytes.saturating_sub(self.tail.len());
        if part.len() > room {
            too_long(if self.tail.is_empty() { part } else { &self.tail });
            self.skipping = true;
            self.tail = Vec::new();
        } else {
            self.tail.extend_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the reads; returns the whole lines, and how many were too long.
    fn run(max: usize, reads: &[&[u8]]) -> (Vec<u8>, usize, Vec<u8>) {
        let mut lines = Lines::new(max);
        let (mut whole, mut long) = (Vec::new(), 0);
        for read in reads {
            let found = lines.feed(read, |_| long += 1);
            assert!(found.joined.is_empty() || found.joined.ends_with(b"\n"));
            assert!(found.rest.is_empty() || found.rest.ends_with(b"\n"));
            whole.extend_from_slice(found.joined);
            whole.extend_from_slice(found.rest);
            assert!(lines.tail.len() <= max);
        }
        (whole, long, lines.unfinished().to_vec())
    }

    #[test]
    fn lines_are_joined_over_reads() {
        assert_eq!(run(10, &[b"ab", b"c\nde", b"\n", b"f"]), (b"abc\nde\n".to_vec(), 0, b"f".to_vec()));
        assert_eq!(run(10, &[b"a\nb\nc\n"]), (b"a\nb\nc\n".to_vec(), 0, vec![]));
        assert_eq!(run(10, &[b"", b"\n\n"]), (b"\n\n".to_vec(), 0, vec![]));
    }

    #[test]
    fn a_line_without_end_is_dropped_once() {
        assert_eq!(run(4, &[b"abcde", b"fghij", b"k\nok\nx"]), (b"ok\n".to_vec(), 1, b"x".to_vec()));
        assert_eq!(run(4, &[b"ab", b"cde", b"\nok\n"]), (b"ok\n".to_vec(), 1, vec![]));
        assert_eq!(run(4, &[b"a\nbcdefg", b"\n"]), (b"a\n".to_vec(), 1, vec![]));
        assert_eq!(run(4, &[b"abcd", b"\n"]), (b"abcd\n".to_vec(), 0, vec![]));
    }

    #[test]
    fn the_sample_is_the_beginning_of_the_line() {
        let mut lines = Lines::new(4);
        lines.feed(b"ab", |_| panic!("not yet"));
        let mut sample = Vec::new();
        lines.feed(b"cdef", |line| sample = line.to_vec());
        assert_eq!(sample, b"ab");
    }

    proptest! {
        /// However the bytes are split into reads, the lines that fit come out whole and in order.
        #[test]
        fn cuts_do_not_matter(
            lines in prop::collection::vec("[a-z\r]{0,12}", 0..20),
            cuts in prop::collection::vec(1_usize..9, 1..40),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut reads = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                let (read, after) = rest.split_at(rest.len().min(*cut));
                reads.push(read);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            let max = 8;
            let (whole, long, tail) = run(max, &reads);
            let kept: Vec<&[u8]> = whole.split_inclusive(|&b| b == b'\n').filter(|line| line.len() <= max + 1).collect();
            let fits: Vec<String> = lines.iter().filter(|line| line.len() <= max).map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(kept, fits.iter().map(String::as_bytes).collect::<Vec<_>>());
            prop_assert!(tail.is_empty());
            let passed_whole = whole.split_inclusive(|&b| b == b'\n').count();
            prop_assert_eq!(passed_whole + long, lines.len());
        }
    }
}
