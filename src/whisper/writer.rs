//! Writes files in carbon's format.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use plumbago_model::{Point, Policy, Retention, Stage};

use super::POINT_BYTES;
use super::error::WriteError;
use super::header::{ENTRY_BYTES, METADATA_BYTES};
use super::method;

/// What the name of a file that is not complete yet ends with.
const UNFINISHED: &str = "plumbago-tmp";

/// Bytes that are collected before they go to the system.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes a file with the policy of a metric and the points of each of its stages, oldest first. A reader of `path` sees the old
/// file or the new one, also after a crash. Directories above it are made.
pub fn write(path: &Path, policy: &Policy, archives: &[&[Point]]) -> Result<(), WriteError> {
    check(policy, archives)?;
    let unfinished = unfinished(path);
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::Io { action, path, source }
    };
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed("make the directory", directory))?;
    }
    let done = write_unfinished(&unfinished, policy, archives).map_err(failed("write", &unfinished));
    let done = done.and_then(|()| fs::rename(&unfinished, path).map_err(failed("rename a file to", path)));
    if done.is_err() {
        // What is left of it is of no use; if it cannot be removed either, the first error says more.
        let _ = fs::remove_file(&unfinished);
    }
    done
}

/// The bytes of such a file.
pub fn encode(policy: &Policy, archives: &[&[Point]]) -> Result<Vec<u8>, WriteError> {
    check(policy, archives)?;
    let mut bytes = Vec::new();
    let failed = |source| WriteError::Io { action: "write", path: PathBuf::new(), source };
    write_to(&mut bytes, policy, archives).map_err(failed)?;
    Ok(bytes)
}

/// A name of its own for each call, and short: that of the file may have all the bytes that a name can have.
fn unfinished(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!("{}-{call}.{UNFINISHED}", std::process::id()))
}

fn write_unfinished(path: &Path, policy: &Policy, archives: &[&[Point]]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
    write_to(&mut out, policy, archives)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Without this a crash after the rename could leave an empty file in the place of the old one.
    file.sync_all()
}

/// The bytes of a file; points and policy are checked.
fn write_to(out: &mut impl Write, policy: &Policy, archives: &[&[Point]]) -> io::Result<()> {
    let stages = policy.retention.stages();
    let longest = u32::try_from(policy.retention.span_secs()).unwrap_or(u32::MAX);
    out.write_all(&method::code(policy.aggregator).to_be_bytes())?;
    out.write_all(&longest.to_be_bytes())?;
    out.write_all(&(policy.x_files_factor as f32).to_be_bytes())?;
    out.write_all(&(stages.len() as u32).to_be_bytes())?;
    let mut offset = header_bytes(stages);
    for stage in stages {
        out.write_all(&(offset as u32).to_be_bytes())?;
        out.write_all(&stage.step_secs.to_be_bytes())?;
        out.write_all(&stage.points.to_be_bytes())?;
        offset += archive_bytes(stage);
    }
    for (stage, points) in stages.iter().zip(archives) {
        write_ring(out, stage, points)?;
    }
    Ok(())
}

/// The oldest point is the first, which gives all others their places. A slot without a point is zeros.
fn write_ring(out: &mut impl Write, stage: &Stage, points: &[Point]) -> io::Result<()> {
    let first = points.first().map_or(0, |point| point.timestamp);
    let mut at = 0;
    for point in points {
        let slot = u64::from((point.timestamp - first) / stage.step_secs);
        write_zeros(out, (slot - at) * POINT_BYTES as u64)?;
        out.write_all(&point.timestamp.to_be_bytes())?;
        out.write_all(&point.value.to_be_bytes())?;
        at = slot + 1;
    }
    write_zeros(out, (u64::from(stage.points) - at) * POINT_BYTES as u64)
}

fn write_zeros(out: &mut impl Write, count: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), count), out).map(drop)
}

