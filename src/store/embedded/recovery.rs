//! Opens a data directory: takes the lock, and removes what a crash left behind.
//!
//! The catalogue decides: a block file is in use if, and only if, it is listed there. The cut numbers of an unlisted file tell
//! where it comes from: a cut or a merge that did not commit, or a removal that did not finish. Removing such a file loses
//! nothing: the points of that cut are still in the log, and the blocks of that merge are still listed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::block::Block;
use super::catalogue::CATALOGUE_FILE;
use super::cut::io;
use super::listing::SAVED;
use super::points::POINTS_DIR;
use super::state::State;
use super::transcript::TRANSCRIPT_FILE;
use crate::disk::{self, Disk, DiskFile, Folder, Lock, Open, set_aside};
use crate::store::StoreError;

/// The file that is locked.
pub(super) const LOCK_FILE: &str = "LOCK";

/// Held as long as the directory is in use. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DirLock {
    _file: Box<dyn DiskFile>,
}

impl DirLock {
    /// Like [`DirLock::take`], but does not create a missing directory.
    pub fn take_existing(dir: &Folder) -> Result<Self, StoreError> {
        let catalogue = dir.path().join(CATALOGUE_FILE);
        dir.disk().about(&catalogue).map_err(io("find the catalogue in", dir.path()))?;
        Self::take(dir)
    }

    /// Takes the lock, or says that another process has it.
    pub fn take(dir: &Folder) -> Result<Self, StoreError> {
        disk::make_dirs(&**dir.disk(), dir.path()).map_err(io("create the data directory", dir.path()))?;
        let path = dir.path().join(LOCK_FILE);
        match dir.disk().lock(&path, Lock::Alone).map_err(io("lock", &path))? {
            Some(file) => Ok(Self { _file: file }),
            None => Err(StoreError::InUse { path: dir.path().to_owned() }),
        }
    }
}

/// Removes a catalogue that a first start began to make. The database writes its first bytes last, so nothing was ever in it.
///
/// A directory in which anything else was made had a whole one.
pub(super) fn forget_unfinished(dir: &Folder) -> Result<(), StoreError> {
    let (disk, path) = (&**dir.disk(), dir.path().join(CATALOGUE_FILE));
    let is_used =
        ["log", POINTS_DIR, TRANSCRIPT_FILE].iter().any(|name| disk::exists(disk, &dir.path().join(name)));
    if is_used || !disk::exists(disk, &path) {
        return Ok(());
    }
    let mut first = [0; 8];
    let file = disk.open(&path, Open::Read).map_err(io("open", &path))?;
    let read = file.read_at(&mut first, 0).map_err(io("read", &path))?;
    if read > 0 && first == [0; 8] {
        disk.remove(&path).map_err(io("remove", &path))?;
    }
    Ok(())
}

/// Removes files of cuts and merges that were not committed, or whose removal was interrupted.
///
/// Any other unlisted block file is kept, and named in the log: it may belong to a newer catalogue than the restored one. Where the
/// catalogue was made of its transcript nothing is removed but set aside, and added to `damage`.
pub(super) fn sweep(
    root: &Folder,
    listed: &[String],
    state: &State,
    mut damage: Option<&mut Vec<String>>,
) -> Result<(), StoreError> {
    let listed: HashSet<PathBuf> = listed.iter().map(|p| root.path().join(p)).collect();
    let disk = &**root.disk();
    for path in block_files(&root.join(POINTS_DIR))? {
        if listed.contains(&path) {
            continue;
        }
        if path.extension().is_some_and(|e| e == "tmp" || e == SAVED) {
            disk.remove(&path).map_err(io("remove", &path))?;
        } else if is_leftover(disk, &path, state) {
            match &mut damage {
                None => disk.remove(&path).map_err(io("remove", &path))?,
                Some(damage) => {
                    let place = set_aside(disk, root.path(), &path).map_err(io("set aside", &path))?;
                    damage.push(format!(
                        "{} is not listed in the catalogue that was made again; it is at {} now",
                        path.display(),
                        place.display()
                    ));
                }
            }
        } else {
            tracing::warn!(path = %path.display(), "a block file that the catalogue does not list was kept; `plumbago dump` shows what is in it");
        }
    }
    Ok(())
}

fn is_leftover(disk: &dyn Disk, path: &Path, state: &State) -> bool {
    let Ok(block) = Block::open(disk, path) else { return false };
    let meta = block.info().meta;
    let in_force = state.stages.get(&meta.stage).and_then(|s| s.get(&meta.partition_start));
    let covered = |b: &std::sync::Arc<Block>| {
        let other = b.info().meta;
        other.cut_from <= meta.cut_from && meta.cut_to <= other.cut_to
    };
    // An uncommitted merge spans blocks in use; an uncommitted cut has a number after the last one.
    let spans = |b: &std::sync::Arc<Block>| {
        let other = b.info().meta;
        meta.cut_from <= other.cut_from && other.cut_to <= meta.cut_to
    };
    meta.cut_from > state.position.cut
        || in_force.is_some_and(|blocks| blocks.iter().any(|b| covered(b) || spans(b)))
}

/// All files two levels below `dir`.
pub(super) fn block_files(dir: &Folder) -> Result<Vec<PathBuf>, StoreError> {
    let disk = dir.disk();
    let is_dir = |path: &PathBuf| disk.about(path).is_ok_and(|about| about.is_dir);
    let mut found = vec![dir.path().to_owned()];
    for _ in 0..3 {
        let mut next = Vec::new();
        for dir in found.iter().filter(|path| is_dir(path)) {
            next.extend(disk.list(dir).map_err(io("list", dir))?);
        }
        found = next;
    }
    found.retain(|path| disk.about(path).is_ok_and(|about| !about.is_dir));
    Ok(found)
}
