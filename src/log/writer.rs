//! Appends to the log.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::record::{Origin, encode_opened};
use super::segment::{HEADER, MAGIC, VERSION, segment_path, segments};
use super::{Damage, LogError};
use crate::disk::{DiskFile, Folder, Open, set_aside};
use crate::planted::{Planted, is_planted};

/// A new segment starts when the current one has reached this size.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The open end of the log.
///
/// Appending needs `&mut`, because the caller's lock also decides the order in which points become readable. Syncing does not,
/// so it can run while others append: see [`Log::syncer`].
#[derive(Debug)]
pub struct Log {
    dir: Folder,
    /// The id of the store, which every segment names; 0 if there is none.
    store: u64,
    /// Segments to set aside when they are no longer needed, because they are damaged.
    damaged: HashSet<PathBuf>,
    number: u64,
    /// The segment of that number, once something was appended to it.
    file: Option<Arc<dyn DiskFile>>,
    /// Its length up to the last whole record. A failed append is cut off there.
    good_bytes: u64,
    unsynced: Arc<Mutex<Vec<Arc<dyn DiskFile>>>>,
    syncing: Arc<Mutex<()>>,
}

/// Syncs what was appended, from any thread.
#[derive(Clone, Debug)]
pub struct Syncer {
    dir: Folder,
    unsynced: Arc<Mutex<Vec<Arc<dyn DiskFile>>>>,
    /// Held during a sync. A second caller that finds nothing to sync must still wait for the first to finish.
    syncing: Arc<Mutex<()>>,
}

impl Log {
    /// Continues after all segments in `dir`, at `floor` or later, because a replay ignores earlier numbers. The first append
    /// creates the segment.
    pub fn open(dir: &Folder, floor: u64) -> Result<Self, LogError> {
        dir.disk().create_dirs(dir.path()).map_err(LogError::io("create", dir.path()))?;
        let there = segments(dir, 0)?;
        let number = there.last().map_or(1, |(n, _)| n + 1).max(floor);
        // A process that was killed may not have synced what it wrote, and what is replayed counts as accepted. So the first sync
        // is for these segments, too.
        let mut unsynced: Vec<Arc<dyn DiskFile>> = Vec::new();
        for (_, path) in
            there.iter().filter(|(number, _)| *number >= floor && !is_planted(Planted::KilledUnsynced))
        {
            unsynced.push(dir.disk().open(path, Open::Read).map_err(LogError::io("open", path))?.into());
        }
        Ok(Self {
            dir: dir.clone(),
            store: 0,
            damaged: HashSet::new(),
            number,
            file: None,
            good_bytes: HEADER as u64,
            unsynced: Arc::new(Mutex::new(unsynced)),
            syncing: Arc::default(),
        })
    }

    /// From now on segments name their store.
    pub fn of_store(mut self, store: u64) -> Self {
        self.store = store;
        self
    }

    /// A replay found damage. What a crash leaves is the torn end of the last segment: it is cut off. Segments with anything else are set
    /// aside once they are no longer needed, instead of removed. Gives what is damage.
    pub fn settle(&mut self, found: Vec<Damage>) -> Result<Vec<Damage>, LogError> {
        let last = segments(&self.dir, 0)?.pop();
        let is_torn =
            |damage: &Damage| damage.is_end && last.as_ref().is_some_and(|(_, last)| *last == damage.path);
        let (torn, damage): (Vec<_>, Vec<_>) = found.into_iter().partition(is_torn);
        for end in torn {
            tracing::warn!(path = %end.path.display(), offset = end.offset, detail = end.detail, "the end of the log was torn by a crash");
            // The first sync is for this file, too. If it cannot be cut, it goes with the next cut.
            let cut = self.dir.disk().open(&end.path, Open::Write).and_then(|file| file.set_len(end.offset));
            if let Err(error) = cut {
                tracing::warn!(path = %end.path.display(), %error, "it could not be cut off");
            }
        }
        self.damaged.extend(damage.iter().map(|damage| damage.path.clone()));
        Ok(damage)
    }

