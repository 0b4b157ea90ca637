//! The bytes of a transcript: a header, and frames of rows. `docs/format/transcript.md` has the layout.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use crate::store::embedded::codec::varint::{self, Reader};

/// The format this build writes, and the only one it reads.
pub const VERSION: u32 = 1;
pub(super) const HEADER_LEN: usize = 40;

const MAGIC: &[u8; 8] = b"PLMTRAN\n";
const FRAME_HEADER: usize = 8;
/// Frames of one change are as long as it is. Those of a whole catalogue begin again after so many bytes of rows.
pub(super) const FRAME_BYTES: usize = 1 << 20;
/// Set in the number of the table of a row that was removed.
const REMOVED: u8 = 0x80;

/// What the beginning of a transcript says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Whose it is.
    pub(super) store: u64,
    /// The change up to which the base goes.
    pub(super) number: u64,
    /// Bytes of the base: the frames with a whole catalogue, before those of single changes.
    pub(super) base_bytes: u64,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.store.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.base_bytes.to_le_bytes());
        let sum = crc32c::crc32c(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }
}

/// A row of a table as it was written, or its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The number of the table.
    pub table: u8,
    /// Its key.
    pub key: &'a [u8],
    /// Its value; none if the row was removed.
    pub value: Option<&'a [u8]>,
}

impl Row<'_> {
    /// Appends the row.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.table | if self.value.is_none() { REMOVED } else { 0 });
        for part in [Some(self.key), self.value].into_iter().flatten() {
            varint::put(part.len() as u64, out);
            out.extend_from_slice(part);
        }
    }
}

/// Reads the rows of a frame.
pub(super) struct Rows<'a>(Reader<'a>);

impl<'a> Iterator for Rows<'a> {
    type Item = Result<Row<'a>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        let kind = self.0.byte()?;
        let row = (|| {
            let key = self.part()?;
            let value = if kind & REMOVED == 0 { Some(self.part()?) } else { None };
            Some(Row { table: kind & !REMOVED, key, value })
        })();
        if row.is_none() {
            self.0 = Reader::new(&[]);
        }
        Some(row.ok_or("a row ends early"))
    }
}

impl<'a> Rows<'a> {
    fn part(&mut self) -> Option<&'a [u8]> {
        let len = self.0.varint_u32()?;
        self.0.take(len as usize)
    }
}

/// What is in a transcript.
#[derive(Debug)]
pub struct Read<'a> {
    /// Whose it is.
    pub store: u64,
    /// The last change in it.
    pub number: u64,
    /// Everything that is wrong with it. Half a change at the end is not: it is what a crash leaves.
    pub problems: Vec<String>,
    /// The rows of each frame that can be read.
    frames: Vec<&'a [u8]>,
    /// Where the next frame goes.
    pub(super) end: u64,
    pub(super) base_bytes: u64,
}

impl<'a> Read<'a> {
    /// All rows, in the order in which they were written.
    pub fn rows(&self) -> impl Iterator<Item = Result<Row<'a>, &'static str>> {
        self.frames.iter().flat_map(|frame| Rows(Reader::new(frame)))
    }
}

/// Why nothing of a transcript can be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Its header is not that of a transcript.
    Damaged(&'static str),
    /// Another release wrote it.
    Version(u32),
}

/// Reads a whole transcript.
pub fn parse(bytes: &[u8]) -> Result<Read<'_>, Unreadable> {
    let header = parse_header(bytes)?;
    let base_end = header.base_bytes.saturating_add(HEADER_LEN as u64);
    let mut read = Read {
        store: header.store,
        number: header.number,
        problems: Vec::new(),
        frames: Vec::new(),
        end: HEADER_LEN as u64,
        base_bytes: header.base_bytes,
    };
    let mut at = HEADER_LEN;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (content, len) = frame(rest);
        let is_base = (at as u64) < base_end;
        let next = len.map(|len| at.saturating_add(len)).filter(|&next| next < bytes.len());
        match content.and_then(|content| content.split_first_chunk::<8>()) {
            Some((number, rows)) => {
                let number = u64::from_le_bytes(*number);
                let wanted = if is_base { header.number } else { read.number.saturating_add(1) };
                if number != wanted {
                    read.problems.push(format!("change {wanted} is missing at byte {at}"));
                }
                read.number = read.number.max(number);
                read.frames.push(rows);
                at += len.unwrap_or(rest.len());
                read.end = at as u64;
            }
            None if next.is_none() && !is_base => break,
            None => {
                read.problems.push(format!("the changes at byte {at} have a wrong checksum"));
                match next {
                    Some(next) => at = next,
                    None => break,
                }
            }
        }
    }
    if (bytes.len() as u64) < base_end {
        read.problems.push(format!("it was cut short at byte {}", bytes.len()));
    }
    Ok(read)
}

