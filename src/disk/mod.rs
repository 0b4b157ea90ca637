//! The file layer: all that the log, the blocks, the catalogue and backups do to files goes through here.
//!
//! A [`Disk`] has just the calls that those need. [`real()`] is the file system. Tests have another one, which loses what was not
//! synced, tears and reorders writes, and fails at any call (`tests/simulation`).
//!
//! Each call here is a system call on the real disk, next to which a call through a pointer costs nothing: ingest makes one for a
//! batch, a query one for a page. So the disk is chosen while the program runs, and no type above carries it as a parameter.

mod aside;
mod overlay;
mod real;

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use aside::{ASIDE_DIR, set_aside};
pub use overlay::Overlay;
pub use real::real;

/// Where files are.
pub trait Disk: Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file and locks it for as long as it is open. `None` if another process has it.
    fn lock(&self, path: &Path, how: Lock) -> io::Result<Option<Box<dyn DiskFile>>>;

    /// Makes a directory, and those above it.
    fn create_dirs(&self, dir: &Path) -> io::Result<()>;

    /// What is in a directory, as whole paths in no particular order.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// What is known about a file or directory.
    fn about(&self, path: &Path) -> io::Result<About>;

    /// Gives a file another name, and replaces what has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// The path without links and dots.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// The time since 1970, by the clock that files get their times from.
    fn now(&self) -> Duration;
}

/// An open file. It stays readable when its name is gone.
pub trait DiskFile: Debug + Send + Sync {
    /// Reads some bytes from a place; none at the end of the file.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes all of the bytes to a place. After an error, some of them may be there.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Cuts the file off, or appends zeros.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes its bytes and its length durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes its times durable as well.
    fn sync_all(&self) -> io::Result<()>;

    /// What is known about it.
    fn about(&self) -> io::Result<About>;

    /// Sets when it was written, in nanoseconds since 1970.
    fn set_modified(&self, ns: u64) -> io::Result<()>;

    /// Fills the buffer from a place.
    fn read_exact_at(&self, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read_at(buffer, at) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    buffer = buffer.get_mut(read..).unwrap_or_default();
                    at += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// To be read.
    Read,
    /// To be read and written. It must be there.
    Write,
    /// To be read and written. It is made if it is not there.
    Keep,
    /// To be read and written. It is empty, whatever was there.
    Fresh,
}

/// How to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// For this process alone. The file is made if it is not there.
    Alone,
    /// With others who do the same. The file must be there.
    Shared,
}

/// What is known about a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Is it a directory?
    pub is_dir: bool,
    /// Bytes.
    pub len: u64,
    /// When it was written, in nanoseconds since 1970.
    pub modified_ns: Option<u64>,
    /// Names of one file have the same.
    pub identity: (u64, u64),
}

/// A directory on a disk; it may not be there yet.
#[derive(Clone, Debug)]
pub struct Folder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Folder {
    /// A directory on any disk.
    pub fn on(disk: Arc<dyn Disk>, path: &Path) -> Self {
        Self { disk, path: path.to_owned() }
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Where it is there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory inside of it.
    pub fn join(&self, name: &str) -> Self {
        Self { disk: Arc::clone(&self.disk), path: self.path.join(name) }
    }
}

impl From<&Path> for Folder {
    fn from(path: &Path) -> Self {
        Self::on(real(), path)
    }
}

/// Is there anything of this name?
pub fn exists(disk: &dyn Disk, path: &Path) -> bool {
    disk.about(path).is_ok()
}

/// Makes a directory, and those above it, and makes their names durable.
///
/// Those that are there already may have been made by a process that died before it came to that.
pub fn make_dirs(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    disk.create_dirs(dir)?;
    for above in dir.ancestors().skip(1) {
        // The working directory.
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match disk.sync_dir(above) {
            // It is another file system, or another's directory: nothing in it is ours.
            Err(error) if is_foreign(&error) => break,
            synced => synced?,
        }
    }
    Ok(())
}

fn is_foreign(error: &io::Error) -> bool {
    use ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(error.kind(), InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported)
}

/// Reads a file from its beginning to its end.
pub fn read(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    const PIECE: usize = 1 << 20;
    let file = disk.open(path, Open::Read)?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE.min(usize::try_from(file.about()?.len).unwrap_or(PIECE)).max(1)];
    loop {
        match file.read_at(&mut piece, bytes.len() as u64) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Replaces what a file holds, durably.
pub fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open(path, Open::Fresh)?;
    file.write_at(bytes, 0)?;
    file.sync_all()
}
