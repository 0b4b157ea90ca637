//! The memory that all queries share, as a semaphore: a permit is a kibibyte.
//!
//! A semaphore serves those who wait in their order, so that a large query is not overtaken by small ones for ever. A query borrows
//! more than it needs at once, so that most of its series cost one addition to its own number and do not come here.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::config;
use crate::telemetry::Telemetry;
use plumbago_model::QueryError;

/// Bytes of a permit.
const UNIT: usize = 1024;

/// How often a query that waits for memory looks whether anybody still waits for it.
const LOOK: Duration = Duration::from_millis(50);

/// What all queries may use, and what one may.
#[derive(Debug)]
pub(in crate::http) struct Memory {
    free: Arc<Semaphore>,
    /// In permits.
    total: u32,
    each: usize,
    wait: Duration,
    runtime: Handle,
    telemetry: Arc<Telemetry>,
}

/// Borrowed memory; it goes back when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Loan {
    permit: OwnedSemaphorePermit,
    telemetry: Arc<Telemetry>,
}

impl Memory {
    pub(super) fn new(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        let total = u32::try_from(config.memory / UNIT).unwrap_or(u32::MAX);
        telemetry.query_memory_limit.set(u64::from(total) * UNIT as u64);
        Self {
            free: Arc::new(Semaphore::new(total as usize)),
            total,
            each: config.memory_each.min(total as usize * UNIT),
            wait: config.memory_wait,
            runtime: Handle::current(),
            telemetry,
        }
    }

    /// Bytes that one query may use.
    pub(super) fn each(&self) -> usize {
        self.each
    }

    /// Bytes that all may use.
    pub(super) fn total(&self) -> usize {
        self.total as usize * UNIT
    }

    /// Bytes that are lent.
    pub(super) fn lent(&self) -> usize {
        self.total() - self.free.available_permits() * UNIT
    }

    /// Lends at least so many bytes, or all that there are. Waits until others have given enough back.
    pub(in crate::http) async fn lend(&self, bytes: usize) -> Result<Loan, QueryError> {
        let permits = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.total);
        let acquired = timeout(self.wait, Arc::clone(&self.free).acquire_many_owned(permits)).await;
        let Ok(Ok(permit)) = acquired else { return Err(self.crowded()) };
        self.telemetry.query_memory.add(permit.num_permits() as u64 * UNIT as u64);
        Ok(Loan { permit, telemetry: Arc::clone(&self.telemetry) })
    }

    /// The same for a thread that may block. It stops waiting when `is_wanted` says why.
    pub(super) fn lend_blocking(
        &self,
        bytes: usize,
        is_wanted: impl Fn() -> Result<(), QueryError>,
    ) -> Result<Loan, QueryError> {
        self.runtime.block_on(async {
            let mut lending = std::pin::pin!(self.lend(bytes));
            loop {
                match timeout(LOOK, &mut lending).await {
                    Ok(lent) => return lent,
                    Err(_) => is_wanted()?,
                }
            }
        })
    }

    fn crowded(&self) -> QueryError {
        let total = shown(self.total());
        QueryError::Crowded(format!(
            "other queries use the {total} that query.memory allows; try again in a moment, ask for less, or raise it"
        ))
    }
}

impl Loan {
    /// Bytes of it.
    pub(super) fn bytes(&self) -> usize {
        self.permit.num_permits() * UNIT
    }

    /// Adds another one to it.
    pub(in crate::http) fn add(&mut self, other: Self) {
        let Some(permit) = other.into_permit() else { return };
        self.permit.merge(permit);
    }

    /// Gives a part of it back, and says how much that was.
    pub(super) fn give_back(&mut self, bytes: usize) -> usize {
        let Some(part) = self.permit.split(bytes / UNIT) else { return 0 };
        let bytes = part.num_permits() * UNIT;
        self.telemetry.query_memory.sub(bytes as u64);
        bytes
    }

    /// The permit alone, for another loan.
    fn into_permit(mut self) -> Option<OwnedSemaphorePermit> {
        self.permit.split(self.permit.num_permits())
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.telemetry.query_memory.sub(self.bytes() as u64);
    }
}

/// A number of bytes for a person: in MiB, and in KiB below one.
pub(super) fn shown(bytes: usize) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes.div_ceil(1024)),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: usize, wait: Duration) -> (Memory, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let config = config::Query { memory: bytes, memory_wait: wait, ..config::Query::default() };
        let _inside = runtime.enter();
        let memory = Memory::new(&config, Arc::default());
        drop(_inside);
        (memory, runtime)
    }

    #[test]
    fn what_is_lent_comes_back() {
        let (memory, _runtime) = memory(10 << 20, Duration::from_millis(1));
        assert_eq!((memory.total(), memory.each(), memory.lent()), (10 << 20, 10 << 20, 0));
        let mut loan = memory.lend_blocking(5 << 20, || Ok(())).unwrap();
        loan.add(memory.lend_blocking(1, || Ok(())).unwrap());
        assert_eq!((loan.bytes(), memory.lent()), ((5 << 20) + 1024, (5 << 20) + 1024));
        assert_eq!(memory.telemetry.query_memory.get(), (5 << 20) + 1024);
        let refused = memory.lend_blocking(5 << 20, || Ok(())).unwrap_err();
        assert!(matches!(&refused, QueryError::Crowded(text) if text.contains("10 MiB")), "{refused}");
        assert_eq!((loan.give_back(4 << 20), loan.bytes()), (4 << 20, (1 << 20) + 1024));
        assert_eq!(memory.lent(), (1 << 20) + 1024);
        drop(loan);
        assert_eq!((memory.lent(), memory.telemetry.query_memory.get()), (0, 0));
        assert_eq!(memory.lend_blocking(usize::MAX, || Ok(())).unwrap().bytes(), 10 << 20, "all there is");
    }

    #[test]
    fn who_waits_gets_what_another_gives_back() {
        let (memory, _runtime) = memory(1 << 20, Duration::from_secs(60));
        let all = memory.lend_blocking(1 << 20, || Ok(())).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| memory.lend_blocking(1, || Ok(())).map(|loan| loan.bytes()));
            drop(all);
            assert_eq!(waiting.join().unwrap().unwrap(), 1024);
        });
    }

    #[test]
    fn who_is_not_wanted_any_more_does_not_wait() {
        let (memory, _runtime) = memory(1 << 20, Duration::from_secs(60));
        let _all = memory.lend_blocking(1 << 20, || Ok(())).unwrap();
        let left = memory.lend_blocking(1, || Err(QueryError::Abandoned)).unwrap_err();
        assert!(matches!(left, QueryError::Abandoned));
    }
}
