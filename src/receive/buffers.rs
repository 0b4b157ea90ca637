//! Read buffers, lent only while there is something to read: ten thousand idle connections hold none.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::parse::labelled::telnet::Told;
use plumbago_model::{Batch, Point};

/// Size of one read. Large enough to make calls rare, small enough to stay in the second-level cache together with
/// the batch that is parsed from it.
pub(super) const READ_BYTES: usize = 128 * 1024;

/// Buffers kept for later; more are freed when given back.
const KEPT: usize = 32;

/// The buffers of all connections.
#[derive(Debug, Default)]
pub(super) struct Buffers(Mutex<Vec<Scratch>>);

/// Room for one read and for the batch parsed from it.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) bytes: Box<[u8]>,
    pub(super) entries: Spare,
}

/// The memory of a batch between its uses.
#[derive(Debug, Default)]
pub(super) struct Spare {
    entries: Entries,
    /// What lines of metrics with tags said.
    told: Told,
}

type Entries = Vec<(&'static str, Point)>;

/// A borrowed buffer; returned when dropped.
#[derive(Debug)]
pub(super) struct Loan {
    scratch: Option<Scratch>,
    home: Arc<Buffers>,
}

impl Buffers {
    pub(super) fn lend(self: &Arc<Self>) -> Loan {
        let kept = self.0.lock().pop();
        let scratch =
            kept.unwrap_or_else(|| Scratch { bytes: vec![0; READ_BYTES].into(), entries: Spare::default() });
        Loan { scratch: Some(scratch), home: Arc::clone(self) }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut kept = self.home.0.lock();
        if kept.len() < KEPT {
            kept.extend(self.scratch.take());
        }
    }
}

impl Deref for Loan {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        self.scratch.as_ref().expect("a loan holds its buffer until it is dropped")
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut Scratch {
        self.scratch.as_mut().expect("a loan holds its buffer until it is dropped")
    }
}

impl Spare {
    /// An empty batch.
    pub(super) fn batch<'a>(&mut self) -> Batch<'a> {
        Batch { entries: std::mem::take(&mut self.entries), ..Batch::default() }
    }

    /// Nothing was told yet.
    pub(super) fn told(&mut self) -> Told {
        std::mem::take(&mut self.told)
    }

    /// Keeps the memory of what was told.
    pub(super) fn keep_told(&mut self, mut told: Told) {
        told.clear();
        self.told = told;
    }

    /// Keeps the memory of a finished batch.
    pub(super) fn keep(&mut self, batch: Batch<'_>) {
        let mut entries = batch.entries;
        entries.clear();
        // Nothing is left to convert, and collecting into the same layout keeps the allocation: this changes the
        // lifetime in the type and nothing else.
        self.entries =
            entries.into_iter().map(|_| -> (&'static str, Point) { unreachable!("was cleared") }).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_lent_again() {
        let buffers = Arc::new(Buffers::default());
        let address = |loan: &Loan| loan.bytes.as_ptr();
        let first = buffers.lend();
        let at = address(&first);
        assert_ne!(address(&buffers.lend()), at);
        drop(first);
        assert_eq!(address(&buffers.lend()), at);
    }

    #[test]
    fn a_batch_keeps_its_memory() {
        let mut spare = Spare::default();
        let name = String::from("a");
        let mut batch = spare.batch();
        batch.push(&name, Point { timestamp: 1, value: 1.0 });
        let capacity = batch.entries.capacity();
        spare.keep(batch);
        drop(name);
        assert_eq!(spare.batch().entries.capacity(), capacity);
    }
}
