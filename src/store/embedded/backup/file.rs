//! Moving one file: copied or linked, with its checksum.

use std::io;
use std::path::{Path, PathBuf};

use super::super::cut::io as failed;
use crate::disk::{Disk, DiskFile, Folder, Open};
use crate::store::{Headway, StoreError};

/// Read and written at once.
const PIECE: usize = 1 << 20;

/// Visits the bytes of an open file from its beginning. Gives their checksum.
fn read_all(
    source: &dyn DiskFile,
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
pub(super) fn checksum(source: &dyn DiskFile, headway: &Headway) -> io::Result<(u64, u32)> {
    read_all(source, headway, |_| Ok(()))
}

/// Copies an open file to `target`, which is complete and on disk when it has its name. Gives its length and checksum.
pub(super) fn copy(
    source: &dyn DiskFile,
    disk: &dyn Disk,
    target: &Path,
    modified_ns: Option<u64>,
    headway: &Headway,
) -> Result<(u64, u32), StoreError> {
    let tmp = tmp_of(target);
    let copied = (|| {
        let file = disk.open(&tmp, Open::Fresh)?;
        let mut at = 0;
        let copied = read_all(source, headway, |piece| {
            file.write_at(piece, at)?;
            at += piece.len() as u64;
            Ok(())
        })?;
        modified_ns.map_or(Ok(()), |ns| file.set_modified(ns))?;
        file.sync_all()?;
        disk.rename(&tmp, target)?;
        Ok(copied)
    })();
    copied.map_err(|error| {
        // Half a file takes up room that the disk may not have, and no later attempt uses it.
        let _ = disk.remove(&tmp);
        failed("write", target)(error)
    })
}

/// Makes `target` a second name of the open file at `path`. False where that is not possible.
pub(super) fn link(source: &dyn DiskFile, disk: &dyn Disk, path: &Path, target: &Path) -> bool {
    if disk.link(path, target).is_err() {
        return false;
    }
    let is_same = source
        .about()
        .is_ok_and(|ours| disk.about(target).is_ok_and(|linked| ours.identity == linked.identity));
    // Another file has this name by now: the open one is what belongs into the backup.
    if !is_same {
        let _ = disk.remove(target);
    }
    is_same
}

/// Is there a file of this length, written at this time?
pub(super) fn is_there(disk: &dyn Disk, path: &Path, bytes: u64, modified_ns: Option<u64>) -> bool {
    disk.about(path).is_ok_and(|file| {
        !file.is_dir && file.len == bytes && (modified_ns.is_none() || file.modified_ns == modified_ns)
    })
}

/// The name of a file that is not complete.
pub(super) fn tmp_of(path: &Path) -> PathBuf {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    PathBuf::from(tmp)
}

/// Makes the directory above each of these files below `root`.
pub(super) fn make_directories(root: &Folder, files: &[&str]) -> Result<(), StoreError> {
    for dir in directories(root.path(), files) {
        root.disk().create_dirs(&dir).map_err(failed("create", &dir))?;
    }
    Ok(())
}

/// Makes the names of these files below `root` durable.
pub(super) fn sync_directories(root: &Folder, files: &[&str]) -> Result<(), StoreError> {
    let sync = |dir: &PathBuf| root.disk().sync_dir(dir).map_err(failed("sync", dir));
    directories(root.path(), files).iter().try_for_each(sync)
}

/// Every directory from `root` down to these files.
fn directories(root: &Path, files: &[&str]) -> Vec<PathBuf> {
    let below = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
    let mut all: Vec<PathBuf> = below.map(|dir| root.join(dir)).collect();
    all.sort();
    all.dedup();
    all
}
