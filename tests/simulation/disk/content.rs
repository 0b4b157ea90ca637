//! The bytes of a file in pages that copies share: what is durable and what is not differ in a few of them.

use std::sync::Arc;

const PAGE: usize = 4096;

type Page = [u8; PAGE];

/// Bytes. A page that was never written is zeros, and takes no room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pages: Vec<Option<Arc<Page>>>,
    len: u64,
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Copies what is there into a buffer. Gives the number of bytes.
    pub(crate) fn read(&self, buffer: &mut [u8], at: u64) -> usize {
        let there = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX).min(buffer.len());
        let mut done = 0;
        while done < there {
            let (number, from) = place(at + done as u64);
            let part = (PAGE - from).min(there - done);
            let out = &mut buffer[done..done + part];
            match self.pages.get(number).and_then(Option::as_ref) {
                Some(page) => out.copy_from_slice(&page[from..from + part]),
                None => out.fill(0),
            }
            done += part;
        }
        there
    }

    /// Replaces bytes, and appends those behind the end.
    pub(crate) fn write(&mut self, bytes: &[u8], at: u64) {
        self.len = self.len.max(at + bytes.len() as u64);
        let mut done = 0;
        while done < bytes.len() {
            let (number, from) = place(at + done as u64);
            let part = (PAGE - from).min(bytes.len() - done);
            self.page(number)[from..from + part].copy_from_slice(&bytes[done..done + part]);
            done += part;
        }
    }

    /// Cuts off, or appends zeros.
    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let (number, from) = place(len);
            self.pages.truncate(number + usize::from(from > 0));
            if from > 0 && self.pages.get(number).is_some_and(Option::is_some) {
                self.page(number)[from..].fill(0);
            }
        }
        self.len = len;
    }

    /// Takes over the pages of another content that a range of bytes lies in.
    pub(crate) fn take_pages(&mut self, other: &Self, at: u64, bytes: usize) {
        let (first, last) = (place(at).0, place(at + bytes.saturating_sub(1) as u64).0);
        for number in first..=last {
            if self.pages.len() <= number {
                self.pages.resize(number + 1, None);
            }
            self.pages[number] = other.pages.get(number).cloned().flatten();
        }
        self.len = self.len.max((at + bytes as u64).min(other.len));
    }

    fn page(&mut self, number: usize) -> &mut Page {
        if self.pages.len() <= number {
            self.pages.resize(number + 1, None);
        }
        Arc::make_mut(self.pages[number].get_or_insert_with(|| Arc::new([0; PAGE])))
    }
}

fn place(at: u64) -> (usize, usize) {
    ((at / PAGE as u64) as usize, (at % PAGE as u64) as usize)
}
