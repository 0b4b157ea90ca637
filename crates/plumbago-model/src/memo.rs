//! Memos: texts that clients of KairosDB leave here.

/// Where a memo is. No part is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoPlace<'a> {
    /// Whose it is.
    pub keeper: &'a str,
    /// The service that wrote it, as it calls itself.
    pub service: &'a str,
    /// What it is about.
    pub service_key: &'a str,
    /// What it says about that.
    pub key: &'a str,
}
