//! Damaged files are set aside, never removed: they are evidence, and somebody may still get something out of them.

use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, exists};

/// The directory for them, in a data directory.
pub const ASIDE_DIR: &str = "aside";

/// Moves a file of a data directory to the same place below `aside/`, and gives its new path. Nothing there is replaced.
pub fn set_aside(disk: &dyn Disk, root: &Path, path: &Path) -> io::Result<PathBuf> {
    let target = free_place(disk, &root.join(ASIDE_DIR).join(path.strip_prefix(root).unwrap_or(path)));
    if let Some(parent) = target.parent() {
        disk.create_dirs(parent)?;
    }
    disk.rename(path, &target)?;
    // The new name first, and the directories that are new for it.
    let above = target.ancestors().skip(1).take_while(|dir| dir.starts_with(root));
    for dir in above.chain(path.parent()) {
        disk.sync_dir(dir)?;
    }
    Ok(target)
}

fn free_place(disk: &dyn Disk, wanted: &Path) -> PathBuf {
    let mut place = wanted.to_owned();
    let mut number = 1;
    while exists(disk, &place) {
        number += 1;
        let mut name = wanted.as_os_str().to_owned();
        name.push(format!(".{number}"));
        place = PathBuf::from(name);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::super::real;
    use super::*;

    #[test]
    fn a_second_file_of_a_name_does_not_replace_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log/7.log");
        std::fs::create_dir(dir.path().join("log")).unwrap();
        for content in ["first", "second"] {
            std::fs::write(&path, content).unwrap();
            let moved = set_aside(&*real(), dir.path(), &path).unwrap();
            assert_eq!(std::fs::read_to_string(moved).unwrap(), content);
        }
        let kept = |name: &str| std::fs::read_to_string(dir.path().join("aside/log").join(name)).unwrap();
        assert_eq!((kept("7.log"), kept("7.log.2")), ("first".to_owned(), "second".to_owned()));
    }
}
