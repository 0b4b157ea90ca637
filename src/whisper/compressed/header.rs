//! The header of a compressed file: metadata, archives, index of blocks, and buffers.

use flate2::Crc;
use plumbago_model::{Point, Retention, Stage};

use super::MAGIC;
use super::block::{self, Block};
use crate::whisper::fields::{Fields, point};
use crate::whisper::header::{self, Entry, Format, Header};
use crate::whisper::input::Input;
use crate::whisper::method::Method;
use crate::whisper::{POINT_BYTES, ReadError};

/// Bytes before the list of archives.
const METADATA_BYTES: u64 = 63;
/// Bytes of one entry of that list.
const ENTRY_BYTES: u64 = 128;
/// Where the checksum of the header is. It was computed with zeros in this place.
const CHECKSUM_AT: usize = 43;
/// The only version that there is.
const VERSION: u8 = 1;
/// Coarser slots that fit into a buffer.
const BUFFERED_SLOTS: u64 = 2;

/// A compressed file: its header, and where its blocks are.
#[derive(Debug)]
pub(super) struct Compressed {
    pub(super) header: Header,
    pub(super) infos: Vec<Info>,
}

/// One archive as the header describes it.
#[derive(Debug)]
pub(super) struct Info {
    pub(super) stage: Stage,
    /// How its points were made.
    pub(super) method: Method,
    offset: u64,
    /// Bytes of each block.
    pub(super) block_bytes: u32,
    /// The index of blocks.
    pub(super) blocks: Vec<Block>,
    /// The block that is being written.
    pub(super) current: Current,
    /// Points that are not in a block yet.
    pub(super) buffer: Vec<Point>,
}

impl Info {
    /// Where a block is in the file.
    pub(super) fn block_offset(&self, block: usize) -> u64 {
        self.offset + block as u64 * u64::from(self.block_bytes)
    }
}

/// Where the next point will be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    /// In which block.
    pub(super) block: usize,
    /// At which byte of the file. All before it are complete.
    pub(super) end: u64,
    /// The byte there, of which only the first bits are in use.
    pub(super) byte: u8,
    /// How many bits of it are not in use yet, minus one.
    free_bits: u32,
}

impl Current {
    fn read(fields: &mut Fields<'_>) -> Result<Self, ReadError> {
        let block = fields.u32()? as usize;
        // The first point of the block and its last two, for the writer to go on.
        fields.skip(3 * POINT_BYTES)?;
        let [byte, end, free_bits] = [fields.u32()?, fields.u32()?, fields.u32()?];
        Ok(Self { block, end: end.into(), byte: byte as u8, free_bits })
    }

    /// Has the byte at the end the bits that it should have?
    pub(super) fn agrees_with(&self, found: u8) -> bool {
        let in_use = 0xfe_u8.checked_shl(self.free_bits).unwrap_or(0);
        (self.byte ^ found) & in_use == 0
    }
}

/// An entry of the list of archives.
struct Listed {
    entry: Entry,
    method: Method,
    block_bytes: u32,
    blocks: u32,
    current: Current,
}

impl Compressed {
    /// Reads and checks the header.
    pub(super) fn read(input: &mut Input<'_>) -> Result<Self, ReadError> {
        let metadata = Metadata::read(input)?;
        let listed = metadata.list(input)?;
        let retention = retention(&listed, metadata.method)?;
        let buffers = buffer_bytes(&listed, metadata.method);
        let list = METADATA_BYTES + ENTRY_BYTES * listed.len() as u64;
        let indexes: u64 = listed.iter().map(|listed| u64::from(listed.blocks) * block::ENTRY_BYTES).sum();
        let end = list + indexes + buffers.iter().sum::<u64>();
        check_places(&listed, end, input.len())?;
        let bytes = input.read("header", 0, end)?;
        check(bytes, metadata.crc)?;
        let mut fields = Fields::new(bytes);
        fields.skip(list as usize)?;
        let mut infos = Vec::with_capacity(listed.len());
        for (archive, (listed, buffer)) in listed.iter().zip(buffers).enumerate() {
            let info = listed.complete(archive, &retention, buffer, &mut fields)?;
            infos.push(info);
        }
        let header = Header {
            format: Format::Compressed,
            method: metadata.method,
            x_files_factor: metadata.x_files_factor,
            retention,
        };
        Ok(Self { header, infos })
    }
}

struct Metadata {
    method: Method,
    x_files_factor: f64,
    archives: u32,
    crc: u32,
}

impl Metadata {
    fn read(input: &mut Input<'_>) -> Result<Self, ReadError> {
        let mut fields = Fields::new(input.read("header", 0, METADATA_BYTES)?);
        fields.skip(MAGIC.len())?;
        let found = fields.u8()?;
        if found != VERSION {
            return Err(ReadError::Version { found });
        }
        let code = fields.u32()?;
        let unknown = ReadError::UnknownMethod { code, format: Format::Compressed };
        let method = Method::of_compressed(code).ok_or(unknown)?;
        // The longest retention, which the archives say as well.
        fields.u32()?;
        let x_files_factor = header::x_files_factor(fields.f32()?)?;
        // Points in a block: a wish, which the writer does not follow to the letter.
        fields.u32()?;
        let archives = fields.u32()?;
        if archives == 0 {
            return Err(ReadError::NoArchives);
        }
        // Bytes of a point on average.
        fields.f32()?;
        Ok(Self { method, x_files_factor, archives, crc: fields.u32()? })
    }

