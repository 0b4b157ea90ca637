//! Why a whisper file could not be read or written.

use std::io;
use std::path::PathBuf;

use plumbago_model::RetentionError;

use super::compressed::BlockError;
use super::header::Format;

/// A whisper file that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}", path = path.display())]
pub struct FileError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub source: ReadError,
}

/// What is wrong with a file. Archives and blocks are counted from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read it.
    #[error("{action}: {source}")]
    Io {
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("it is not a file; name a file or the directory above")]
    NotAFile,
    /// No bytes.
    #[error("the file is empty: its writer was stopped while it made the file; delete it")]
    Empty,
    /// The file ends before a part of it.
    #[error(
        "the {part} ends at byte {need}, but the file has {have} bytes: it was cut off; restore or delete it"
    )]
    CutOff {
        /// Which part.
        part: &'static str,
        /// Where it ends.
        need: u64,
        /// Bytes in the file.
        have: u64,
    },
    /// The header asks for more than any real file has in one piece.
    #[error(
        "the {part} has {bytes} bytes, which no real file has: the file is damaged; restore or delete it"
    )]
    TooLarge {
        /// Which part.
        part: &'static str,
        /// How much.
        bytes: u64,
    },
    /// Not a number of an aggregation method.
    #[error(
        "aggregation method {code} is not known in {format} whisper: the file is damaged or of a newer version"
    )]
    UnknownMethod {
        /// The number.
        code: u32,
        /// In which format.
        format: Format,
    },
    /// Not a share.
    #[error("the xFilesFactor is {value}, but must be from 0 to 1: the file is damaged")]
    XFilesFactor {
        /// What the header says.
        value: f32,
    },
    /// A percentile beyond its range.
    #[error(
        "archive {archive} keeps the percentile {value}, but must have one from 0 to 100: the file is damaged"
    )]
    Percentile {
        /// Which archive.
        archive: usize,
        /// What the header says.
        value: f32,
    },
    /// Nothing to read.
    #[error("the header lists no archive: the file is damaged")]
    NoArchives,
    /// A step or a length of zero.
    #[error(
        "archive {archive} has {slots} points of {step} s, but must have at least one of each: the file is damaged"
    )]
    Nothing {
        /// Which archive.
        archive: usize,
        /// Seconds per point.
        step: u32,
        /// Points.
        slots: u32,
    },
    /// A finer archive behind a coarser one.
    #[error(
        "archive {archive} has {step} s per point, but comes after one with {before} s: the file is damaged"
    )]
    Unsorted {
        /// Which archive.
        archive: usize,
        /// Seconds per point.
        step: u32,
        /// Of the archive before.
        before: u32,
    },
    /// The archives do not fit together.
    #[error("the archives do not fit together: {0}")]
    Retention(#[from] RetentionError),
    /// An archive that begins in the header.
    #[error(
        "archive {archive} begins at byte {offset}, inside the header, which has {header} bytes: the file is damaged"
    )]
    InsideHeader {
        /// Which archive.
        archive: usize,
        /// Where it begins.
        offset: u64,
        /// Bytes of the header.
        header: u64,
    },
    /// An archive that ends behind the file.
    #[error(
        "archive {archive} has {bytes} bytes from byte {offset} on, but the file has {have}: it was cut off; \
         restore or delete it"
    )]
    BeyondEnd {
        /// Which archive.
        archive: usize,
        /// Where it begins.
        offset: u64,
        /// How long it is.
        bytes: u64,
        /// Bytes in the file.
        have: u64,
    },
    /// Two archives in one place.
    #[error(
        "archive {archive} begins at byte {offset}, before another one ends at byte {end}: the file is damaged"
    )]
    Overlap {
        /// Which archive.
        archive: usize,
        /// Where it begins.
        offset: u64,
        /// Where the other one ends.
        end: u64,
    },
    /// A format of another release.
    #[error("the file has version {found} of compressed whisper; this build reads version 1")]
    Version {
        /// What the header says.
        found: u8,
    },
    /// The header is not what was written.
    #[error(
        "the header has the checksum {computed:08x} instead of {stated:08x}: go-carbon is writing the file, or it is \
         damaged; stop go-carbon or read a copy"
    )]
    HeaderChecksum {
        /// What the header says.
        stated: u32,
        /// What it is.
        computed: u32,
    },
    /// A block is not what was written.
    #[error(
        "block {block} of archive {archive} has the checksum {computed:08x} instead of {stated:08x}: go-carbon is \
         writing the file, or it is damaged; stop go-carbon or read a copy"
    )]
    BlockChecksum {
        /// Which archive.
        archive: usize,
        /// Which block.
        block: usize,
        /// What the index of blocks says.
        stated: u32,
        /// What it is.
        computed: u32,
    },
    /// The current block ends outside of itself.
    #[error(
        "block {block} of archive {archive} ends at byte {end}, outside of the block: the file is damaged"
    )]
    BlockEnd {
        /// Which archive.
        archive: usize,
        /// Which block.
        block: usize,
        /// Where it ends.
        end: u64,
    },
    /// A block makes no sense.
    #[error("block {block} of archive {archive}: {source}")]
    Block {
        /// Which archive.
        archive: usize,
        /// Which block.
        block: usize,
        /// What is wrong with it.
        source: BlockError,
    },
    /// A point of a buffer that is in no slot.
    #[error(
        "the buffer of archive {archive} has a point at {timestamp}, which is no multiple of {step} s: the file is damaged"
    )]
    Unaligned {
        /// Which archive.
        archive: usize,
        /// Its time stamp.
        timestamp: u32,
        /// Seconds per point.
        step: u32,
    },
}

impl ReadError {
    /// What the system said while it read.
    pub(super) fn reading(source: io::Error) -> Self {
        Self::Io { action: "read", source }
    }
}

/// Why a whisper file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The system could not do it.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another number of lists than of stages.
    #[error("the retention has {stages} stages, but points were given for {given}")]
    Archives {
        /// Stages of the retention.
        stages: usize,
        /// Lists of points.
        given: usize,
    },
    /// Whisper counts bytes in 32 bits.
    #[error("a whisper file of {bytes} bytes is not possible, {max} are the most; keep fewer points", max = u32::MAX)]
    TooLarge {
        /// How many there would be.
        bytes: u64,
    },
    /// Not from 0 to 1.
    #[error("the xFilesFactor is {value}, but must be from 0 to 1")]
    XFilesFactor {
        /// What was given.
        value: f64,
    },
    /// Points out of order, between two slots, or at the time 0, which means "never written".
    #[error(
        "archive {archive} cannot keep a point at {timestamp}: time stamps must be multiples of {step} s above 0 and grow"
    )]
    Timestamp {
        /// Which archive.
        archive: usize,
        /// The time stamp.
        timestamp: u32,
        /// Seconds per point.
        step: u32,
    },
    /// The newest point would overwrite the oldest.
    #[error("archive {archive} keeps {slots} points of {step} s, but those from {first} to {last} need more")]
    TooWide {
        /// Which archive.
        archive: usize,
        /// Points that it keeps.
        slots: u32,
        /// Seconds per point.
        step: u32,
        /// The oldest.
        first: u32,
        /// The newest.
        last: u32,
    },
}
