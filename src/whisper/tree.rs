//! All whisper files below a directory, in order.
//!
//! One directory after the other is listed and sorted, so memory holds the lists of the directories on the way down to the
//! present one, not the whole tree. Links are followed, as carbon's users link directories to other disks; a directory that is
//! inside itself is entered once.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::vec;

use plumbago_model::glob::{Component, Glob};

use super::name::{self, EXTENSION, TAGGED};

/// Examples that are kept of what is skipped for one reason.
const EXAMPLES: usize = 3;

/// A file, and the metric in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is, with the root.
    pub path: PathBuf,
    /// The name of the metric, in the spelling that Plumbago stores.
    pub name: String,
}

/// Why something in the directory is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// A file of another kind, by its name.
    OtherFile,
    /// A pipe, a socket or a device.
    NotAFile,
    /// A file or directory whose name cannot be part of a metric's.
    BadName,
    /// A link to nothing.
    BrokenLink,
    /// A directory inside itself, by a link.
    Loop,
    /// A directory or a link that the system does not let us read.
    Unreadable,
    /// A file or a whole directory that does not match the pattern.
    NotWanted,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Skip::OtherFile => "not a whisper file",
            Skip::NotAFile => "a pipe, socket or device",
            Skip::BadName => "not the name of a metric",
            Skip::BrokenLink => "a link to nothing",
            Skip::Loop => "a link to a directory above it",
            Skip::Unreadable => "cannot be read",
            Skip::NotWanted => "does not match the pattern",
        })
    }
}

/// How much was left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many files or directories.
    pub count: u64,
    /// The first few of them, with details.
    pub examples: Vec<String>,
}

/// Goes through a directory. Every directory is in the order of its bytes, so two walks over the same files are equal.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    pattern: Option<Glob>,
    max_name_bytes: usize,
    levels: Vec<Level>,
    skipped: BTreeMap<Skip, Skipped>,
}

/// A directory that is being gone through.
#[derive(Debug)]
struct Level {
    /// Below the root.
    path: PathBuf,
    entries: vec::IntoIter<(OsString, FileType)>,
    /// Device and number, which tell a directory from all others.
    identity: (u64, u64),
    /// Where each branch of the pattern stands.
    states: Vec<u64>,
}

impl Tree {
    /// A walk over all files below `root`, or those whose names match a pattern. Of tagged metrics the part before the tags
    /// must match it. Longer names than `max_name_bytes` are left out.
    pub fn open(root: &Path, pattern: Option<Glob>, max_name_bytes: usize) -> io::Result<Self> {
        let states = pattern.iter().flat_map(Glob::branches).map(|branch| branch.start()).collect();
        let identity = identity(&fs::metadata(root)?);
        let entries = list(root)?;
        let level = Level { path: PathBuf::new(), entries, identity, states };
        let root = root.to_owned();
        Ok(Self { root, pattern, max_name_bytes, levels: vec![level], skipped: BTreeMap::new() })
    }

    /// What was left out so far, by reason.
    pub fn skipped(&self) -> &BTreeMap<Skip, Skipped> {
        &self.skipped
    }

    fn skip(&mut self, reason: Skip, detail: impl FnOnce() -> String) {
        let skipped = self.skipped.entry(reason).or_default();
        skipped.count += 1;
        if skipped.examples.len() < EXAMPLES {
            skipped.examples.push(detail());
        }
    }

    /// Takes one entry of the present directory: a file that is wanted, or nothing.
    fn visit(&mut self, path: PathBuf, kind: FileType) -> Option<Found> {
        let place = self.root.join(&path);
        let mut kind = kind;
        if kind.is_symlink() {
            match fs::metadata(&place) {
                Ok(target) => kind = target.file_type(),
                Err(error) => {
                    let broken = error.kind() == io::ErrorKind::NotFound;
                    let reason = if broken { Skip::BrokenLink } else { Skip::Unreadable };
                    self.skip(reason, || format!("{}: {error}", place.display()));
                    return None;
                }
            }
        }
        if kind.is_dir() {
            self.enter(path, &place);
            return None;
        }
        if !path.as_os_str().as_encoded_bytes().ends_with(EXTENSION.as_bytes()) {
            self.skip(Skip::OtherFile, || place.display().to_string());
        } else if !kind.is_file() {
            self.skip(Skip::NotAFile, || place.display().to_string());
        } else {
            return self.take(&path, place);
        }
        None
    }

