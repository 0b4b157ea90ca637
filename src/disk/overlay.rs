//! A disk over another one: it shows what is there, and keeps every change in memory. What is below stays as it is, byte by byte.
//!
//! A store that is only to be looked at opens like any other: it replays its log, takes away what a crash left, and mends what it can,
//! and none of that reaches the files. `plumbago serve --read-only` and `plumbago fsck` work this way.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::{About, Disk, DiskFile, Lock, Open};

/// Changed bytes are kept in pieces of this size.
const PIECE: u64 = 4096;

/// See the module documentation.
#[derive(Debug)]
pub struct Overlay {
    below: Arc<dyn Disk>,
    changed: Mutex<HashMap<PathBuf, Change>>,
    files: AtomicU64,
}

#[derive(Clone, Debug)]
enum Change {
    Gone,
    Dir,
    File(Arc<Layer>),
}

impl Overlay {
    /// A disk over another one.
    pub fn over(below: Arc<dyn Disk>) -> Arc<dyn Disk> {
        Arc::new(Self { below, changed: Mutex::default(), files: AtomicU64::new(0) })
    }

    fn layer(&self, base: Option<Box<dyn DiskFile>>) -> io::Result<Arc<Layer>> {
        let len = base.as_ref().map_or(Ok(0), |base| base.about().map(|about| about.len))?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let parts = Parts { len, base_len: len, pieces: HashMap::new(), modified_ns: None };
        Ok(Arc::new(Layer { number, base, parts: Mutex::new(parts) }))
    }

    /// The file at a path, to be changed here.
    fn changeable(&self, path: &Path) -> io::Result<Arc<Layer>> {
        let known = self.changed.lock().get(path).cloned();
        match known {
            Some(Change::File(layer)) => Ok(layer),
            Some(Change::Gone) => Err(ErrorKind::NotFound.into()),
            Some(Change::Dir) => Err(ErrorKind::IsADirectory.into()),
            None => {
                let layer = self.layer(Some(self.below.open(path, Open::Read)?))?;
                self.changed.lock().insert(path.to_owned(), Change::File(Arc::clone(&layer)));
                Ok(layer)
            }
        }
    }

    fn make(&self, path: &Path) -> io::Result<Arc<Layer>> {
        let layer = self.layer(None)?;
        self.changed.lock().insert(path.to_owned(), Change::File(Arc::clone(&layer)));
        Ok(layer)
    }
}

