//! go-carbon's compressed files.
//!
//! Each archive is a ring of blocks, and a block holds points as the bits that changed. Points of a file that is being written
//! wait in a buffer until a coarser slot is over, and only then enter a block and are passed on to the coarser archive. A metric
//! that ended leaves points behind in these buffers for good. We read them where they are, and do what go-carbon has not
//! done yet: we pass them on ([`pending`]).

mod bits;
mod block;
mod header;
mod pending;

use flate2::Crc;
use plumbago_model::Point;

use super::archive::{Archive, Live};
use super::error::ReadError;
use super::input::Input;
use super::reader::Series;
use block::Block;
pub use block::{BlockError, decode};
use header::{Compressed, Info};

/// The first bytes of a compressed file.
const MAGIC: &[u8] = b"whisper_compressed";

/// Is this a compressed file?
pub(super) fn is_magic(input: &mut Input<'_>) -> Result<bool, ReadError> {
    let bytes = MAGIC.len() as u64;
    Ok(input.len() >= bytes && input.read("header", 0, bytes)? == MAGIC)
}

/// Reads a compressed file as of `now`.
pub(super) fn read(input: &mut Input<'_>, now: u32) -> Result<Series, ReadError> {
    let Compressed { header, infos } = Compressed::read(input)?;
    let mut all = Vec::with_capacity(infos.len());
    for (archive, info) in infos.iter().enumerate() {
        all.push(points(input, archive, info)?);
    }
    pending::pass_on(&header, &infos, &mut all);
    let archives = infos.iter().zip(all).map(|(info, points)| live(info, points, now)).collect();
    Ok(Series { header, archives })
}

/// All points of an archive, oldest first, also those that have expired.
fn points(input: &mut Input<'_>, archive: usize, info: &Info) -> Result<Vec<Point>, ReadError> {
    let mut points = Vec::new();
    for (block, range) in info.blocks.iter().enumerate().filter(|(_, range)| range.start != 0) {
        let bytes = input.read("block", info.block_offset(block), info.block_bytes.into())?;
        check(bytes, archive, block, info, range)?;
        let fault = |source| ReadError::Block { archive, block, source };
        let before = points.len();
        decode(bytes, info.stage.step_secs, |point| points.push(point)).map_err(fault)?;
        // The first point of a block is not counted.
        let (stated, found) = (u64::from(range.count) + 1, (points.len() - before) as u64);
        if stated != found {
            return Err(fault(BlockError::Count { stated, found }));
        }
    }
    points.extend_from_slice(&info.buffer);
    put_in_order(&mut points);
    Ok(points)
}

/// Compares a block with its checksum. That of the block that is being written leaves out the last byte, which may still change:
/// the header has this byte too.
fn check(bytes: &[u8], archive: usize, block: usize, info: &Info, range: &Block) -> Result<(), ReadError> {
    let mut covered = bytes;
    if block == info.current.block {
        let end = info.current.end;
        let outside = ReadError::BlockEnd { archive, block, end };
        let length =
            end.checked_sub(info.block_offset(block)).and_then(|length| usize::try_from(length).ok());
        let (before, rest) = length.and_then(|length| bytes.split_at_checked(length)).ok_or(outside)?;
        let found = rest.first().copied().unwrap_or(0);
        if !info.current.agrees_with(found) {
            let source = BlockError::LastByte { stated: info.current.byte, found };
            return Err(ReadError::Block { archive, block, source });
        }
        covered = before;
    }
    let mut crc = Crc::new();
    crc.update(covered);
    if crc.sum() != range.crc {
        let (stated, computed) = (range.crc, crc.sum());
        return Err(ReadError::BlockChecksum { archive, block, stated, computed });
    }
    Ok(())
}

/// Oldest first; of two points with one time stamp the later one stays, so that a buffer wins over a block.
fn put_in_order(points: &mut Vec<Point>) {
    points.sort_by_key(|point| point.timestamp);
    points.dedup_by(|next, kept| {
        let same = next.timestamp == kept.timestamp;
        if same {
            *kept = *next;
        }
        same
    });
}

/// What of all points a reader would show.
fn live(info: &Info, mut points: Vec<Point>, now: u32) -> Archive {
    let live = Live::at(info.stage, now);
    let ahead = points.iter().rev().take_while(|point| point.timestamp > live.last).count();
    points.retain(|point| live.contains(point.timestamp) && !point.value.is_nan());
    Archive { stage: info.stage, method: info.method, points, oldest: live.oldest(), ahead: ahead as u64 }
}