    fn take(&mut self, path: &Path, place: PathBuf) -> Option<Found> {
        match name::of_path(path, self.max_name_bytes) {
            Ok(name) if self.wants(&name) => return Some(Found { path: place, name }),
            Ok(name) => self.skip(Skip::NotWanted, || name),
            Err(error) => self.skip(Skip::BadName, || error.to_string()),
        }
        None
    }

    fn wants(&self, name: &str) -> bool {
        let metric = name.split_once(';').map_or(name, |(metric, _)| metric);
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(metric))
    }

    fn enter(&mut self, path: PathBuf, place: &Path) {
        let Some((above, directory)) = self.levels.last().zip(path.file_name()) else { return };
        // The directories of tagged metrics are hashes: neither pattern nor rules for names apply to them.
        let tagged = path.starts_with(TAGGED);
        let Some(text) = directory.to_str().filter(|text| tagged || !text.contains('.')) else {
            return self.skip(Skip::BadName, || place.display().to_string());
        };
        let states = if tagged { Vec::new() } else { self.advance(above, text) };
        if !tagged && self.pattern.is_some() && states.iter().all(|&states| states == 0) {
            return self.skip(Skip::NotWanted, || place.display().to_string());
        }
        let unreadable = |error: io::Error| format!("{}: {error}", place.display());
        let identity = match fs::metadata(place) {
            Ok(metadata) => identity(&metadata),
            Err(error) => return self.skip(Skip::Unreadable, || unreadable(error)),
        };
        if self.levels.iter().any(|level| level.identity == identity) {
            return self.skip(Skip::Loop, || place.display().to_string());
        }
        match list(place) {
            Ok(entries) => self.levels.push(Level { path, entries, identity, states }),
            Err(error) => self.skip(Skip::Unreadable, || unreadable(error)),
        }
    }

    /// Where the branches of the pattern stand inside a directory; zero where nothing in it can match.
    fn advance(&self, above: &Level, directory: &str) -> Vec<u64> {
        let branches = self.pattern.iter().flat_map(Glob::branches).zip(&above.states);
        let inside = branches.map(|(branch, &states)| {
            let states = branch.advance(states, |place| match branch.components().get(place) {
                Some(Component::One(matcher)) => matcher.matches(directory),
                _ => false,
            });
            if branch.goes_on(states) { states } else { 0 }
        });
        inside.collect()
    }
}