impl Disk for Overlay {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        let known = self.changed.lock().get(path).cloned();
        if how == Open::Read && known.is_none() {
            return self.below.open(path, how);
        }
        let layer = match how {
            Open::Read | Open::Write => self.changeable(path)?,
            Open::Fresh => self.make(path)?,
            Open::Keep => match self.changeable(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => self.make(path)?,
                other => other?,
            },
        };
        Ok(Box::new(layer))
    }

    /// Others may look at the same time. Who has the file for himself keeps us out.
    fn lock(&self, path: &Path, _: Lock) -> io::Result<Option<Box<dyn DiskFile>>> {
        if let Some(Change::File(layer)) = self.changed.lock().get(path).cloned() {
            return Ok(Some(Box::new(layer)));
        }
        let layer = match self.below.lock(path, Lock::Shared) {
            Ok(Some(file)) => self.layer(Some(file))?,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => self.layer(None)?,
            Err(error) => return Err(error),
        };
        self.changed.lock().insert(path.to_owned(), Change::File(Arc::clone(&layer)));
        Ok(Some(Box::new(layer)))
    }

    fn create_dirs(&self, dir: &Path) -> io::Result<()> {
        for dir in dir.ancestors() {
            match self.about(dir) {
                Ok(about) if about.is_dir => break,
                Ok(_) => return Err(ErrorKind::NotADirectory.into()),
                Err(_) => self.changed.lock().insert(dir.to_owned(), Change::Dir),
            };
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let changed = self.changed.lock();
        let mut found = match self.below.list(dir) {
            Ok(found) => found,
            Err(_) if matches!(changed.get(dir), Some(Change::Dir)) => Vec::new(),
            Err(error) => return Err(error),
        };
        found.retain(|path| !changed.contains_key(path));
        let ours = |(path, change): (&PathBuf, &Change)| {
            (path.parent() == Some(dir) && !matches!(change, Change::Gone)).then(|| path.clone())
        };
        found.extend(changed.iter().filter_map(ours));
        Ok(found)
    }

    fn about(&self, path: &Path) -> io::Result<About> {
        match self.changed.lock().get(path) {
            Some(Change::File(layer)) => layer.about(),
            Some(Change::Dir) => {
                Ok(About { is_dir: true, len: 0, modified_ns: None, identity: (u64::MAX, u64::MAX) })
            }
            Some(Change::Gone) => Err(ErrorKind::NotFound.into()),
            None => self.below.about(path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let layer = self.changeable(from)?;
        let mut changed = self.changed.lock();
        changed.insert(to.to_owned(), Change::File(layer));
        changed.insert(from.to_owned(), Change::Gone);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.about(to).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let layer = self.changeable(from)?;
        self.changed.lock().insert(to.to_owned(), Change::File(layer));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.about(path)?;
        self.changed.lock().insert(path.to_owned(), Change::Gone);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        if !self.list(path)?.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.changed.lock().insert(path.to_owned(), Change::Gone);
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.below.real_path(path)
    }

    fn now(&self) -> Duration {
        self.below.now()
    }
}

/// A file with its changes.
#[derive(Debug)]
struct Layer {
    number: u64,
    base: Option<Box<dyn DiskFile>>,
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    len: u64,
    /// So much of the file below is still to be seen.
    base_len: u64,
    pieces: HashMap<u64, Box<[u8]>>,
    modified_ns: Option<u64>,
}

impl Layer {
    /// A piece as it is below: what is not there is zero.
    fn below(&self, number: u64, base_len: u64) -> io::Result<Box<[u8]>> {
        let mut piece = vec![0; PIECE as usize].into_boxed_slice();
        let at = number * PIECE;
        let there = base_len.saturating_sub(at).min(PIECE) as usize;
        if let (Some(base), Some(part)) = (&self.base, piece.get_mut(..there)) {
            base.read_exact_at(part, at)?;
        }
        Ok(piece)
    }
}

impl DiskFile for Arc<Layer> {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let parts = self.parts.lock();
        let wanted = parts.len.saturating_sub(at).min(buffer.len() as u64) as usize;
        if parts.pieces.is_empty() && at + wanted as u64 <= parts.base_len {
            let Some(base) = &self.base else { return Ok(0) };
            return base.read_at(buffer.get_mut(..wanted).unwrap_or_default(), at);
        }
        let mut done = 0;
        while done < wanted {
            let from = at + done as u64;
            let (number, skip) = (from / PIECE, (from % PIECE) as usize);
            let len = (PIECE as usize - skip).min(wanted - done);
            let loaded;
            let piece = match parts.pieces.get(&number) {
                Some(piece) => piece,
                None => {
                    loaded = self.below(number, parts.base_len)?;
                    &loaded
                }
            };
            if let (Some(to), Some(from)) = (buffer.get_mut(done..done + len), piece.get(skip..skip + len)) {
                to.copy_from_slice(from);
            }
            done += len;
        }
        Ok(wanted)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut parts = self.parts.lock();
        let mut done = 0;
        while done < bytes.len() {
            let to = at + done as u64;
            let (number, skip) = (to / PIECE, (to % PIECE) as usize);
            let len = (PIECE as usize - skip).min(bytes.len() - done);
            if !parts.pieces.contains_key(&number) {
                let piece = self.below(number, parts.base_len)?;
                parts.pieces.insert(number, piece);
            }
            let piece = parts.pieces.get_mut(&number).and_then(|piece| piece.get_mut(skip..skip + len));
            if let (Some(to), Some(from)) = (piece, bytes.get(done..done + len)) {
                to.copy_from_slice(from);
            }
            done += len;
        }
        parts.len = parts.len.max(at + bytes.len() as u64);
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut parts = self.parts.lock();
        if bytes < parts.len {
            parts.base_len = parts.base_len.min(bytes);
            parts.pieces.retain(|number, _| number * PIECE < bytes);
            if let Some(last) = parts.pieces.get_mut(&(bytes / PIECE)) {
                last.iter_mut().skip((bytes % PIECE) as usize).for_each(|byte| *byte = 0);
            }
        }
        parts.len = bytes;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn about(&self) -> io::Result<About> {
        let parts = self.parts.lock();
        let below = self.base.as_ref().map(|base| base.about()).transpose()?;
        let modified_ns = parts.modified_ns.or(below.and_then(|below| below.modified_ns));
        // Both numbers of a file on this machine are never so high at once.
        Ok(About { is_dir: false, len: parts.len, modified_ns, identity: (u64::MAX, self.number) })
    }

    fn set_modified(&self, ns: u64) -> io::Result<()> {
        self.parts.lock().modified_ns = Some(ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{exists, read, real, write};
    use super::*;

    #[test]
    fn what_is_below_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), vec![7; 10_000]).unwrap();
        std::fs::write(at("b"), b"below").unwrap();
        let disk = Overlay::over(real());

        let a = disk.open(&at("a"), Open::Write).unwrap();
        a.write_at(&[1, 2, 3], 4095).unwrap();
        a.set_len(9000).unwrap();
        a.set_len(9100).unwrap();
        let mut want = vec![7; 9000];
        want.resize(9100, 0);
        want[4095..4098].copy_from_slice(&[1, 2, 3]);
        assert_eq!(read(&*disk, &at("a")).unwrap(), want);

        disk.rename(&at("a"), &at("c")).unwrap();
        assert_eq!(read(&*disk, &at("c")).unwrap(), want);
        assert!(!exists(&*disk, &at("a")));
        disk.remove(&at("b")).unwrap();
        assert!(disk.open(&at("b"), Open::Write).is_err());
        disk.create_dirs(&at("d/e")).unwrap();
        write(&*disk, &at("d/e/f"), b"new").unwrap();
        let mut listed = disk.list(dir.path()).unwrap();
        listed.sort();
        assert_eq!(listed, [at("c"), at("d")]);
        assert_eq!(disk.list(&at("d/e")).unwrap(), [at("d/e/f")]);

        let mut below: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        below.sort();
        assert_eq!(below, [at("a"), at("b")]);
        assert_eq!(std::fs::read(at("a")).unwrap(), vec![7; 10_000]);
        assert_eq!(std::fs::read(at("b")).unwrap(), b"below");
    }

    #[test]
    fn somebody_who_writes_keeps_the_overlay_out_and_readers_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let writer = real().lock(&path, Lock::Alone).unwrap().unwrap();
        assert!(Overlay::over(real()).lock(&path, Lock::Alone).unwrap().is_none());
        drop(writer);
        let (one, two) = (Overlay::over(real()), Overlay::over(real()));
        let _first = one.lock(&path, Lock::Alone).unwrap().unwrap();
        assert!(two.lock(&path, Lock::Alone).unwrap().is_some());
        assert!(real().lock(&path, Lock::Alone).unwrap().is_none());
    }
}
