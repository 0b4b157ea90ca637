//! A page: the chunks of some metrics, a small directory before them, under one checksum.

use super::layout::FRAME_LEN;
use crate::store::embedded::codec::varint::{self, Reader};

/// A page is full at this many chunks.
const MAX_CHUNKS: usize = 64;
/// A page is full at this many bytes of chunks: what one read for one metric costs.
const FULL_BYTES: usize = 16 << 10;

/// Collects chunks for a page.
#[derive(Default)]
pub(super) struct PageBuilder {
    /// Metric and length of each chunk.
    directory: Vec<(u32, usize)>,
    chunks: Vec<u8>,
}

impl PageBuilder {
    /// Should this chunk go to the next page?
    pub(super) fn is_full_for(&self, chunk: &[u8]) -> bool {
        let bytes = self.chunks.len() + chunk.len();
        self.directory.len() >= MAX_CHUNKS || !self.directory.is_empty() && bytes > FULL_BYTES
    }

    /// Adds a chunk; metrics must ascend.
    pub(super) fn push(&mut self, metric: u32, chunk: &[u8]) {
        self.directory.push((metric, chunk.len()));
        self.chunks.extend_from_slice(chunk);
    }

    /// Appends the page with its header and empties the builder. Returns the first metric, or `None` if there was nothing.
    #[expect(clippy::indexing_slicing, reason = "it writes what it was given, within what it just appended")]
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) -> Option<u32> {
        let &(first_metric, _) = self.directory.first()?;
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_LEN]);
        varint::put(self.directory.len() as u64, out);
        let mut previous = 0;
        for (metric, len) in self.directory.drain(..) {
            varint::put(u64::from(metric - previous), out);
            varint::put(len as u64, out);
            previous = metric;
        }
        out.append(&mut self.chunks);
        let body = start + FRAME_LEN;
        let len = ((out.len() - body) as u32).to_le_bytes();
        let checksum = crc32c::crc32c(&out[body..]).to_le_bytes();
        out[start..start + 4].copy_from_slice(&len);
        out[start + 4..body].copy_from_slice(&checksum);
        Some(first_metric)
    }
}

/// The body of a page, if length and checksum are right.
pub(super) fn unframe(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let mut reader = Reader::new(bytes);
    let (Some(len), Some(checksum)) = (reader.u32(), reader.u32()) else {
        return Err("it ends within its frame");
    };
    if len as usize != reader.rest().len() {
        return Err("its length is not the one in the index");
    }
    if crc32c::crc32c(reader.rest()) != checksum {
        return Err("its checksum does not match");
    }
    Ok(reader.rest())
}

/// The chunks of one page: metric and bytes of each, in ascending order of metric.
///
/// Reads the body of a page whose checksum was already verified. Even so, no bytes can make it panic: invalid data gives an
/// error in place of the next chunk.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    directory: Reader<'a>,
    chunks: Reader<'a>,
    left: usize,
    /// The metric before; `None` before the first.
    previous: Option<u32>,
}

impl<'a> Page<'a> {
    /// Finds where the directory ends and the chunks begin.
    pub fn parse(body: &'a [u8]) -> Result<Self, &'static str> {
        let mut directory = Reader::new(body);
        let left = directory.varint().filter(|n| (1..=MAX_CHUNKS as u64).contains(n));
        let left = left.ok_or("it claims no chunks, or more than a page can hold")? as usize;
        let mut chunks = directory;
        for _ in 0..left * 2 {
            chunks.varint().ok_or("it ends within its directory")?;
        }
        Ok(Self { directory, chunks, left, previous: None })
    }

    /// Metric and position of the next chunk.
    fn entry(&mut self) -> Result<(u32, &'a [u8]), &'static str> {
        let (delta, len) = (self.directory.varint_u32(), self.directory.varint());
        let metric = match self.previous {
            None => delta,
            Some(previous) => delta.filter(|&delta| delta > 0).and_then(|delta| previous.checked_add(delta)),
        };
        let metric = metric.ok_or("its metrics do not ascend")?;
        let len = len.and_then(|len| usize::try_from(len).ok());
        let chunk = len.and_then(|len| self.chunks.take(len)).ok_or("its chunks are longer than the page")?;
        self.previous = Some(metric);
        if self.left == 1 && !self.chunks.rest().is_empty() {
            return Err("it has bytes behind its last chunk");
        }
        Ok((metric, chunk))
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Result<(u32, &'a [u8]), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let entry = self.entry();
        self.left = if entry.is_ok() { self.left - 1 } else { 0 };
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(chunks: &[(u32, &[u8])]) -> Vec<u8> {
        let mut builder = PageBuilder::default();
        chunks.iter().for_each(|(metric, chunk)| builder.push(*metric, chunk));
        let mut out = Vec::new();
        assert_eq!(builder.flush(&mut out), Some(chunks[0].0));
        assert_eq!(builder.flush(&mut Vec::new()), None);
        out
    }

    #[test]
    fn pages_round_trip() {
        for chunks in [&[(0, &b"a"[..])][..], &[(7, b""), (8, b"bc"), (u32::MAX, b"d")]] {
            let bytes = page(chunks);
            let back: Vec<_> = Page::parse(unframe(&bytes).unwrap()).unwrap().map(Result::unwrap).collect();
            assert_eq!(back, chunks);
        }
    }

    #[test]
    fn a_page_is_full_by_number_or_by_size() {
        let mut builder = PageBuilder::default();
        assert!(!builder.is_full_for(&[0; 1 << 20]), "one chunk always fits");
        (0..64).for_each(|metric| {
            assert!(!builder.is_full_for(&[0]));
            builder.push(metric, &[0]);
        });
        assert!(builder.is_full_for(&[0]));
        builder.flush(&mut Vec::new());
        builder.push(0, &[0; 16 << 10]);
        assert!(builder.is_full_for(&[0]));
    }

    #[test]
    fn senseless_bodies_are_refused() {
        let read = |body: &[u8]| Page::parse(body)?.collect::<Result<Vec<_>, _>>().map(|chunks| chunks.len());
        assert_eq!(read(&[2, 5, 1, 1, 1, b'a', b'b']), Ok(2));
        for (body, why) in [
            (&[0][..], "no chunks"),
            (&[65], "too many chunks"),
            (&[2, 5, 1, 1], "directory cut short"),
            (&[2, 5, 1, 0, 1, b'a', b'b'], "the same metric twice"),
            (&[2, 5, 1, 1, 2, b'a', b'b'], "a chunk cut short"),
            (&[2, 5, 1, 1, 1, b'a', b'b', b'c'], "more than the chunks"),
            (&[2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1, 0], "metric beyond the last"),
            (&[1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "endless chunk"),
        ] {
            assert!(read(body).is_err(), "{why}");
        }
    }
}
