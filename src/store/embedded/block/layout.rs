//! The fixed parts of a block file: header, index entries, trailer. Numbers are little-endian.

use crate::store::embedded::codec::varint::Reader;
use plumbago_model::{Stage, StageKind};

/// The format this build writes, and the only one it reads.
pub const FORMAT_VERSION: u32 = 1;

pub(super) const HEADER_LEN: usize = 52;
pub(super) const TRAILER_LEN: usize = 52;
pub(super) const ENTRY_LEN: usize = 16;
/// Bytes before the body of a page: its length and its checksum.
pub(super) const FRAME_LEN: usize = 8;

const HEADER_MAGIC: &[u8; 8] = b"PLUMBLK\n";
const TRAILER_MAGIC: &[u8; 8] = b"PLUMEND\n";

/// What a block file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockMeta {
    /// Whose slots.
    pub stage: Stage,
    /// First second of the partition; slot 0 starts here.
    pub partition_start: u32,
    /// Seconds in the partition.
    pub partition_secs: u32,
    /// First cut whose slots it holds.
    pub cut_from: u64,
    /// Last cut whose slots it holds; the same for a block that is not merged from others.
    pub cut_to: u64,
}

/// What is wrong with a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadHeader {
    Magic,
    Version(u32),
    Damaged(&'static str),
}

pub(super) fn write_header(meta: &BlockMeta, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(HEADER_MAGIC);
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    out.extend_from_slice(&meta.stage.step_secs.to_le_bytes());
    out.extend_from_slice(&meta.stage.points.to_le_bytes());
    out.extend_from_slice(&u32::from(meta.stage.kind == StageKind::Aggregated).to_le_bytes());
    out.extend_from_slice(&meta.partition_start.to_le_bytes());
    out.extend_from_slice(&meta.partition_secs.to_le_bytes());
    out.extend_from_slice(&meta.cut_from.to_le_bytes());
    out.extend_from_slice(&meta.cut_to.to_le_bytes());
    seal(start, out);
}

/// The version is checked before the checksum: another version may have its checksum elsewhere. If the checksum is that of a header of
/// this version, the version itself is what was damaged.
pub(super) fn read_header(bytes: &[u8]) -> Result<BlockMeta, BadHeader> {
    let mut reader = Reader::new(bytes);
    if reader.take(HEADER_MAGIC.len()) != Some(HEADER_MAGIC) {
        return Err(BadHeader::Magic);
    }
    match reader.u32() {
        Some(FORMAT_VERSION) => {}
        Some(_) if is_sealed_as_ours(bytes) => {
            return Err(BadHeader::Damaged("the version in the header is damaged"));
        }
        Some(other) => return Err(BadHeader::Version(other)),
        None => return Err(BadHeader::Damaged("it ends within its header")),
    }
    if !is_sealed(bytes) {
        return Err(BadHeader::Damaged("the checksum of the header does not match"));
    }
    read_meta(&mut reader).ok_or(BadHeader::Damaged("the header makes no sense"))
}

fn read_meta(reader: &mut Reader<'_>) -> Option<BlockMeta> {
    let step_secs = reader.u32().filter(|&step| step > 0)?;
    let points = reader.u32()?;
    let kind = match reader.u32()? {
        0 => StageKind::Raw,
        1 => StageKind::Aggregated,
        _ => return None,
    };
    Some(BlockMeta {
        stage: Stage { step_secs, points, kind },
        partition_start: reader.u32()?,
        partition_secs: reader.u32()?,
        cut_from: reader.u64()?,
        cut_to: reader.u64()?,
    })
}

/// Where a page is: one line of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageAddress {
    pub(super) first_metric: u32,
    /// Header and body.
    pub(super) len: u32,
    pub(super) offset: u64,
}

impl PageAddress {
    /// Where the next page or the index begins.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

pub(super) fn write_index(entries: &[PageAddress], out: &mut Vec<u8>) {
    let start = out.len();
    for entry in entries {
        out.extend_from_slice(&entry.first_metric.to_le_bytes());
        out.extend_from_slice(&entry.len.to_le_bytes());
        out.extend_from_slice(&entry.offset.to_le_bytes());
    }
    seal(start, out);
}

/// The index, if its checksum is right and its pages follow each other from the header up to `end`, with ascending metrics.
pub(super) fn read_index(bytes: &[u8], end: u64) -> Result<Vec<PageAddress>, &'static str> {
    if !is_sealed(bytes) {
        return Err("the checksum of the index does not match");
    }
    let mut reader = Reader::new(bytes);
    let mut entries = Vec::with_capacity(bytes.len() / ENTRY_LEN);
    let mut next = HEADER_LEN as u64;
    let mut last_metric = None;
    while reader.rest().len() >= ENTRY_LEN {
        let (Some(first_metric), Some(len), Some(offset)) = (reader.u32(), reader.u32(), reader.u64()) else {
            break;
        };
        let entry = PageAddress { first_metric, len, offset };
        if offset != next || len < FRAME_LEN as u32 || entry.end() > end || last_metric >= Some(first_metric)
        {
            return Err("the pages in the index do not follow each other");
        }
        (next, last_metric) = (entry.end(), Some(first_metric));
        entries.push(entry);
    }
    if next == end { Ok(entries) } else { Err("the pages in the index do not fill the file") }
}

/// Sums over the whole file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) index_offset: u64,
    pub(super) pages: u32,
    pub(super) chunks: u64,
    pub(super) first_metric: u32,
    pub(super) last_metric: u32,
    pub(super) first_slot: u32,
    pub(super) last_slot: u32,
    /// Of which store the block is; 0 if nobody said.
    pub(super) store: u32,
}

