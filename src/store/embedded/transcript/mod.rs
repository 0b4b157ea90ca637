//! The transcript: everything that cannot be found out again, a second time.
//!
//! The catalogue is one database file, and without names all blocks are worthless. So each transaction that changes names, policies, or
//! what else nothing but the catalogue knows, is appended to the transcript once it is committed: the same rows, under a checksum of
//! their own, with the number of the change. The catalogue has the number of its last change. Where the two differ, the smaller number
//! is that of the file that is wrong or old: a crash between the two steps leaves the transcript behind, never the catalogue.
//!
//! It is not synced for each change: after a loss of power it is behind, and is written from the catalogue.
//!
//! [`Changes`] notes rows as they are written, [`format`](mod@format) has the bytes, [`tables`](super::tables) says what is kept.

mod changes;
mod format;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use changes::{Changes, Kept};
use format::{FRAME_BYTES, HEADER_LEN, Header, encode_frame};
pub use format::{Read, Row, Unreadable, VERSION, parse};

use super::cut::io as failed;
use crate::disk::{self, Disk, DiskFile, Open};
use crate::store::StoreError;

/// Its name in the data directory.
pub(super) const TRANSCRIPT_FILE: &str = "catalogue.transcript";
/// Changes may take as much again as the catalogue did, and this much in any case, before the file is written from the beginning.
const SPARE_BYTES: u64 = 1 << 20;

/// A transcript that is appended to.
#[derive(Debug)]
pub(super) struct Transcript {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    store: u64,
    /// The file, unless it has to be written from the beginning.
    open: Option<OpenEnd>,
}

#[derive(Debug)]
struct OpenEnd {
    file: Box<dyn DiskFile>,
    base_bytes: u64,
    end: u64,
}

impl Transcript {
    /// One that has yet to be written.
    pub(super) fn missing(disk: &Arc<dyn Disk>, path: &Path, store: u64) -> Self {
        Self { disk: Arc::clone(disk), path: path.to_owned(), store, open: None }
    }

    /// Goes on behind what was read.
    pub(super) fn go_on(&mut self, read: &Read<'_>) -> io::Result<()> {
        let file = self.disk.open(&self.path, Open::Write)?;
        if file.about()?.len > read.end {
            file.set_len(read.end)?;
        }
        self.open = Some(OpenEnd { file, base_bytes: read.base_bytes, end: read.end });
        Ok(())
    }

    /// Appends the rows of a change. After a failure the file has to be written from the beginning.
    pub(super) fn append(&mut self, number: u64, rows: &[u8]) {
        let Some(open) = &mut self.open else { return };
        let mut frame = Vec::with_capacity(rows.len() + 16);
        encode_frame(number, rows, &mut frame);
        match open.file.write_at(&frame, open.end) {
            Ok(()) => open.end += frame.len() as u64,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the transcript of the catalogue could not be written; it will be written again");
                self.open = None;
            }
        }
    }

    /// Is it time to write it from the beginning?
    pub(super) fn is_due(&self) -> bool {
        let is_long = |open: &OpenEnd| open.end > 2 * open.base_bytes + SPARE_BYTES;
        self.open.as_ref().is_none_or(is_long)
    }

    /// Makes what was appended durable. After a failure the file has to be written from the beginning: the system may have dropped some of
    /// it, and a later sync would succeed without that.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let synced = self.open.as_ref().map_or(Ok(()), |open| open.file.sync_data());
        if synced.is_err() {
            self.open = None;
        }
        synced
    }

    /// Reads the file, which should go up to a change. Gives what is wrong with it.
    pub(super) fn check(&self, number: u64) -> Vec<String> {
        let path = self.path.display();
        if self.open.is_none() {
            return vec![format!("{path} could not be written; the next cut tries again")];
        }
        let bytes = match disk::read(&*self.disk, &self.path) {
            Ok(bytes) => bytes,
            Err(error) => return vec![format!("read {path}: {error}")],
        };
        match parse(&bytes) {
            Ok(read) if read.problems.is_empty() && read.number != number => {
                vec![format!("{path} ends at change {} of {number}", read.number)]
            }
            Ok(read) => read.problems.iter().map(|problem| format!("{path} is damaged: {problem}")).collect(),
            Err(Unreadable::Damaged(why)) => vec![format!("{path} is damaged: {why}")],
            Err(Unreadable::Version(found)) => vec![format!("{path} has format version {found}")],
        }
    }

    /// Writes it from the beginning: `fill` hands over all rows as of a change.
    pub(super) fn write_all(
        &mut self,
        number: u64,
        fill: impl FnOnce(&mut Filling<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.open = None;
        let mut tmp = self.path.clone().into_os_string();
        tmp.push(".tmp");
        let tmp = PathBuf::from(tmp);
        let file = self.disk.open(&tmp, Open::Fresh).map_err(failed("create", &tmp))?;
        let mut filling = Filling { file: &*file, number, rows: Vec::new(), end: HEADER_LEN as u64 };
        fill(&mut filling)?;
        filling.flush().map_err(failed("write", &tmp))?;
        let end = filling.end;
        let base_bytes = end - HEADER_LEN as u64;
        let header = Header { store: self.store, number, base_bytes }.encode();
        file.write_at(&header, 0).and_then(|()| file.sync_all()).map_err(failed("write", &tmp))?;
        self.disk.rename(&tmp, &self.path).map_err(failed("rename", &tmp))?;
        if let Some(dir) = self.path.parent() {
            self.disk.sync_dir(dir).map_err(failed("sync", dir))?;
        }
        self.open = Some(OpenEnd { file, base_bytes, end });
        Ok(())
    }
}

/// A transcript that is being written from the beginning.
pub(super) struct Filling<'a> {
    file: &'a dyn DiskFile,
    number: u64,
    rows: Vec<u8>,
    end: u64,
}

impl Filling<'_> {
    pub(super) fn put(&mut self, row: &Row<'_>) -> io::Result<()> {
        row.encode(&mut self.rows);
        if self.rows.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut frame = Vec::with_capacity(self.rows.len() + 16);
        encode_frame(self.number, &self.rows, &mut frame);
        self.file.write_at(&frame, self.end)?;
        self.end += frame.len() as u64;
        self.rows.clear();
        Ok(())
    }
}
