//! The file system of this machine.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{About, Disk, DiskFile, Lock, Open};

/// A process that was just forked has a copy of every open file until it runs its own program, and with it the lock. So a lock that
/// was released may look taken for a moment: how often we ask, and the pause in between.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The file system of this machine.
pub fn real() -> Arc<dyn Disk> {
    static REAL: OnceLock<Arc<Real>> = OnceLock::new();
    Arc::<Real>::clone(REAL.get_or_init(Arc::default))
}

#[derive(Debug, Default)]
struct Real;

impl Disk for Real {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(how != Open::Read);
        options.create(matches!(how, Open::Keep | Open::Fresh)).truncate(how == Open::Fresh);
        Ok(Box::new(options.open(path)?))
    }

    fn lock(&self, path: &Path, how: Lock) -> io::Result<Option<Box<dyn DiskFile>>> {
        let file = match how {
            Lock::Alone => {
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?
            }
            Lock::Shared => File::open(path)?,
        };
        let mut tries_left = LOCK_TRIES;
        loop {
            let locked = match how {
                Lock::Alone => file.try_lock(),
                Lock::Shared => file.try_lock_shared(),
            };
            tries_left -= 1;
            match locked {
                Ok(()) => return Ok(Some(Box::new(file))),
                Err(TryLockError::WouldBlock) if tries_left == 0 => return Ok(None),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn create_dirs(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(dir)?.map(|entry| entry.map(|e| e.path())).collect()
    }

    fn about(&self, path: &Path) -> io::Result<About> {
        fs::metadata(path).map(|file| about(&file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn now(&self) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

impl DiskFile for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        File::set_len(self, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }

    fn about(&self) -> io::Result<About> {
        self.metadata().map(|file| about(&file))
    }

    fn set_modified(&self, ns: u64) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_nanos(ns)))
    }
}

fn about(file: &Metadata) -> About {
    let since = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    About {
        is_dir: file.is_dir(),
        len: file.len(),
        modified_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        identity: (file.dev(), file.ino()),
    }
}
