//! Reading the arguments of opcodes from a frame.

use super::heap::Value;

/// A frame and how far it has been read. `None` means that it ends too early.
pub(super) struct Input<'f> {
    frame: &'f [u8],
    at: usize,
}

impl<'f> Input<'f> {
    pub(super) fn new(frame: &'f [u8]) -> Self {
        Self { frame, at: 0 }
    }

    /// Position of the next byte.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length of one, four or eight bytes; `None` also when it is too large.
    pub(super) fn length<const N: usize>(&mut self) -> Option<usize> {
        let mut wide = [0; 8];
        wide.get_mut(..N)?.copy_from_slice(&self.array::<N>()?);
        usize::try_from(u64::from_le_bytes(wide)).ok()
    }

    pub(super) fn bytes(&mut self, len: usize) -> Option<&'f [u8]> {
        let end = self.at.checked_add(len)?;
        let bytes = self.frame.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    /// A text of `len` bytes, in place.
    pub(super) fn text(&mut self, len: usize) -> Option<Value> {
        let at = u32::try_from(self.at).ok()?;
        self.bytes(len)?;
        Some(Value::Text { at, len: u32::try_from(len).ok()? })
    }

    /// The text up to the next line feed, and where it starts.
    pub(super) fn line(&mut self) -> Option<(usize, &'f [u8])> {
        let at = self.at;
        let len = memchr::memchr(b'\n', self.frame.get(at..)?)?;
        let line = self.bytes(len)?;
        self.at += 1;
        Some((at, line))
    }
}