pub(super) fn write_trailer(trailer: &Trailer, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&trailer.index_offset.to_le_bytes());
    out.extend_from_slice(&trailer.chunks.to_le_bytes());
    out.extend_from_slice(&trailer.pages.to_le_bytes());
    out.extend_from_slice(&trailer.first_metric.to_le_bytes());
    out.extend_from_slice(&trailer.last_metric.to_le_bytes());
    out.extend_from_slice(&trailer.first_slot.to_le_bytes());
    out.extend_from_slice(&trailer.last_slot.to_le_bytes());
    out.extend_from_slice(&trailer.store.to_le_bytes());
    out.extend_from_slice(TRAILER_MAGIC);
    seal(start, out);
}

pub(super) fn read_trailer(bytes: &[u8]) -> Result<Trailer, &'static str> {
    let magic = bytes.get(TRAILER_LEN - 12..TRAILER_LEN - 4);
    if magic != Some(TRAILER_MAGIC) {
        return Err("it does not end with a trailer; was it cut short?");
    }
    if !is_sealed(bytes) {
        return Err("the checksum of the trailer does not match");
    }
    let mut reader = Reader::new(bytes);
    let mut trailer = || {
        Some(Trailer {
            index_offset: reader.u64()?,
            chunks: reader.u64()?,
            pages: reader.u32()?,
            first_metric: reader.u32()?,
            last_metric: reader.u32()?,
            first_slot: reader.u32()?,
            last_slot: reader.u32()?,
            store: reader.u32()?,
        })
    };
    trailer().ok_or("the trailer is too short")
}

/// Appends the checksum of everything from `start` on.
#[expect(clippy::indexing_slicing, reason = "it writes what it was given, within what it just appended")]
fn seal(start: usize, out: &mut Vec<u8>) {
    let checksum = crc32c::crc32c(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Is the checksum of a header right once it has our version?
fn is_sealed_as_ours(header: &[u8]) -> bool {
    let at = HEADER_MAGIC.len();
    let parts = header.get(..at).zip(header.get(at + 4..));
    parts.is_some_and(|(magic, rest)| {
        header.len() == HEADER_LEN
            && is_sealed(&[magic, FORMAT_VERSION.to_le_bytes().as_slice(), rest].concat())
    })
}

/// Are the last four bytes the checksum of the others?
fn is_sealed(bytes: &[u8]) -> bool {
    bytes.split_last_chunk().is_some_and(|(body, &sum)| crc32c::crc32c(body) == u32::from_le_bytes(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> BlockMeta {
        let stage = "720*3600s_aggr".parse().unwrap();
        BlockMeta { stage, partition_start: 86_400, partition_secs: 2_592_000, cut_from: 3, cut_to: 1 << 40 }
    }

    #[test]
    fn the_fixed_parts_round_trip_in_their_lengths() {
        let mut bytes = Vec::new();
        write_header(&meta(), &mut bytes);
        assert_eq!(bytes.len(), HEADER_LEN);
        assert_eq!(read_header(&bytes), Ok(meta()));

        let trailer = Trailer {
            index_offset: 9,
            pages: 8,
            chunks: 7,
            first_metric: 6,
            last_metric: 5,
            first_slot: 4,
            last_slot: 3,
            store: 2,
        };
        bytes.clear();
        write_trailer(&trailer, &mut bytes);
        assert_eq!(bytes.len(), TRAILER_LEN);
        assert_eq!(read_trailer(&bytes), Ok(trailer));
    }

    #[test]
    fn another_version_is_not_taken_for_damage() {
        let mut bytes = Vec::new();
        write_header(&meta(), &mut bytes);
        bytes[8] = 2;
        assert!(matches!(read_header(&bytes), Err(BadHeader::Damaged(_))), "all else is of this version");
        seal_again(&mut bytes);
        assert_eq!(read_header(&bytes), Err(BadHeader::Version(2)));
        bytes[8] = 1;
        seal_again(&mut bytes);
        bytes[13] ^= 1;
        assert!(matches!(read_header(&bytes), Err(BadHeader::Damaged(_))));
        assert_eq!(read_header(b"<html>"), Err(BadHeader::Magic));
        assert!(matches!(read_header(HEADER_MAGIC), Err(BadHeader::Damaged(_))));
    }

    fn seal_again(header: &mut Vec<u8>) {
        header.truncate(HEADER_LEN - 4);
        seal(0, header);
    }

    #[test]
    fn an_index_must_cover_the_pages_in_order() {
        let entry = |first_metric, offset, len| PageAddress { first_metric, len, offset };
        let read = |entries: &[PageAddress], end| {
            let mut bytes = Vec::new();
            write_index(entries, &mut bytes);
            read_index(&bytes, end)
        };
        let good = [entry(1, 52, 100), entry(5, 152, 50)];
        assert_eq!(read(&good, 202), Ok(good.to_vec()));
        assert_eq!(read(&[], 52), Ok(vec![]));
        assert!(read(&good, 203).is_err(), "a gap before the index");
        assert!(read(&good, 201).is_err(), "overlaps the index");
        assert!(read(&[entry(1, 52, 100), entry(5, 153, 49)], 202).is_err(), "a gap between pages");
        assert!(read(&[entry(5, 52, 100), entry(5, 152, 50)], 202).is_err(), "metrics not ascending");
        assert!(read(&[entry(1, 52, 7)], 59).is_err(), "no room for a frame");
    }
}