    fn list(&self, input: &mut Input<'_>) -> Result<Vec<Listed>, ReadError> {
        let bytes = input.read("list of archives", METADATA_BYTES, u64::from(self.archives) * ENTRY_BYTES)?;
        let (entries, _) = bytes.as_chunks::<{ ENTRY_BYTES as usize }>();
        let listed = |(archive, entry): (usize, &[u8; 128])| Listed::read(archive, entry, self.method);
        entries.iter().enumerate().map(listed).collect()
    }
}

impl Listed {
    fn read(archive: usize, bytes: &[u8], method: Method) -> Result<Self, ReadError> {
        let mut fields = Fields::new(bytes);
        let entry = Entry::read(&mut fields)?;
        let (block_bytes, blocks) = (fields.u32()?, fields.u32()?);
        // Bytes of a point on average.
        fields.f32()?;
        // The finest archive of a mix has no method: it is what all others are made from.
        let method = if method == Method::Mix && archive > 0 { mixed(archive, &mut fields)? } else { method };
        Ok(Self { entry, method, block_bytes, blocks, current: Current::read(&mut fields)? })
    }

    /// Adds what follows the list of archives: index and buffer.
    fn complete(
        &self,
        archive: usize,
        retention: &Retention,
        buffer: u64,
        fields: &mut Fields<'_>,
    ) -> Result<Info, ReadError> {
        let Entry { offset, step, .. } = self.entry;
        let stage = retention.stages().iter().find(|stage| stage.step_secs == step);
        let blocks = (0..self.blocks).map(|_| Block::read(fields)).collect::<Result<_, _>>()?;
        let (points, _) = fields.take(buffer as usize)?.as_chunks();
        let buffer: Vec<Point> = points.iter().map(point).filter(|point| point.timestamp != 0).collect();
        if let Some(odd) = buffer.iter().find(|point| !point.timestamp.is_multiple_of(step)) {
            return Err(ReadError::Unaligned { archive, timestamp: odd.timestamp, step });
        }
        Ok(Info {
            stage: *stage.ok_or(ReadError::NoArchives)?,
            method: self.method,
            offset,
            block_bytes: self.block_bytes,
            blocks,
            current: self.current,
            buffer,
        })
    }
}

fn mixed(archive: usize, fields: &mut Fields<'_>) -> Result<Method, ReadError> {
    let (code, value) = (u32::from(fields.u8()?), fields.f32()?);
    match Method::of_mixed(code, value) {
        None => Err(ReadError::UnknownMethod { code, format: Format::Compressed }),
        Some(Method::Percentile(_)) if !(0.0..=100.0).contains(&value) => {
            Err(ReadError::Percentile { archive, value })
        }
        Some(method) => Ok(method),
    }
}

/// Checks that the archives are in order and fit together. In a mix those of one resolution follow each other.
fn retention(listed: &[Listed], method: Method) -> Result<Retention, ReadError> {
    let mut entries: Vec<Entry> = listed.iter().map(|listed| listed.entry).collect();
    if method == Method::Mix {
        entries.dedup_by_key(|entry| (entry.step, entry.slots));
    }
    header::retention(&entries)
}

/// Bytes of the buffer of each archive: all have one except the coarsest, and those of a mix.
fn buffer_bytes(listed: &[Listed], method: Method) -> Vec<u64> {
    let next = listed.iter().skip(1).map(|listed| listed.entry.step).chain([0]);
    let bytes = |(listed, next): (&Listed, u32)| {
        let points = u64::from(next / listed.entry.step);
        if method == Method::Mix { 0 } else { points * BUFFERED_SLOTS * POINT_BYTES as u64 }
    };
    listed.iter().zip(next).map(bytes).collect()
}

/// Checks that all blocks are inside the file and behind the header.
fn check_places(listed: &[Listed], header: u64, have: u64) -> Result<(), ReadError> {
    for (archive, listed) in listed.iter().enumerate() {
        let offset = listed.entry.offset;
        let bytes = u64::from(listed.blocks) * u64::from(listed.block_bytes);
        if offset < header {
            return Err(ReadError::InsideHeader { archive, offset, header });
        }
        if offset + bytes > have {
            return Err(ReadError::BeyondEnd { archive, offset, bytes, have });
        }
    }
    Ok(())
}

fn check(bytes: &[u8], stated: u32) -> Result<(), ReadError> {
    let mut crc = Crc::new();
    let (before, rest) = bytes.split_at_checked(CHECKSUM_AT).unwrap_or_default();
    crc.update(before);
    crc.update(&[0; 4]);
    crc.update(rest.get(4..).unwrap_or_default());
    let computed = crc.sum();
    if computed == stated { Ok(()) } else { Err(ReadError::HeaderChecksum { stated, computed }) }
}