impl Iterator for Tree {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((entry, kind)) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(&entry);
            if let Some(found) = self.visit(path, kind) {
                return Some(found);
            }
        }
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn list(directory: &Path) -> io::Result<vec::IntoIter<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        entries.push((entry.file_name(), entry.file_type()?));
    }
    entries.sort_unstable_by(|(a, _), (b, _)| OsStr::cmp(a, b));
    Ok(entries.into_iter())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A directory with some empty files.
    fn directory(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        root
    }

    fn walk(root: &Path, pattern: Option<&str>) -> (Vec<String>, BTreeMap<Skip, Skipped>) {
        let pattern = pattern.map(|text| Glob::parse(text).unwrap());
        let mut tree = Tree::open(root, pattern, 1000).unwrap();
        let names = tree.by_ref().map(|found| {
            assert!(found.path.is_file());
            found.name
        });
        (names.collect(), tree.skipped)
    }

    fn counts(skipped: &BTreeMap<Skip, Skipped>) -> Vec<(Skip, u64)> {
        skipped.iter().map(|(reason, skipped)| (*reason, skipped.count)).collect()
    }

    const FILES: [&str; 6] =
        ["b/z.wsp", "b/a/x.wsp", "b/a.wsp", "a.wsp", "c/d/e/f.wsp", "_tagged/18d/c89/cpu;dc=eu.wsp"];

    #[test]
    fn files_come_in_the_order_of_their_directories() {
        let root = directory(&FILES);
        let (names, skipped) = walk(root.path(), None);
        assert_eq!(names, ["cpu;dc=eu", "a", "b.a.x", "b.a", "b.z", "c.d.e.f"]);
        assert!(skipped.is_empty());
    }

    #[test]
    fn a_pattern_leaves_whole_directories_out() {
        let root = directory(&FILES);
        let (names, skipped) = walk(root.path(), Some("b.*"));
        assert_eq!(names, ["b.a", "b.z"]);
        let not_wanted = &skipped[&Skip::NotWanted];
        assert_eq!(not_wanted.count, 4, "cpu, a, b.a and c, but nothing inside b.a and c");
        assert_eq!(walk(root.path(), Some("**.f")).0, ["c.d.e.f"]);
        assert_eq!(walk(root.path(), Some("{c.d,b.a}.**")).0, ["b.a.x", "c.d.e.f"]);
        assert_eq!(walk(root.path(), Some("cp?")).0, ["cpu;dc=eu"], "the part before the tags");
        assert_eq!(walk(root.path(), Some("b")).0, [""; 0], "b is a directory only");
    }

    #[test]
    fn what_is_no_metric_is_counted_by_reason() {
        let root = directory(&[
            "a.wsp",
            "a.txt",
            "b/x.wsp.extend",
            ".git/c.wsp",
            "d.e.wsp",
            "_tagged/000/000/x.wsp",
        ]);
        let _socket = UnixListener::bind(root.path().join("s.wsp")).unwrap();
        symlink("nowhere", root.path().join("gone.wsp")).unwrap();
        let (names, skipped) = walk(root.path(), None);
        assert_eq!(names, ["a"]);
        let wanted = [(Skip::OtherFile, 2), (Skip::NotAFile, 1), (Skip::BadName, 3), (Skip::BrokenLink, 1)];
        assert_eq!(counts(&skipped), wanted);
        assert!(skipped[&Skip::BadName].examples.iter().any(|text| text.contains("a dot in \"d.e\"")));
    }

    #[test]
    fn few_examples_are_kept_of_many() {
        let files: Vec<String> = (0..50).map(|number| format!("{number}.txt")).collect();
        let root = directory(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let (_, skipped) = walk(root.path(), None);
        assert_eq!(
            (skipped[&Skip::OtherFile].count, skipped[&Skip::OtherFile].examples.len()),
            (50, EXAMPLES)
        );
    }

    #[test]
    fn links_are_followed_and_loops_are_not() {
        let root = directory(&["a/b/x.wsp"]);
        symlink("a/b", root.path().join("again")).unwrap();
        symlink("../..", root.path().join("a/b/up")).unwrap();
        symlink("x.wsp", root.path().join("a/b/y.wsp")).unwrap();
        let (names, skipped) = walk(root.path(), None);
        assert_eq!(names, ["a.b.x", "a.b.y", "again.x", "again.y"]);
        assert_eq!(counts(&skipped), [(Skip::Loop, 2)]);
        symlink("self.wsp", root.path().join("self.wsp")).unwrap();
        assert_eq!(walk(root.path(), None).1[&Skip::Unreadable].count, 1);
    }

    #[test]
    fn a_directory_that_vanishes_is_counted() {
        let root = directory(&["a/x.wsp", "b/y.wsp"]);
        let mut tree = Tree::open(root.path(), None, 1000).unwrap();
        fs::remove_dir_all(root.path().join("a")).unwrap();
        assert_eq!(tree.by_ref().map(|found| found.name).collect::<Vec<_>>(), ["b.y"]);
        assert_eq!(counts(tree.skipped()), [(Skip::Unreadable, 1)]);
        assert!(Tree::open(&root.path().join("a"), None, 1000).is_err());
    }
}