fn check(policy: &Policy, archives: &[&[Point]]) -> Result<(), WriteError> {
    let stages = policy.retention.stages();
    if archives.len() != stages.len() {
        return Err(WriteError::Archives { stages: stages.len(), given: archives.len() });
    }
    let value = policy.x_files_factor;
    if !(0.0..=1.0).contains(&value) {
        return Err(WriteError::XFilesFactor { value });
    }
    let bytes = header_bytes(stages) + stages.iter().map(archive_bytes).sum::<u64>();
    if u32::try_from(bytes).is_err() {
        return Err(WriteError::TooLarge { bytes });
    }
    stages
        .iter()
        .zip(archives)
        .enumerate()
        .try_for_each(|(archive, (stage, points))| check_points(archive, stage, points))
}

fn check_points(archive: usize, stage: &Stage, points: &[Point]) -> Result<(), WriteError> {
    let step = stage.step_secs;
    let mut before = 0;
    for &Point { timestamp, .. } in points {
        if timestamp <= before || !timestamp.is_multiple_of(step) {
            return Err(WriteError::Timestamp { archive, timestamp, step });
        }
        before = timestamp;
    }
    let first = points.first().map_or(0, |point| point.timestamp);
    if u64::from(before - first) >= stage.span_secs() {
        return Err(WriteError::TooWide { archive, slots: stage.points, step, first, last: before });
    }
    Ok(())
}

/// Bytes of a file with these archives, which has all of them from the beginning.
pub fn file_bytes(retention: &Retention) -> u64 {
    header_bytes(retention.stages()) + retention.stages().iter().map(archive_bytes).sum::<u64>()
}

fn header_bytes(stages: &[Stage]) -> u64 {
    METADATA_BYTES + ENTRY_BYTES * stages.len() as u64
}

fn archive_bytes(stage: &Stage) -> u64 {
    u64::from(stage.points) * POINT_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[u32]) -> Vec<Point> {
        times.iter().map(|&timestamp| Point { timestamp, value: 1.0 }).collect()
    }

    fn refusal(policy: &str, archives: &[&[Point]]) -> String {
        check(&policy.parse().unwrap(), archives).unwrap_err().to_string()
    }

    const POLICY: &str = "6*10s:6*60s|sum|0.5";

    #[test]
    fn the_bytes_are_those_that_whisper_writes() {
        let bytes = encode(&POLICY.parse().unwrap(), &[&points(&[120, 140]), &[]]).unwrap();
        let numbers = [2, 360, 0.5f32.to_bits(), 2, 40, 10, 6, 112, 60, 6].map(u32::to_be_bytes).concat();
        assert_eq!(bytes[..40], numbers);
        assert_eq!(bytes.len(), 40 + 12 * 12);
        assert_eq!(bytes[40..44], 120u32.to_be_bytes());
        assert_eq!(bytes[52..64], [0; 12], "no point at 130");
        assert_eq!(bytes[64..68], 140u32.to_be_bytes());
        assert!(bytes[76..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn points_that_have_no_place_are_refused() {
        assert!(refusal(POLICY, &[&[]]).contains("has 2 stages, but points were given for 1"));
        let refused = |times: &[u32]| refusal(POLICY, &[&points(times), &[]]);
        assert!(refused(&[0, 10]).contains("cannot keep a point at 0"));
        assert!(refused(&[10, 15]).contains("cannot keep a point at 15"));
        assert!(refused(&[20, 20]).contains("cannot keep a point at 20"));
        assert!(refused(&[10, 70]).contains("those from 10 to 70 need more"));
        assert!(check(&POLICY.parse().unwrap(), &[&points(&[10, 60]), &[]]).is_ok());
    }

    #[test]
    fn files_that_whisper_cannot_have_are_refused() {
        assert!(refusal("6*10s|sum|1.5", &[&[]]).contains("xFilesFactor is 1.5"));
        assert!(refusal("400000000*1s|sum|0.5", &[&[]]).contains("4800000028 bytes is not possible"));
    }
}
