//! The list of files that an import is done with, or of metrics that a copy is done with, so that an interrupted one goes on where it
//! was.
//!
//! A line is written when what it names is durable at the other end. The list is gone when all is done.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// See the module documentation.
pub(in super::super) struct Journal {
    path: PathBuf,
    file: File,
    /// Two hashes of each path: a million of them must not take a hundred megabytes.
    done: HashSet<(u64, u64)>,
    hashers: (RandomState, RandomState),
}

impl Journal {
    /// Opens or makes the list. `what` is the work that it belongs to: another one has a list of its own.
    pub(in super::super) fn open(path: &Path, what: &str) -> Result<Self> {
        let failed = || format!("opening the journal {} (--journal)", path.display());
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).with_context(failed)?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            done: HashSet::new(),
            hashers: (RandomState::new(), RandomState::new()),
        };
        journal.load(what).with_context(failed)?;
        Ok(journal)
    }

    fn load(&mut self, what: &str) -> Result<()> {
        let mut reader = BufReader::new(self.file.try_clone()?);
        let mut line = Vec::new();
        // A line that a crash cut short is not done; the next one begins on a line of its own.
        let mut complete = 0;
        let mut first = true;
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            complete += line.len() as u64;
            line.pop();
            if std::mem::take(&mut first) {
                if line != what.as_bytes() {
                    let other = String::from_utf8_lossy(&line).into_owned();
                    bail!("it belongs to another run ({other}); name another file, or remove it");
                }
            } else {
                self.done.insert(self.hash(&line));
            }
            line.clear();
        }
        self.file.set_len(complete)?;
        self.file.seek(SeekFrom::End(0))?;
        if complete == 0 {
            self.file.write_all(format!("{what}\n").as_bytes())?;
        }
        Ok(())
    }

    fn hash(&self, path: &[u8]) -> (u64, u64) {
        (self.hashers.0.hash_one(path), self.hashers.1.hash_one(path))
    }

    /// Is this file done?
    pub(in super::super) fn has(&self, path: &Path) -> bool {
        !self.done.is_empty() && self.done.contains(&self.hash(path.as_os_str().as_encoded_bytes()))
    }

    /// These files are done.
    pub(in super::super) fn add(&mut self, paths: &[PathBuf]) -> Result<()> {
        let mut lines = Vec::new();
        for path in paths {
            lines.extend_from_slice(path.as_os_str().as_encoded_bytes());
            lines.push(b'\n');
        }
        let failed = || format!("writing the journal {}", self.path.display());
        self.file.write_all(&lines).with_context(failed)
    }

    /// All is done.
    pub(in super::super) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("removing the journal {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_known_after_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (a, b, c) = (PathBuf::from("/w/a.wsp"), PathBuf::from("/w/b.wsp"), PathBuf::from("/w/c.wsp"));
        let mut journal = Journal::open(&path, "import 1").unwrap();
        journal.add(&[a.clone(), b.clone()]).unwrap();
        drop(journal);
        // The crash came in the middle of a line.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"/w/c.w").unwrap();
        let mut journal = Journal::open(&path, "import 1").unwrap();
        assert_eq!((journal.has(&a), journal.has(&b), journal.has(&c)), (true, true, false));
        journal.add(std::slice::from_ref(&c)).unwrap();
        drop(journal);
        let journal = Journal::open(&path, "import 1").unwrap();
        assert!([&a, &b, &c].into_iter().all(|path| journal.has(path)));
        let error = Journal::open(&path, "import 2").err().map(|error| format!("{error:#}")).unwrap();
        assert!(error.contains("another run (import 1)"), "{error}");
        journal.remove().unwrap();
        assert!(!path.exists());
    }
}
