//! Whisper files against the programs that own the formats: Python's whisper 1.1.10 and go-whisper.
//!
//! They write files that we read and read files that we write, and every point is compared bit for bit.

mod compressed;
mod peer;
mod plain;
mod random;
mod seeds;
mod shown;
