//! Segment files: their names, their header, and reading them back.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use std::path::{Path, PathBuf};

use super::record::{FRAME_HEADER, MAX_RECORD, Origin, decode, is_plausible};
use super::{LogError, Record};
use crate::disk::{self, Disk, Folder, Open};
use crate::planted::{Planted, is_planted};
use plumbago_model::count;

pub(super) const MAGIC: &[u8; 8] = b"PLBGLOG\0";
pub(super) const VERSION: u32 = 1;
pub(super) const HEADER: usize = 12;
/// Behind a record whose length is damaged, the next one is searched within so many bytes, and is no longer than this.
const SEARCHED: usize = 1 << 20;

/// A place in a segment that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub path: PathBuf,
    /// Byte offset of the bad record.
    pub offset: u64,
    /// What is wrong, and how much was lost.
    pub detail: String,
    /// Does nothing good follow in the file? In the last segment this is what a crash leaves.
    pub is_end: bool,
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

/// Fails if another release wrote a segment, before anything is changed. A directory that is not there has none.
pub fn check_formats(dir: &Folder) -> Result<(), LogError> {
    if !disk::exists(&**dir.disk(), dir.path()) {
        return Ok(());
    }
    for (_, path) in segments(dir, 0)? {
        let mut header = [0; HEADER];
        let file = dir.disk().open(&path, Open::Read).map_err(LogError::io("read", &path))?;
        let is_ours = file.read_exact_at(&mut header, 0).is_err() || header.ends_with(&VERSION.to_le_bytes());
        if !is_ours {
            // Only the whole segment shows whether it is the version that is damaged.
            replay_segment(&path, &read(&**dir.disk(), &path)?, &mut |_| (), &mut Replay::default())?;
        }
    }
    Ok(())
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
/// A record with a wrong checksum is left out. Reading continues after it if its length is plausible; otherwise at the next record that
/// can be found soon after it. Later segments are always read.
pub fn replay(dir: &Folder, floor: u64, visit: impl FnMut(Record)) -> Result<Replay, LogError> {
    replay_of(dir, 0, floor, visit)
}

/// The same for a log of which the store is known: segments of others are left out. 0 is any store.
pub fn replay_of(
    dir: &Folder,
    store: u64,
    floor: u64,
    mut visit: impl FnMut(Record),
) -> Result<Replay, LogError> {
    let Sorted { ordered, damage } = sort(dir, store, floor)?;
    let mut result = Replay { damage, ..Replay::default() };
    for (_, path) in ordered {
        let bytes = read(&**dir.disk(), &path)?;
        replay_segment(&path, &bytes, &mut visit, &mut result)?;
    }
    Ok(result)
}

/// Segments to be read.
pub(super) struct Sorted {
    /// In this order, with the numbers that they have by themselves.
    pub(super) ordered: Vec<(u64, PathBuf)>,
    /// Segments that are missing or have wrong names.
    pub(super) damage: Vec<Damage>,
}

/// The segments to read. A segment says itself which one it is, and of which store, so that a file under a wrong name does no harm.
pub(super) fn sort(dir: &Folder, store: u64, floor: u64) -> Result<Sorted, LogError> {
    let mut damage = Vec::new();
    let mut report = |path: &Path, detail: String| {
        damage.push(Damage { path: path.to_owned(), offset: 0, detail, is_end: false });
    };
    let mut ordered: Vec<(u64, bool, PathBuf)> = Vec::new();
    // Without a floor nobody knows where the log begins.
    let mut expected = if floor == 0 { u64::MAX } else { floor };
    for (number, path) in segments(dir, floor)? {
        if number > expected {
            let lost = segment_path(dir.path(), expected);
            report(&lost, format!("{} missing", plumbago_model::count(number - expected, "segment")));
        }
        expected = number + 1;
        match origin(&**dir.disk(), &path)? {
            Some(origin) if store != 0 && origin.store != store => {
                report(&path, "it is of another store; not read".to_owned());
            }
            Some(Origin { segment, .. }) if segment < floor => {
                report(&path, format!("it is segment {segment}, which is in the store already; not read"));
            }
            Some(Origin { segment, .. }) => {
                if segment != number {
                    report(&path, format!("it is segment {segment} under another name"));
                }
                ordered.push((segment, segment != number, path));
            }
            None => ordered.push((number, false, path)),
        }
    }
    ordered.sort();
    let mut paths: Vec<(u64, PathBuf)> = Vec::new();
    for (segment, _, path) in ordered {
        if paths.last().is_some_and(|(last, _)| *last == segment) {
            report(&path, format!("it is a copy of segment {segment}; not read"));
        } else {
            paths.push((segment, path));
        }
    }
    Ok(Sorted { ordered: paths, damage })
}

/// A segment without what is damaged in it.
pub(super) fn copy_good(bytes: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    let mut at = HEADER;
    while at < bytes.len() {
        at = match frame_at(bytes, at) {
            Frame::Good(content, next) => {
                if decode(content).is_ok() {
                    out.extend_from_slice(bytes.get(at..next).unwrap_or_default());
                }
                next
            }
            Frame::BadChecksum(next) if is_record_or_end(bytes, next) => next,
            Frame::BadChecksum(next) if bytes.len() - at > SEARCHED => {
                next_record(bytes, at + 1).unwrap_or(next)
            }
            Frame::BadChecksum(_) | Frame::Torn => next_record(bytes, at + 1).unwrap_or(bytes.len()),
        };
    }
    out
}

/// What the first record of a segment says, if it can be read and says anything.
fn origin(disk: &dyn Disk, path: &Path) -> Result<Option<Origin>, LogError> {
    let mut bytes = [0; HEADER + FRAME_HEADER + 17];
    let file = disk.open(path, Open::Read).map_err(LogError::io("read", path))?;
    let length = file.about().map_err(LogError::io("read", path))?.len;
    if length < bytes.len() as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut bytes, 0).map_err(LogError::io("read", path))?;
    let Frame::Good(content, _) = frame_at(&bytes, HEADER) else { return Ok(None) };
    Ok(match decode(content) {
        Ok(Record::Opened(origin)) => Some(origin),
        _ => None,
    })
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
    let mut damage = |offset: usize, detail: String, is_end: bool| {
        result.damage.push(Damage { path: path.to_owned(), offset: offset as u64, detail, is_end });
    };
    let Some((header, _)) = bytes.split_at_checked(HEADER) else {
        // The process died right after it created the file, which held nothing.
        return Ok(());
    };
    let (magic, version) = header.split_at(MAGIC.len());
    let version = le_u32(version);
    // Later versions have a longer header. So where a record follows at once, it is the header that is damaged.
    let has_record = matches!(frame_at(bytes, HEADER), Frame::Good(..));
    if magic != MAGIC && !has_record {
        damage(0, format!("not a log segment; {} not read", count(bytes.len(), "byte")), false);
        return Ok(());
    }
    // Not damage: another version of Plumbago wrote records here that this one would lose.
    if version != VERSION && !has_record && bytes.len() > HEADER {
        return Err(LogError::Version { path: path.to_owned(), found: version });
    }
    if magic != MAGIC || version != VERSION {
        damage(0, "the header is damaged; the records behind it were read".to_owned(), false);
    }
    let mut at = HEADER;
    while at < bytes.len() {
        match frame_at(bytes, at) {
            Frame::Good(content, next) => {
                match decode(content) {
                    Ok(_) if is_planted(Planted::LastRecordDropped) && next == bytes.len() => {}
                    Ok(record) => {
                        result.records += u64::from(!matches!(record, Record::Opened(_)));
                        visit(record);
                    }
                    Err(detail) => damage(at, detail, false),
                }
                at = next;
            }
            Frame::BadChecksum(next) if is_record_or_end(bytes, next) => {
                let bytes_lost = count(next - at, "byte");
                damage(
                    at,
                    format!("wrong checksum; one record of {bytes_lost} left out"),
                    next == bytes.len(),
                );
                at = next;
            }
            bad => match (next_record(bytes, at + 1), bad) {
                (Some(next), _) => {
                    damage(at, format!("damaged records; {} left out", count(next - at, "byte")), false);
                    at = next;
                }
                (None, Frame::BadChecksum(next)) if bytes.len() - at > SEARCHED => {
                    damage(at, format!("damaged records; {} left out", count(next - at, "byte")), false);
                    at = next;
                }
                // At the end of the last segment, this is what a crash leaves.
                (None, _) => {
                    let left = count(bytes.len() - at, "byte");
                    damage(at, format!("the record is torn; {left} left out"), true);
                    return Ok(());
                }
            },
        }
    }
    Ok(())
}

/// Does a good record begin here, or nothing?
fn is_record_or_end(bytes: &[u8], at: usize) -> bool {
    at == bytes.len() || matches!(frame_at(bytes, at), Frame::Good(..))
}

/// Where the next record begins whose checksum is right.
fn next_record(bytes: &[u8], from: usize) -> Option<usize> {
    let is_good = |&at: &usize| {
        let (length, kind) = match bytes.get(at..).and_then(|rest| rest.first_chunk::<{ FRAME_HEADER + 1 }>())
        {
            Some(&[a, b, c, d, .., kind]) => (u32::from_le_bytes([a, b, c, d]) as usize, kind),
            None => return false,
        };
        length <= SEARCHED && is_plausible(kind, length) && matches!(frame_at(bytes, at), Frame::Good(..))
    };
    (from..bytes.len().min(from.saturating_add(SEARCHED))).find(is_good)
}

/// What is at a place of a segment, and where the next record begins.
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
