//! Moving one file: copied or linked, with its checksum.

use std::fs::{self, File, FileTimes};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::block::sync_dir;
use super::super::cut::io as failed;
use crate::store::{Headway, StoreError};

/// Read and written at once.
const PIECE: usize = 1 << 20;

/// Visits the bytes of an open file from its beginning. Gives their checksum.
fn read_all(
    source: &File,
    headway: &Headway,
    mut visit: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, u32)> {
    let mut buffer = vec![0; PIECE];
    let (mut at, mut sum) = (0, 0);
    loop {
        if headway.is_stopped() {
            return Err(io::Error::other("it was stopped; run it again later, and it goes on from here"));
        }
        let read = match source.read_at(&mut buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { return Ok((at, sum)) };
        visit(piece)?;
        sum = crc32c::crc32c_append(sum, piece);
        at += read as u64;
        headway.bytes.add(read as u64);
    }
}

/// The length and the checksum of an open file.
pub(super) fn checksum(source: &File, headway: &Headway) -> io::Result<(u64, u32)> {
    read_all(source, headway, |_| Ok(()))
}

/// Copies an open file to `target`, which is complete and on disk when it has its name. Gives its length and checksum.
pub(super) fn copy(
    source: &File,
    target: &Path,
    modified_ns: Option<u64>,
    headway: &Headway,
) -> Result<(u64, u32), StoreError> {
    let tmp = tmp_of(target);
    let copied = (|| {
        let mut file = File::create(&tmp)?;
        let copied = read_all(source, headway, |piece| file.write_all(piece))?;
        if let Some(time) = modified_ns.map(|ns| UNIX_EPOCH + Duration::from_nanos(ns)) {
            file.set_times(FileTimes::new().set_modified(time))?;
        }
        file.sync_all()?;
        fs::rename(&tmp, target)?;
        Ok(copied)
    })();
    copied.map_err(|error| {
        // Half a file takes up room that the disk may not have, and no later attempt uses it.
        let _ = fs::remove_file(&tmp);
        failed("write", target)(error)
    })
}

/// Makes `target` a second name of the open file at `path`. False where that is not possible.
pub(super) fn link(source: &File, path: &Path, target: &Path) -> bool {
    if fs::hard_link(path, target).is_err() {
        return false;
    }
    let identity = |file: &fs::Metadata| (file.dev(), file.ino());
    let is_same = source
        .metadata()
        .is_ok_and(|ours| fs::metadata(target).is_ok_and(|linked| identity(&ours) == identity(&linked)));
    // Another file has this name by now: the open one is what belongs into the backup.
    if !is_same {
        let _ = fs::remove_file(target);
    }
    is_same
}

/// Is there a file of this length, written at this time?
pub(super) fn is_there(path: &Path, bytes: u64, modified_ns: Option<u64>) -> bool {
    fs::metadata(path).is_ok_and(|file| {
        file.is_file() && file.len() == bytes && (modified_ns.is_none() || modified(&file) == modified_ns)
    })
}

/// When a file was written, in nanoseconds since 1970.
pub(super) fn modified(file: &fs::Metadata) -> Option<u64> {
    let since = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

/// The name of a file that is not complete.
pub(super) fn tmp_of(path: &Path) -> PathBuf {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    PathBuf::from(tmp)
}

/// Makes the directory above each of these files below `root`.
pub(super) fn make_directories(root: &Path, files: &[&str]) -> Result<(), StoreError> {
    for dir in directories(root, files) {
        fs::create_dir_all(&dir).map_err(failed("create", &dir))?;
    }
    Ok(())
}

/// Makes the names of these files below `root` durable.
pub(super) fn sync_directories(root: &Path, files: &[&str]) -> Result<(), StoreError> {
    directories(root, files).iter().try_for_each(|dir| sync_dir(dir).map_err(failed("sync", dir)))
}

/// Every directory from `root` down to these files.
fn directories(root: &Path, files: &[&str]) -> Vec<PathBuf> {
    let below = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
    let mut all: Vec<PathBuf> = below.map(|dir| root.join(dir)).collect();
    all.sort();
    all.dedup();
    all
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
