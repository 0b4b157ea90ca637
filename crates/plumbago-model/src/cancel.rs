//! A way to tell long work that nobody waits for it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The work was given up: its deadline passed, or its client went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// True when the deadline passed, false when the client left.
    pub deadline: bool,
}

/// A deadline and a flag, checked by loops that may run long. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Cancel {
    /// Never cancelled unless [`Cancel::cancel`] is called.
    pub fn never() -> Self {
        Self::default()
    }

    /// Cancelled by itself once `deadline` has passed.
    pub fn at(deadline: Instant) -> Self {
        Self { flag: Arc::default(), deadline: Some(deadline) }
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
}
