//! Reads whole files of either format.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use super::archive::Archive;
use super::compressed;
use super::error::{FileError, ReadError};
use super::header::{Header, Plain};
use super::input::Input;
use super::method::Method;
use super::ring;

/// Files up to this size are read at once; of larger ones, one part at a time is in memory.
const WHOLE: u64 = 4 << 20;

/// What is in a file: the points that a reader of whisper would show, by resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the file says about itself.
    pub header: Header,
    /// The finest first. A mix has several of one resolution.
    pub archives: Vec<Archive>,
}

impl Series {
    /// The methods that its coarser archives have: one, except in a mix.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = Vec::new();
        for archive in self.archives.iter().skip(1) {
            if !methods.contains(&archive.method) {
                methods.push(archive.method);
            }
        }
        if methods.is_empty() && self.header.method != Method::Mix {
            methods.push(self.header.method);
        }
        methods
    }

    /// The series with one of its methods: the finest archive, and the coarser ones that have the method.
    pub fn only(mut self, method: Method) -> Self {
        let mut finest = true;
        self.archives.retain(|archive| std::mem::take(&mut finest) || archive.method == method);
        self.archives.iter_mut().for_each(|archive| archive.method = method);
        self.header.method = method;
        self
    }
}

/// Reads files one after the other, and uses its memory again for each.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// A reader without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file as of `now`, in seconds since the epoch.
    pub fn read(&mut self, path: &Path, now: u32) -> Result<Series, FileError> {
        self.read_open(path, now).map_err(|source| FileError { path: path.to_owned(), source })
    }

    fn read_open(&mut self, path: &Path, now: u32) -> Result<Series, ReadError> {
        let opening = |source| ReadError::Io { action: "open", source };
        // Opening a pipe would wait for its writer.
        if !fs::metadata(path).map_err(opening)?.is_file() {
            return Err(ReadError::NotAFile);
        }
        let mut file = File::open(path).map_err(opening)?;
        let len = file.metadata().map_err(opening)?.len();
        self.buffer.clear();
        if len > WHOLE {
            return read(&mut Input::Parts { file: &file, len, buffer: &mut self.buffer }, now);
        }
        self.buffer.resize(len as usize, 0);
        file.read_exact(&mut self.buffer).map_err(ReadError::reading)?;
        parse(&self.buffer, now)
    }
}

/// Reads a file that is in memory as of `now`.
pub fn parse(bytes: &[u8], now: u32) -> Result<Series, ReadError> {
    read(&mut Input::Whole(bytes), now)
}

fn read(input: &mut Input<'_>, now: u32) -> Result<Series, ReadError> {
    if compressed::is_magic(input)? {
        return compressed::read(input, now);
    }
    let Plain { header, rings } = Plain::read(input)?;
    let archive = |ring| ring::read(input, ring, header.method, now);
    let archives = rings.iter().map(archive).collect::<Result<_, _>>()?;
    Ok(Series { header, archives })
}
