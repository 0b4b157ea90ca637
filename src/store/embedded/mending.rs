//! `plumbago fsck --repair`: mends the files of a data directory that nobody uses.
//!
//! Opening the directory mends most of it. What is left is what a server goes on with as it is: damaged pages of blocks that are good
//! otherwise, blocks that are missing, and blocks under the names of others. Everything damaged is set aside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{Block, salvage};
use super::cut::io;
use super::listing::{place_of, saved};
use super::{Embedded, How};
use crate::disk::{Folder, set_aside};
use crate::store::StoreError;

/// Mends a data directory, and says what was done, one line each.
pub(super) fn mend(dir: &Folder) -> Result<Vec<String>, StoreError> {
    let store = Embedded::open_as(dir, How { partly: true, ..How::default() })?;
    let mut mending = Mending { dir, store: &store, done: store.damage().to_vec() };
    mending.blocks()?;
    mending.places()?;
    mending.list()?;
    Ok(mending.done)
}

struct Mending<'a> {
    dir: &'a Folder,
    store: &'a Embedded,
    done: Vec<String>,
}

impl Mending<'_> {
    fn open_blocks(&self) -> Vec<Arc<Block>> {
        self.store.blocks.state().blocks().cloned().collect()
    }

    /// Writes blocks again that have damaged pages.
    fn blocks(&mut self) -> Result<(), StoreError> {
        let disk = self.dir.disk();
        for block in self.open_blocks() {
            let Err(errors) = block.verify() else { continue };
            let (path, meta) = (block.info().path.clone(), block.info().meta);
            let saved = saved(&path);
            let salvaged =
                salvage(disk, &path, meta, self.store.blocks.tag, &saved).map_err(io("save", &path))?;
            let place = set_aside(&**disk, self.dir.path(), &path).map_err(io("set aside", &path))?;
            if salvaged.is_some() {
                disk.rename(&saved, &path).map_err(io("rename", &saved))?;
            }
            self.sync_around(&path)?;
            let lost: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let then =
                if salvaged.is_some() { "the rest was written again" } else { "nothing is left of it" };
            self.done.push(format!(
                "{}; the file is at {} now, and {then}",
                lost.join("; "),
                place.display()
            ));
        }
        Ok(())
    }

    /// Gives blocks the names under which they belong.
    fn places(&mut self) -> Result<(), StoreError> {
        let (disk, blocks) = (self.dir.disk(), &self.store.blocks);
        let mut moves: Vec<(PathBuf, PathBuf)> = Vec::new();
        for block in self.open_blocks() {
            let (path, place) =
                (block.info().path.clone(), self.dir.path().join(place_of(&block.info().meta)));
            if path != place {
                moves.push((path, place));
            }
        }
        for (path, place) in &moves {
            if let Some(parent) = place.parent() {
                disk.create_dirs(parent).map_err(io("create", parent))?;
            }
            disk.rename(path, &saved(place)).map_err(io("rename", path))?;
        }
        for (path, place) in &moves {
            disk.rename(&saved(place), place).map_err(io("rename", place))?;
            self.sync_around(place)?;
            self.done.push(format!("{} was renamed to {}", path.display(), place.display()));
        }
        let relative = |path: &PathBuf| blocks.relative(path);
        let added: Vec<String> = moves.iter().map(|(_, place)| relative(place)).collect();
        let removed: Vec<String> =
            moves.iter().map(|(path, _)| relative(path)).filter(|path| !added.contains(path)).collect();
        blocks.catalogue.replace_blocks(&added, &removed, None, None)
    }

    /// Forgets blocks that are not there.
    fn list(&mut self) -> Result<(), StoreError> {
        let catalogue = &self.store.blocks.catalogue;
        let is_gone = |path: &String| !crate::disk::exists(&**self.dir.disk(), &self.dir.path().join(path));
        let gone: Vec<String> = catalogue.blocks()?.0.into_iter().filter(is_gone).collect();
        if !gone.is_empty() {
            catalogue.replace_blocks(&[], &gone, None, None)?;
        }
        self.done.extend(gone.into_iter().map(|path| format!("{path} is missing, and no longer listed")));
        Ok(())
    }

    fn sync_around(&self, path: &Path) -> Result<(), StoreError> {
        path.parent().map_or(Ok(()), |dir| self.dir.disk().sync_dir(dir).map_err(io("sync", dir)))
    }
}
