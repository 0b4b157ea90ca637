//! Opens the blocks that the catalogue lists, and finds out what became of those that are not as they should be.
//!
//! A block that is damaged outside of its pages is written again from them. One that cannot be helped is set aside and no longer listed.
//! One that is missing stays listed, so that it can be put back.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::{Block, BlockError, BlockMeta, salvage};
use super::cut::io;
use super::partition::partition_secs;
use super::points::{POINTS_DIR, stage_dir};
use super::recovery::block_files;
use crate::disk::{Folder, exists, set_aside};
use crate::store::StoreError;
use plumbago_model::{Stage, StageKind};

/// What is written again has this behind its name until the damaged file is out of the way.
pub(super) const SAVED: &str = "saved";

/// What became of the blocks.
#[derive(Default)]
pub(super) struct Listing {
    /// Those that can be read.
    pub(super) blocks: Vec<Arc<Block>>,
    /// Those that are no longer there, by their path below the data directory.
    pub(super) gone: Vec<String>,
}

/// Opens the blocks of the store with this tag. One that the disk cannot read fails it, unless the store is only looked at.
pub(super) fn open(
    root: &Folder,
    paths: &[String],
    tag: u32,
    only_looks: bool,
    damage: &mut Vec<String>,
) -> Result<Listing, StoreError> {
    let mut opening = Opening { root, tag, only_looks, damage, gone: Vec::new() };
    let mut found = Vec::new();
    for relative in paths {
        found.extend(opening.open(relative)?.map(|block| (relative, block)));
    }
    let blocks = opening.put_in_place(found)?;
    Ok(Listing { blocks, gone: opening.gone })
}

/// Fails if another release wrote a block, before anything is changed.
pub(super) fn check_formats(root: &Folder) -> Result<(), StoreError> {
    let points = root.join(POINTS_DIR);
    if !exists(&**root.disk(), points.path()) {
        return Ok(());
    }
    for path in block_files(&points)? {
        Block::check_format(&**root.disk(), &path).map_err(|error| newer(&error))?;
    }
    Ok(())
}

fn newer(error: &BlockError) -> StoreError {
    StoreError::Refused(format!(
        "{error}. If no newer version was ever used here, move the file away: the start then says that it is missing"
    ))
}

struct Opening<'a> {
    root: &'a Folder,
    tag: u32,
    only_looks: bool,
    damage: &'a mut Vec<String>,
    gone: Vec<String>,
}

