//! A way to tell long work that nobody waits for it any more, and for the work to tell what it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::account::{Account, Phase};
use super::query_error::QueryError;

/// The work was given up: its deadline passed, or its client went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// True when the deadline passed, false when the client left.
    pub deadline: bool,
}

/// A deadline and a flag, checked by loops that may run long, and the account of the query. Clones share flag and account.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
    account: Option<Arc<dyn Account>>,
}

impl Cancel {
    /// Never cancelled unless [`Cancel::cancel`] is called.
    pub fn never() -> Self {
        Self::default()
    }

    /// Cancelled by itself once `deadline` has passed.
    pub fn at(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// The same flag, and a deadline.
    pub fn until(&self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The same flag and deadline for work that writes into `account`. Without one, nothing is counted or refused.
    pub fn with_account(&self, account: Arc<dyn Account>) -> Self {
        Self { account: Some(account), ..self.clone() }
    }

    /// Gives the work up.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// An error once the work should stop. Costs a clock read: call it every few hundred steps.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.flag.load(Ordering::Relaxed) {
            return Err(Cancelled { deadline: false });
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Cancelled { deadline: true }),
            _ => Ok(()),
        }
    }

    /// Asks for memory before it is used. See [`Account::take`].
    pub fn take(&self, bytes: usize) -> Result<(), QueryError> {
        self.account.as_ref().map_or(Ok(()), |account| account.take(bytes))
    }

    /// Gives memory back before the query ends.
    pub fn give_back(&self, bytes: usize) {
        if let Some(account) = &self.account {
            account.give_back(bytes);
        }
    }

    /// Notes what was read from the store.
    pub fn note_read(&self, series: usize, points: usize) {
        if let Some(account) = &self.account {
            account.note_read(series, points);
        }
    }

    /// Notes that a phase begins.
    pub fn begin(&self, phase: Phase) {
        if let Some(account) = &self.account {
            account.begin(phase);
        }
    }
}