/// A version is another one only if the rest says so too: a flipped bit in it leaves a header that is right otherwise.
fn parse_header(bytes: &[u8]) -> Result<Header, Unreadable> {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
        return Err(Unreadable::Damaged("it ends within its header"));
    };
    let mut reader = Reader::new(header);
    if reader.take(MAGIC.len()) != Some(MAGIC) {
        return Err(Unreadable::Damaged("it does not begin like a transcript"));
    }
    let fields = (|| Some((reader.u32()?, reader.u64()?, reader.u64()?, reader.u64()?)))();
    let Some((version, store, number, base_bytes)) = fields else {
        return Err(Unreadable::Damaged("it ends within its header"));
    };
    let header = Header { store, number, base_bytes };
    match (header.encode() == bytes.get(..HEADER_LEN).unwrap_or_default(), version) {
        (true, _) => Ok(header),
        (false, VERSION) => Err(Unreadable::Damaged("the checksum of its header does not match")),
        (false, _) if bytes.get(HEADER_LEN - 4..HEADER_LEN) == header.encode().get(HEADER_LEN - 4..) => {
            Err(Unreadable::Damaged("the version in its header is damaged"))
        }
        (false, version) => Err(Unreadable::Version(version)),
    }
}

/// The content of the frame that some bytes begin with, and its whole length if that is plausible.
fn frame(bytes: &[u8]) -> (Option<&[u8]>, Option<usize>) {
    let mut reader = Reader::new(bytes);
    let (Some(len), Some(sum)) = (reader.u32(), reader.u32()) else { return (None, None) };
    match reader.take(len as usize) {
        Some(content) if len >= 8 => {
            let good = crc32c::crc32c(content) == sum;
            (good.then_some(content), Some(FRAME_HEADER + len as usize))
        }
        _ => (None, None),
    }
}

/// Appends a frame with the rows of a change.
#[expect(clippy::indexing_slicing, reason = "it writes only within what it has just appended")]
pub(super) fn encode_frame(number: u64, rows: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(rows);
    let (header, content) = out[start..].split_at_mut(FRAME_HEADER);
    header[..4].copy_from_slice(&(content.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&crc32c::crc32c(content).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row<'_> = Row { table: 7, key: b"key", value: Some(b"value") };

    fn whole() -> Vec<u8> {
        let mut rows = Vec::new();
        ROW.encode(&mut rows);
        let (mut base, mut changes) = (Vec::new(), Vec::new());
        encode_frame(5, &rows, &mut base);
        encode_frame(5, &rows, &mut base);
        Row { value: None, ..ROW }.encode(&mut rows);
        encode_frame(6, &rows, &mut changes);
        encode_frame(7, &rows, &mut changes);
        let header = Header { store: 99, number: 5, base_bytes: base.len() as u64 };
        [header.encode(), base, changes].concat()
    }

    #[test]
    fn what_was_written_comes_back_in_order() {
        let bytes = whole();
        let read = parse(&bytes).unwrap();
        assert_eq!((read.store, read.number, read.end), (99, 7, bytes.len() as u64));
        assert_eq!(read.problems, [""; 0]);
        let removed = Row { value: None, ..ROW };
        let rows: Vec<_> = read.rows().map(Result::unwrap).collect();
        assert_eq!(rows, [ROW, ROW, ROW, removed, ROW, removed]);
    }

    #[test]
    fn every_flipped_byte_is_noticed_or_leaves_an_earlier_end() {
        let good = whole();
        for at in 0..good.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                match parse(&bad) {
                    Err(Unreadable::Damaged(_)) => assert!(at < HEADER_LEN, "byte {at}"),
                    Err(Unreadable::Version(_)) => panic!("byte {at} looks like another version"),
                    Ok(read) => assert!(!read.problems.is_empty() || read.number < 7, "byte {at}"),
                }
            }
        }
    }

    #[test]
    fn a_base_that_was_cut_short_is_damaged_and_a_torn_change_is_not() {
        let bytes = whole();
        let base_end = HEADER_LEN + parse(&bytes).unwrap().base_bytes as usize;
        for len in HEADER_LEN..bytes.len() {
            let read = parse(&bytes[..len]).unwrap();
            assert_eq!(read.problems.is_empty(), len >= base_end, "{len}: {:?}", read.problems);
            assert!(read.number < 7);
        }
    }

    #[test]
    fn another_version_is_no_damage() {
        let mut bytes = whole();
        bytes[8] = 2;
        bytes[12..HEADER_LEN].fill(0x55);
        assert_eq!(parse(&bytes).unwrap_err(), Unreadable::Version(2));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let all = [whole()[..HEADER_LEN].to_vec(), bytes].concat();
            if let Ok(read) = parse(&all) {
                let _ = read.rows().count();
            }
        }
    }
}