impl Opening<'_> {
    fn open(&mut self, relative: &str) -> Result<Option<Block>, StoreError> {
        let path = self.root.path().join(relative);
        match self.try_open(&path) {
            Ok(block) if block.store() != 0 && block.store() != self.tag => {
                self.give_up(relative, "it is of another store")?;
                Ok(None)
            }
            Ok(block) => Ok(Some(block)),
            Err(error @ BlockError::Version { .. }) => Err(newer(&error)),
            Err(BlockError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                let saved = saved(&path);
                if exists(&**self.root.disk(), &saved) {
                    self.root.disk().rename(&saved, &path).map_err(io("rename", &saved))?;
                    return self.open(relative);
                }
                self.damage.push(format!(
                    "{} is missing: what it held is lost, unless you put it back",
                    path.display()
                ));
                Ok(None)
            }
            Err(error @ BlockError::Io { .. }) if self.only_looks => {
                self.damage.push(format!("{error}; the block is left out"));
                Ok(None)
            }
            // A server that went on without the block would write wrong aggregates, and bring back what the block had erased.
            Err(error @ BlockError::Io { .. }) => Err(StoreError::Refused(format!(
                "{error}. The disk may read it again at the next start. If it never will, move the file away: the start then says that it is \
                 missing. `plumbago serve --read-only` serves everything else meanwhile"
            ))),
            Err(error) => self.save(relative, &path, &error),
        }
    }

    /// A read that fails may succeed a moment later.
    fn try_open(&self, path: &Path) -> Result<Block, BlockError> {
        let open = || Block::open(&**self.root.disk(), path);
        match open() {
            Err(BlockError::Io { source, .. }) if source.kind() != ErrorKind::NotFound => open(),
            opened => opened,
        }
    }

    /// Writes a block again from those of its pages that can be read.
    fn save(&mut self, relative: &str, path: &Path, error: &BlockError) -> Result<Option<Block>, StoreError> {
        let disk = self.root.disk();
        let Some(named) = meta_of(relative) else {
            self.give_up(relative, &error.to_string())?;
            return Ok(None);
        };
        let saved = saved(path);
        let Some(salvaged) = salvage(disk, path, named, self.tag, &saved).map_err(io("save", path))? else {
            self.give_up(relative, &error.to_string())?;
            return Ok(None);
        };
        let place = set_aside(&**disk, self.root.path(), path).map_err(io("set aside", path))?;
        disk.rename(&saved, path).map_err(io("rename", &saved))?;
        if let Some(dir) = path.parent() {
            disk.sync_dir(dir).map_err(io("sync", dir))?;
        }
        let lost = match salvaged.lost.as_slice() {
            [] => "nothing of it is lost".to_owned(),
            lost => format!("lost: {}", lost.join(", ")),
        };
        self.damage.push(format!(
            "{error}; it is at {} now, and was written again from its pages; {lost}",
            place.display()
        ));
        let block = Block::open(&**disk, path);
        block.map(Some).map_err(|e| StoreError::Damaged { path: path.to_owned(), detail: e.to_string() })
    }

    /// Sets a block aside of which nothing can be used.
    fn give_up(&mut self, relative: &str, why: &str) -> Result<(), StoreError> {
        let path = self.root.path().join(relative);
        let place =
            set_aside(&**self.root.disk(), self.root.path(), &path).map_err(io("set aside", &path))?;
        let (path, place) = (path.display(), place.display());
        self.damage
            .push(format!("{path} cannot be used: {why}; it is at {place} now, and what was there is lost"));
        self.gone.push(relative.to_owned());
        Ok(())
    }

    /// A block says itself where it belongs. One that has the name of another is used as what it is, but only once.
    fn put_in_place(&mut self, found: Vec<(&String, Block)>) -> Result<Vec<Arc<Block>>, StoreError> {
        let mut held: HashSet<String> = found
            .iter()
            .filter(|(relative, block)| place_of(&block.info().meta) == **relative)
            .map(|(relative, _)| (*relative).clone())
            .collect();
        let mut blocks = Vec::with_capacity(found.len());
        for (relative, block) in found {
            let place = place_of(&block.info().meta);
            if place == *relative {
                blocks.push(Arc::new(block));
            } else if held.insert(place.clone()) {
                let path = block.info().path.display();
                self.damage.push(format!("{path} holds {place}, which is read from there; what {relative} held is lost unless another file has it"));
                blocks.push(Arc::new(block));
            } else {
                drop(block);
                self.give_up(relative, &format!("it is a copy of {place}"))?;
            }
        }
        Ok(blocks)
    }
}

/// Where a block is written before it takes its place.
pub(super) fn saved(path: &Path) -> PathBuf {
    let mut saved = path.as_os_str().to_owned();
    saved.push(".");
    saved.push(SAVED);
    PathBuf::from(saved)
}

/// The path of a block below the data directory.
pub(super) fn place_of(meta: &BlockMeta) -> String {
    let (stage, start) = (stage_dir(meta.stage), meta.partition_start);
    format!("{POINTS_DIR}/{stage}/{start}/{}-{}.blk", meta.cut_from, meta.cut_to)
}

/// What the path of a block says about it.
pub(super) fn meta_of(relative: &str) -> Option<BlockMeta> {
    let mut parts = relative.strip_prefix(POINTS_DIR)?.strip_prefix('/')?.split('/');
    let (stage, start, file) = (parts.next()?, parts.next()?, parts.next()?);
    let (cut_from, cut_to) = file.strip_suffix(".blk")?.split_once('-')?;
    let (step, rest) = stage.split_once("s-")?;
    let (points, kind) = rest.split_once('-')?;
    let kind = match kind {
        "raw" => StageKind::Raw,
        "aggr" => StageKind::Aggregated,
        _ => return None,
    };
    let step_secs = step.parse().ok().filter(|&step| step > 0)?;
    let stage = Stage { step_secs, points: points.parse().ok()?, kind };
    let meta = BlockMeta {
        stage,
        partition_start: start.parse().ok()?,
        partition_secs: partition_secs(stage),
        cut_from: cut_from.parse().ok()?,
        cut_to: cut_to.parse().ok()?,
    };
    (parts.next().is_none() && place_of(&meta) == relative).then_some(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_block_says_what_its_header_says() {
        let path = "points/10s-8640-raw/1794960000/1-17.blk";
        let meta = meta_of(path).unwrap();
        assert_eq!((meta.stage.to_string().as_str(), meta.cut_from, meta.cut_to), ("8640*10s_0", 1, 17));
        assert_eq!(place_of(&meta), path);
        for bad in [
            "points/10s-8640-raw/1/1-17.blk.tmp",
            "points/0s-1-raw/1/1-1.blk",
            "log/1.log",
            "points/10s-8640-raw/01/1-1.blk",
        ] {
            assert_eq!(meta_of(bad), None, "{bad}");
        }
    }
}
