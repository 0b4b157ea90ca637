//! Opens a data directory: takes the lock, and removes what a crash left behind.
//!
//! The catalogue decides: a block file is in use if, and only if, it is listed there. The cut numbers of an unlisted file tell
//! where it comes from: a cut or a merge that did not commit, or a removal that did not finish. Removing such a file loses
//! nothing: the points of that cut are still in the log, and the blocks of that merge are still listed.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::block::Block;
use super::catalogue::CATALOGUE_FILE;
use super::cut::io;
use super::points::POINTS_DIR;
use super::state::State;
use crate::store::StoreError;

/// The file that is locked.
pub(super) const LOCK_FILE: &str = "LOCK";

/// Held as long as the directory is in use. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl DirLock {
    /// Like [`DirLock::take`], but does not create a missing directory.
    pub fn take_existing(dir: &Path) -> Result<Self, StoreError> {
        std::fs::metadata(dir.join(CATALOGUE_FILE)).map_err(io("find the catalogue in", dir))?;
        Self::take(dir)
    }

    /// Takes the lock, or says that another process has it.
    pub fn take(dir: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(dir).map_err(io("create the data directory", dir))?;
        let path = dir.join(LOCK_FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: dir.to_owned() }),
            Err(TryLockError::Error(source)) => Err(StoreError::Io { action: "lock", path, source }),
        }
    }
}

/// Removes files of cuts and merges that were not committed, or whose removal was interrupted.
///
/// Any other unlisted block file is kept, and named in the log: it may belong to a newer catalogue than the restored one.
pub(super) fn sweep(root: &Path, listed: &[String], state: &State) -> Result<(), StoreError> {
    let listed: HashSet<PathBuf> = listed.iter().map(|p| root.join(p)).collect();
    for path in block_files(&root.join(POINTS_DIR))? {
        if listed.contains(&path) {
            continue;
        }
        if path.extension().is_some_and(|e| e == "tmp") || is_leftover(&path, state) {
            std::fs::remove_file(&path).map_err(io("remove", &path))?;
        } else {
            tracing::warn!(path = %path.display(), "a block file that the catalogue does not list was kept; `plumbago dump` shows what is in it");
        }
    }
    Ok(())
}

fn is_leftover(path: &Path, state: &State) -> bool {
    let Ok(block) = Block::open(path) else { return false };
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
pub(super) fn block_files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = vec![dir.to_owned()];
    for _ in 0..3 {
        let mut next = Vec::new();
        for dir in found.iter().filter(|d| d.is_dir()) {
            let entries = std::fs::read_dir(dir).map_err(io("list", dir))?;
            next.extend(entries.filter_map(|e| e.ok().map(|e| e.path())));
        }
        found = next;
    }
    found.retain(|path| path.is_file());
    Ok(found)
}
