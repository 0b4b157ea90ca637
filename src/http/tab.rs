//! The memory of a list that grows name by name.

use plumbago_model::{Cancel, QueryError};

/// Bytes that are taken at once: names are small and many.
const AT_ONCE: usize = 64 * 1024;

/// Bytes that an entry of a list takes beside its name, in the list and in the document.
const ENTRY_BYTES: usize = 128;

/// Takes memory for names. After it was refused once, no more names should be added.
pub(super) struct Tab<'a> {
    cancel: &'a Cancel,
    owed: usize,
    refused: Option<QueryError>,
}

impl<'a> Tab<'a> {
    /// Of a query.
    pub(super) fn new(cancel: &'a Cancel) -> Self {
        Self { cancel, owed: 0, refused: None }
    }

    /// May a name be added?
    #[inline]
    pub(super) fn admits(&mut self, name: &str) -> bool {
        self.owed += name.len() + ENTRY_BYTES;
        if self.owed >= AT_ONCE && self.refused.is_none() {
            self.refused = self.cancel.take(std::mem::take(&mut self.owed)).err();
        }
        self.refused.is_none()
    }

    /// Takes the rest, and says whether all names were admitted.
    pub(super) fn settle(self) -> Result<(), QueryError> {
        match self.refused {
            Some(refused) => Err(refused),
            None => self.cancel.take(self.owed),
        }
    }
}
