//! Segment files: their names, their header, and reading them back.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use std::path::{Path, PathBuf};

use super::record::{FRAME_HEADER, MAX_RECORD, decode};
use super::{LogError, Record};
use crate::disk::{self, Disk, Folder};
use crate::planted::{Planted, is_planted};
use plumbago_model::count;

pub(super) const MAGIC: &[u8; 8] = b"PLBGLOG\0";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 12;

/// A place in a segment that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub path: PathBuf,
    /// Byte offset of the bad record.
    pub offset: u64,
    /// What is wrong, and how much was lost.
    pub detail: String,
}

/// What a replay found.
#[derive(Debug, Default)]
pub struct Replay {
    /// Records read.
    pub records: u64,
    /// Places that could not be read. A torn end of the last segment is normal after a crash.
    pub damage: Vec<Damage>,
}

/// The segments in `dir` from number `floor` on, in order.
pub fn segments(dir: &Folder, floor: u64) -> Result<Vec<(u64, PathBuf)>, LogError> {
    let entries = dir.disk().list(dir.path()).map_err(LogError::io("list", dir.path()))?;
    let mut found: Vec<(u64, PathBuf)> = entries
        .into_iter()
        .filter_map(|path| number(&path).map(|n| (n, path)))
        .filter(|(n, _)| *n >= floor)
        .collect();
    found.sort();
    Ok(found)
}

/// Bytes of all segments in `dir`. One that is removed meanwhile does not count.
pub fn size_bytes(dir: &Folder) -> Result<u64, LogError> {
    let bytes = |path: &Path| dir.disk().about(path).map_or(0, |file| file.len);
    Ok(segments(dir, 0)?.iter().map(|(_, path)| bytes(path)).sum())
}

pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.log"))
}

fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".log")?.parse().ok()
}

/// Reads every record from segment `floor` on, in order.
///
/// A record with a wrong checksum is left out. Reading continues after it if its length is plausible; otherwise the rest of that
/// segment is left out. Later segments are always read.
pub fn replay(dir: &Folder, floor: u64, mut visit: impl FnMut(Record)) -> Result<Replay, LogError> {
    let mut result = Replay::default();
    for (_, path) in segments(dir, floor)? {
        let bytes = read(&**dir.disk(), &path)?;
        replay_segment(&path, &bytes, &mut visit, &mut result)?;
    }
    Ok(result)
}

/// Reads every record of one segment.
pub(super) fn replay_file(path: &Path, mut visit: impl FnMut(Record)) -> Result<Replay, LogError> {
    let mut result = Replay::default();
    replay_segment(path, &read(&*disk::real(), path)?, &mut visit, &mut result)?;
    Ok(result)
}

fn read(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>, LogError> {
    disk::read(disk, path).map_err(LogError::io("read", path))
}

fn replay_segment(
    path: &Path,
    bytes: &[u8],
    visit: &mut impl FnMut(Record),
    result: &mut Replay,
) -> Result<(), LogError> {
    let mut damage = |offset: usize, detail: String| {
        result.damage.push(Damage { path: path.to_owned(), offset: offset as u64, detail });
    };
    let Some((header, _)) = bytes.split_at_checked(HEADER) else {
        // The process died right after it created the file, which held nothing.
        return Ok(());
    };
    let (magic, version) = header.split_at(MAGIC.len());
    let version = le_u32(version);
    if magic != MAGIC {
        damage(0, format!("not a log segment; {} not read", count(bytes.len(), "byte")));
        return Ok(());
    }
    // Not damage: another version of Plumbago wrote records here that this one would lose.
    if version != VERSION {
        return Err(LogError::Version { path: path.to_owned(), found: version });
    }
    let mut at = HEADER;
    while at < bytes.len() {
        match frame_at(bytes, at) {
            Frame::Good(content, next) => {
                match decode(content) {
                    Ok(_) if is_planted(Planted::LastRecordDropped) && next == bytes.len() => {}
                    Ok(record) => {
                        visit(record);
                        result.records += 1;
                    }
                    Err(detail) => damage(at, detail),
                }
                at = next;
            }
            Frame::BadChecksum(next) => {
                damage(at, format!("wrong checksum; one record of {} left out", count(next - at, "byte")));
                at = next;
            }
            // Nothing says where the next record begins. At the end of the last segment, this is what a crash leaves.
            Frame::Torn => {
                damage(at, format!("the record is torn; {} left out", count(bytes.len() - at, "byte")));
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What is at a place of a segment, and where the next record begins. Only the length of a record leads to the next one: if it is
/// implausible, nothing behind it can be found; if it is plausible but wrong, the checksums of what follows do not match.
enum Frame<'a> {
    Good(&'a [u8], usize),
    BadChecksum(usize),
    Torn,
}

fn frame_at(bytes: &[u8], at: usize) -> Frame<'_> {
    let header = bytes.get(at..).and_then(|rest| rest.first_chunk::<FRAME_HEADER>());
    let Some(header) = header else { return Frame::Torn };
    let (length, checksum) = (le_u32(&header[..4]) as usize, le_u32(&header[4..]));
    if length == 0 || length > MAX_RECORD {
        return Frame::Torn;
    }
    let start = at + FRAME_HEADER;
    match bytes.get(start..start + length) {
        None => Frame::Torn,
        Some(content) if crc32c::crc32c(content) == checksum => Frame::Good(content, start + length),
        Some(_) => Frame::BadChecksum(start + length),
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))
}
