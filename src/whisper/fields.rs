//! Numbers of a header, one after the other. Whisper writes the high byte first.

use super::POINT_BYTES;
use super::error::ReadError;
use plumbago_model::Point;

/// What is left of a header.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn u8(&mut self) -> Result<u8, ReadError> {
        self.array::<1>().map(u8::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ReadError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn f32(&mut self) -> Result<f32, ReadError> {
        self.array().map(f32::from_be_bytes)
    }

    pub(super) fn skip(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.take(bytes).map(drop)
    }

    /// The next bytes as they are.
    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], ReadError> {
        let (taken, rest) = self.bytes.split_at_checked(bytes).ok_or_else(|| self.cut_off(bytes))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| self.cut_off(N))?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn cut_off(&self, need: usize) -> ReadError {
        ReadError::CutOff { part: "header", need: need as u64, have: self.bytes.len() as u64 }
    }
}

/// A point as rings and buffers have it. The time stamp 0 means that nothing was ever written there.
#[inline]
pub(super) fn point(bytes: &[u8; POINT_BYTES]) -> Point {
    let &[t0, t1, t2, t3, v0, v1, v2, v3, v4, v5, v6, v7] = bytes;
    Point {
        timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
        value: f64::from_be_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
    }
}
