//! Where the bytes of a file come from: memory, or a file too large to be read at once.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::error::ReadError;

/// Most bytes of one read. Real headers and blocks are far smaller; a damaged header must not make us allocate more.
const MAX_READ: usize = 64 << 20;

/// The bytes of one file.
pub(super) enum Input<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Parts of it are read when they are asked for.
    Parts {
        /// The file.
        file: &'a File,
        /// Its length when it was opened.
        len: u64,
        /// Holds the part that was read last.
        buffer: &'a mut Vec<u8>,
    },
}

impl Input<'_> {
    /// Bytes in the file.
    pub(super) fn len(&self) -> u64 {
        match self {
            Input::Whole(bytes) => bytes.len() as u64,
            Input::Parts { len, .. } => *len,
        }
    }

    /// Some bytes of it; `part` is what they are, for the error if the file has fewer.
    pub(super) fn read(&mut self, part: &'static str, offset: u64, bytes: u64) -> Result<&[u8], ReadError> {
        let (need, have) = (offset.saturating_add(bytes), self.len());
        if need > have {
            return Err(ReadError::CutOff { part, need, have });
        }
        let count = usize::try_from(bytes).unwrap_or(usize::MAX);
        if count > MAX_READ {
            return Err(ReadError::TooLarge { part, bytes });
        }
        match self {
            Input::Whole(all) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let found = all.get(start..).and_then(|rest| rest.get(..count));
                found.ok_or(ReadError::CutOff { part, need, have })
            }
            Input::Parts { file, buffer, .. } => {
                buffer.resize(count, 0);
                file.read_exact_at(buffer, offset).map_err(ReadError::reading)?;
                Ok(buffer)
            }
        }
    }
}
