//! Mends a log that nobody uses: damaged segments are written again without what is damaged, under the names that they should have.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::LogError;
use super::segment::{Sorted, copy_good, replay_of, segment_path, segments, sort};
use crate::disk::{self, Folder, set_aside};

/// Mends the segments from `floor` on. The damaged files are set aside. Gives what was done, one line each.
pub fn mend(dir: &Folder, store: u64, floor: u64) -> Result<Vec<String>, LogError> {
    let (disk, root) = (&**dir.disk(), dir.path().parent().unwrap_or(dir.path()));
    let found = replay_of(dir, store, floor, |_| ())?;
    let present: BTreeSet<PathBuf> = segments(dir, floor)?.into_iter().map(|(_, path)| path).collect();
    let damaged: BTreeSet<&PathBuf> =
        found.damage.iter().map(|damage| &damage.path).filter(|path| present.contains(*path)).collect();
    let Sorted { ordered, .. } = sort(dir, store, floor)?;
    let mut mended: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (number, path) in ordered.into_iter().filter(|(_, path)| damaged.contains(path)) {
        let place = segment_path(dir.path(), number);
        let tmp = place.with_extension("mended");
        let bytes = disk::read(disk, &path).map_err(LogError::io("read", &path))?;
        disk::write(disk, &tmp, &copy_good(&bytes)).map_err(LogError::io("write", &tmp))?;
        mended.push((tmp, place));
    }
    for path in damaged {
        set_aside(disk, root, path).map_err(LogError::io("set aside", path))?;
    }
    for (tmp, place) in mended {
        disk.rename(&tmp, &place).map_err(LogError::io("rename", &tmp))?;
    }
    disk.sync_dir(dir.path()).map_err(LogError::io("sync", dir.path()))?;
    let line = |damage: &super::Damage| {
        format!("{} at byte {}: {}", damage.path.display(), damage.offset, damage.detail)
    };
    Ok(found.damage.iter().map(line).collect())
}