    /// Appends whole frames. After an error, nothing of them is in the log.
    pub fn append(&mut self, frames: &[u8]) -> Result<(), LogError> {
        if self.good_bytes >= SEGMENT_BYTES {
            self.rotate();
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let origin = Origin { store: self.store, segment: self.number };
                let (file, bytes) = create_segment(&self.dir, origin)?;
                self.good_bytes = bytes;
                Arc::clone(self.file.insert(file))
            }
        };
        if let Err(source) = file.write_at(frames, self.good_bytes) {
            let path = segment_path(self.dir.path(), self.number);
            if file.set_len(self.good_bytes).is_err() {
                // Half a record stays at the end, as after a crash, so the next append goes to a new segment.
                self.rotate();
            }
            return Err(LogError::Io { action: "append to", path, source });
        }
        let mut unsynced = self.unsynced.lock();
        if !unsynced.iter().any(|f| Arc::ptr_eq(f, &file)) {
            unsynced.push(file);
        }
        self.good_bytes += frames.len() as u64;
        Ok(())
    }

    /// Ends the segment and returns the number of the next one. Everything appended so far is in earlier segments.
    pub fn rotate(&mut self) -> u64 {
        if self.file.take().is_some() {
            self.number += 1;
            self.good_bytes = HEADER as u64;
        }
        self.number
    }

    /// A handle that syncs without blocking appends.
    pub fn syncer(&self) -> Syncer {
        Syncer {
            dir: self.dir.clone(),
            unsynced: Arc::clone(&self.unsynced),
            syncing: Arc::clone(&self.syncing),
        }
    }

    /// Removes the segments before `floor`, because everything in them is in the store.
    pub fn remove_before(&self, floor: u64) -> Result<(), LogError> {
        for (number, path) in segments(&self.dir, 0)? {
            if number < floor.min(self.number) {
                if self.damaged.contains(&path) {
                    let root = self.dir.path().parent().unwrap_or(self.dir.path());
                    set_aside(&**self.dir.disk(), root, &path).map_err(LogError::io("set aside", &path))?;
                } else {
                    self.dir.disk().remove(&path).map_err(LogError::io("remove", &path))?;
                }
            }
        }
        Ok(())
    }
}

impl Syncer {
    /// Makes everything appended before this call durable. True if there was something to sync.
    ///
    /// After an error the kernel may have dropped the pages that it could not write, and a later sync can succeed without
    /// them. So the caller must make the points safe by a cut.
    pub fn sync(&self) -> Result<bool, LogError> {
        let _one_at_a_time = self.syncing.lock();
        // The list is emptied first: an append during the sync puts its file back, and the next call syncs it.
        let files = std::mem::take(&mut *self.unsynced.lock());
        for (i, file) in files.iter().enumerate() {
            if let Err(source) = file.sync_data() {
                self.unsynced.lock().extend(files[i..].iter().cloned());
                return Err(LogError::Io {
                    action: "sync the log in",
                    path: self.dir.path().to_owned(),
                    source,
                });
            }
        }
        Ok(!files.is_empty())
    }
}

