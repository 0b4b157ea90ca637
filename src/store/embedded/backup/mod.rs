//! Backups of a store that is in use, and the way back.
//!
//! A backup is the store as of one commit: a copy of the catalogue, and the blocks that it lists. Blocks never change after they
//! have their names, so they are hard links where that is possible. Nobody waits: the list of blocks is taken under the lock that
//! commits take, for as long as it takes to copy a pointer, and everything else is read from open files.
//!
//! The manifest is written last. A directory with another one, or none, holds what the next attempt can use.

mod file;
mod manifest;
mod place;
mod restore;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use restore::check_restored;
pub use restore::{Restored, Verified};

use super::block::Block;
use super::catalogue::CATALOGUE_FILE;
use super::cut::io;
use super::points::{BlockStore, Still};
use crate::disk::{Folder, Open};
use crate::store::{BackedUp, Headway, StoreError};
use manifest::{Entry, Header, Manifest};
use place::Place;
use plumbago_model::count;

/// Backs up what is committed.
pub(super) fn back_up(store: &BlockStore, dir: &Folder, headway: &Headway) -> Result<BackedUp, StoreError> {
    let place = Place::take(dir, store.root.path())?;
    // A damaged manifest must not stand in the way of a new one.
    let earlier = Manifest::read(&place.dir).unwrap_or_else(|error| {
        tracing::warn!(%error, "the earlier backup cannot be used; its blocks are read again");
        None
    });
    let still = store.hold_still()?;
    let mut work = Work {
        place: &place,
        headway,
        known: earlier.iter().flat_map(|m| &m.files).map(|entry| (&*entry.file, entry)).collect(),
        done: BackedUp { number: earlier.as_ref().map_or(0, |m| m.header.number) + 1, ..BackedUp::default() },
        files: Vec::new(),
    };
    let taken = place.disk().now().as_secs();
    work.run(store, &still)?;
    let Work { mut done, files, .. } = work;
    let header = Header::new(done.number, taken, still.state.position.cut, done.lost.clone());
    let manifest = Manifest { header, files };
    manifest.write(&place.dir)?;
    (done.files, done.bytes) = (manifest.files.len() as u64, manifest.bytes());
    // The backup is complete: what could not be removed now is removed by the next one.
    done.removed = place.sweep(&manifest).unwrap_or_else(|error| {
        tracing::warn!(%error, "files of an earlier backup could not be removed; the next one tries again");
        0
    });
    Ok(done)
}

/// A backup being made.
struct Work<'a> {
    place: &'a Place,
    headway: &'a Headway,
    /// The files of the earlier backup.
    known: HashMap<&'a str, &'a Entry>,
    done: BackedUp,
    files: Vec<Entry>,
}

impl Work<'_> {
    fn run(&mut self, store: &BlockStore, still: &Still) -> Result<(), StoreError> {
        let open: HashMap<String, &Arc<Block>> =
            still.state.blocks().map(|block| (store.relative(&block.info().path), block)).collect();
        let mut blocks = Vec::new();
        for path in &still.listed {
            match open.get(path) {
                Some(block) => blocks.push((path.clone(), backup_name(path, block)?, *block)),
                None => self.done.lost.push(path.clone()),
            }
        }
        let names: Vec<&str> = blocks.iter().map(|(_, (name, _), _)| &**name).collect();
        self.headway
            .begin(blocks.len() as u64 + 1, blocks.iter().map(|(_, _, block)| block.info().bytes).sum());
        file::make_directories(&self.place.dir, &names)?;
        // All links come first: they need no room, and what has one cannot be lost any more.
        let mut linked = Vec::with_capacity(blocks.len());
        for (_, (name, modified), block) in &blocks {
            let target = self.place.path(name);
            let is_there = file::is_there(self.place.disk(), &target, block.info().bytes, Some(*modified));
            linked
                .push(!is_there && file::link(block.file(), self.place.disk(), &block.info().path, &target));
        }
        for ((path, (name, modified), block), linked) in blocks.iter().zip(linked) {
            let entry = self.add_block(path, name, *modified, block, linked)?;
            self.files.push(entry);
            self.headway.files.add(1);
        }
        self.add_catalogue(still)?;
        file::sync_directories(&self.place.dir, &names)
    }

    fn add_block(
        &mut self,
        path: &str,
        name: &str,
        modified: u64,
        block: &Block,
        linked: bool,
    ) -> Result<Entry, StoreError> {
        let target = self.place.path(name);
        let bytes = block.info().bytes;
        let is_there = linked || file::is_there(self.place.disk(), &target, bytes, Some(modified));
        if is_there
            && let Some(known) =
                self.known.get(name).filter(|known| known.bytes == bytes && known.path == path)
        {
            self.done.kept += 1;
            self.headway.bytes.add(bytes);
            return Ok(Entry::clone(known));
        }
        let sum = if is_there {
            if linked {
                self.done.linked += 1
            } else {
                self.done.kept += 1
            }
            let open = self.place.disk().open(&target, Open::Read);
            let found = open.and_then(|file| file::checksum(&*file, self.headway));
            found.map_err(io("read", &target))?
        } else {
            self.done.copied += 1;
            self.done.copied_bytes += bytes;
            file::copy(block.file(), self.place.disk(), &target, Some(modified), self.headway)?
        };
        if sum.0 != bytes {
            let detail = format!("it has {} and had {bytes} when it was opened", count(sum.0, "byte"));
            return Err(StoreError::Damaged { path: block.info().path.clone(), detail });
        }
        let (file, path) = (name.to_owned(), path.to_owned());
        Ok(Entry { file, path, bytes, crc32c: sum.1, modified_ns: Some(modified) })
    }

    fn add_catalogue(&mut self, still: &Still) -> Result<(), StoreError> {
        let name = format!("catalogue-{}.redb", self.done.number);
        let (disk, target) = (self.place.disk(), self.place.path(&name));
        let tmp = file::tmp_of(&target);
        // The database library hides what goes wrong while it closes the copy. So its last writes may not be synced.
        let sync = || disk.open(&tmp, Open::Write).and_then(|file| file.sync_all()).map_err(io("sync", &tmp));
        still.copy_catalogue(&tmp).and_then(|()| sync()).inspect_err(|_| {
            let _ = disk.remove(&tmp);
        })?;
        disk.rename(&tmp, &target).map_err(io("write", &target))?;
        let source = disk.open(&target, Open::Read).map_err(io("read", &target))?;
        let (bytes, crc32c) = file::checksum(&*source, &Headway::default()).map_err(io("read", &target))?;
        self.done.copied += 1;
        self.done.copied_bytes += bytes;
        self.headway.files.add(1);
        let path = CATALOGUE_FILE.to_owned();
        self.files.push(Entry { file: name, path, bytes, crc32c, modified_ns: None });
        Ok(())
    }
}

/// The name of a block in a backup, and when it was written. A block of another history with the same cuts has another name.
fn backup_name(path: &str, block: &Block) -> Result<(String, u64), StoreError> {
    let source = &block.info().path;
    let file = block.file().about().map_err(io("read", source))?;
    let modified = file.modified_ns.unwrap_or(0);
    let stem = path.strip_suffix(".blk").unwrap_or(path);
    Ok((format!("{stem}.{modified:x}.blk"), modified))
}

#[cfg(test)]
mod tests;