/// A new segment, and how many bytes are in it.
fn create_segment(dir: &Folder, origin: Origin) -> Result<(Arc<dyn DiskFile>, u64), LogError> {
    let (disk, path) = (dir.disk(), segment_path(dir.path(), origin.segment));
    // A segment that a failed attempt left holds no record that was acknowledged.
    let file = disk.open(&path, Open::Fresh).map_err(LogError::io("create", &path))?;
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    if origin.store != 0 {
        encode_opened(origin, &mut header);
    }
    file.write_at(&header, 0).map_err(LogError::io("create", &path))?;
    // The name of the segment, and that of the directory, which may be new.
    for dir in dir.path().ancestors().take(2).filter(|dir| !dir.as_os_str().is_empty()) {
        disk.sync_dir(dir).map_err(LogError::io("sync", dir))?;
    }
    Ok((file.into(), header.len() as u64))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::{Record, encode_points, replay, replay_of};
    use super::*;
    use plumbago_model::{MetricId, Point};

    fn frame(value: f64) -> Vec<u8> {
        let mut out = Vec::new();
        encode_points(&[(MetricId(1), Point { timestamp: 1, value })], 1, &mut out);
        out
    }

    fn values(dir: &Path, floor: u64) -> (Vec<f64>, usize) {
        let mut values = Vec::new();
        let result = replay(&dir.into(), floor, |record| {
            if let Record::Points { points, .. } = record {
                values.extend(points.iter().map(|(_, p)| p.value));
            }
        });
        (values, result.unwrap().damage.len())
    }

    fn three_records(dir: &Path) -> PathBuf {
        let mut log = Log::open(&dir.into(), 0).unwrap().of_store(1);
        for value in [1.0, 2.0, 3.0] {
            log.append(&frame(value)).unwrap();
        }
        segment_path(dir, log.number)
    }

    #[test]
    fn appended_records_come_back_in_order_across_segments_and_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(&dir.path().into(), 0).unwrap();
        log.append(&frame(1.0)).unwrap();
        let floor = log.rotate();
        log.append(&frame(2.0)).unwrap();
        assert!(log.syncer().sync().unwrap());
        assert!(!log.syncer().sync().unwrap());
        drop(log);
        let mut log = Log::open(&dir.path().into(), 0).unwrap();
        log.append(&frame(3.0)).unwrap();
        assert_eq!(values(dir.path(), 0), (vec![1.0, 2.0, 3.0], 0));
        assert_eq!(values(dir.path(), floor), (vec![2.0, 3.0], 0));
        log.remove_before(floor).unwrap();
        assert_eq!(values(dir.path(), 0), (vec![2.0, 3.0], 0));
    }

    #[test]
    fn numbers_before_the_floor_are_never_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(&dir.path().into(), 0).unwrap();
        log.append(&frame(1.0)).unwrap();
        let floor = log.rotate();
        log.remove_before(floor).unwrap();
        drop(log);
        assert_eq!(segments(&dir.path().into(), 0).unwrap(), [], "an open log without records has no file");
        let mut log = Log::open(&dir.path().into(), floor).unwrap();
        log.append(&frame(2.0)).unwrap();
        assert_eq!(values(dir.path(), floor), (vec![2.0], 0));
    }

    #[test]
    fn a_torn_end_loses_only_the_last_record() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_records(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        for cut in 1..frame(3.0).len() {
            std::fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
            assert_eq!(values(dir.path(), 0), (vec![1.0, 2.0], 1), "{cut} bytes cut off");
        }
    }

    #[test]
    fn a_start_cuts_off_a_torn_end_and_sets_nothing_aside() {
        let dir = tempfile::tempdir().unwrap();
        let (root, folder) = (dir.path(), Folder::from(dir.path().join("log").as_path()));
        let whole = || std::fs::read(segment_path(folder.path(), 1)).unwrap();
        let path = three_records(folder.path());
        let good = whole();
        let start = || {
            let mut log = Log::open(&folder, 0).unwrap().of_store(1);
            let found = replay_of(&folder, 1, 0, |_| ()).unwrap();
            (log.settle(found.damage).unwrap(), log)
        };
        // Half a record, and a whole one of which the disk has the length alone.
        for end in [&frame(4.0)[..20], &[0; 29]] {
            std::fs::write(&path, [&good, end].concat()).unwrap();
            assert_eq!(start().0, []);
            assert_eq!(whole(), good);
        }
        // A second crash: what was cut off is no damage of an older segment.
        std::fs::write(&path, [&good, &frame(4.0)[..20]].concat()).unwrap();
        start().1.append(&frame(5.0)).unwrap();
        let (damage, log) = start();
        assert_eq!((values(folder.path(), 0), damage), ((vec![1.0, 2.0, 3.0, 5.0], 0), vec![]));
        log.remove_before(9).unwrap();
        assert!(!root.join("aside").exists());
        // In an older segment nothing but damage looks like this.
        std::fs::write(&path, [&good, &frame(4.0)[..20]].concat()).unwrap();
        std::fs::write(segment_path(folder.path(), 2), &good[..HEADER]).unwrap();
        let (damage, log) = start();
        assert_eq!(damage.len(), 1);
        log.remove_before(9).unwrap();
        assert!(root.join("aside/log").join(path.file_name().unwrap()).exists());
    }

    #[test]
    fn a_flipped_byte_never_yields_a_wrong_value() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_records(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            std::fs::write(&path, &bad).unwrap();
            let (got, damage) = values(dir.path(), 0);
            // Each byte costs one record at most; those of the header, and of the record that names the store, cost none.
            let lost = (at >= HEADER + 25).then(|| (at - HEADER - 25) / frame(0.0).len());
            let want = (0..3).filter(|nth| Some(*nth) != lost).map(|nth| nth as f64 + 1.0);
            assert_eq!(got, want.collect::<Vec<_>>(), "byte {at}");
            assert_eq!(damage, 1, "byte {at}");
        }
    }

    #[test]
    fn segments_of_another_store_or_place_do_no_harm_and_damaged_ones_are_kept() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |dir: &Path, number: u64| segment_path(&dir.join("log"), number);
        let write = |dir: &Path, store: u64, first: f64| {
            let mut log = Log::open(&dir.join("log").as_path().into(), 0).unwrap().of_store(store);
            for nth in 0..4 {
                log.append(&frame(first + f64::from(nth))).unwrap();
                log.rotate();
            }
            log
        };
        let mut log = write(dir.path(), 1, 1.0);
        write(other.path(), 2, 100.0);
        // Segment 1 is another store's, 2 and 3 have changed places, and 4 is a copy of 2.
        std::fs::copy(at(other.path(), 1), at(dir.path(), 1)).unwrap();
        std::fs::copy(at(dir.path(), 2), at(dir.path(), 4)).unwrap();
        std::fs::rename(at(dir.path(), 2), dir.path().join("x")).unwrap();
        std::fs::rename(at(dir.path(), 3), at(dir.path(), 2)).unwrap();
        std::fs::rename(dir.path().join("x"), at(dir.path(), 3)).unwrap();

        let mut values = Vec::new();
        let folder = dir.path().join("log").as_path().into();
        let found = replay_of(&folder, 1, 0, |record| {
            if let Record::Points { points, .. } = record {
                values.extend(points.iter().map(|(_, p)| p.value));
            }
        })
        .unwrap();
        assert_eq!(values, [2.0, 3.0]);
        let text = found.damage.iter().map(|d| d.detail.as_str()).collect::<Vec<_>>().join("\n");
        for part in [
            "another store",
            "segment 3 under another name",
            "segment 2 under another name",
            "a copy of segment 2",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(log.settle(found.damage.clone()).unwrap(), found.damage);
        log.remove_before(5).unwrap();
        assert_eq!(segments(&folder, 0).unwrap(), []);
        assert_eq!(std::fs::read_dir(dir.path().join("aside/log")).unwrap().count(), 4);
    }

    #[test]
    fn a_missing_segment_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(&dir.path().into(), 0).unwrap();
        for value in [1.0, 2.0, 3.0] {
            log.append(&frame(value)).unwrap();
            log.rotate();
        }
        std::fs::remove_file(segment_path(dir.path(), 2)).unwrap();
        let found = replay(&dir.path().into(), 1, |_| ()).unwrap();
        assert_eq!(found.damage.len(), 1, "{:?}", found.damage);
        assert_eq!(found.damage[0].path, segment_path(dir.path(), 2));
        assert!(found.damage[0].detail.contains("1 segment missing"), "{}", found.damage[0].detail);
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = three_records(dir.path());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[8] = 9;
        // Its header is longer than ours.
        bytes.splice(HEADER..HEADER, [1, 2, 3, 4]);
        std::fs::write(&path, &bytes).unwrap();
        let error = replay(&dir.path().into(), 0, |_| ()).unwrap_err().to_string();
        assert!(error.contains("format 9") && error.contains("upgrade"), "{error}");
    }
}
