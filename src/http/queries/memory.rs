//! The memory that all queries share.
//!
//! A query that has none yet waits in line, so that small ones cannot overtake a large one for ever. A query that has some and
//! needs more comes first, because the others wait for what it has. Only one such query waits at a time: if two waited for each
//! other, neither would end, so the second one is refused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::config;
use crate::telemetry::Telemetry;
use plumbago_model::QueryError;

/// How often a query that waits for memory looks whether anybody still waits for it.
const LOOK: Duration = Duration::from_millis(50);

/// What all queries may use, and what one may.
#[derive(Debug)]
pub(in crate::http) struct Memory {
    pool: Arc<Pool>,
    each: usize,
    wait: Duration,
    runtime: Handle,
}

/// Borrowed memory; it goes back when this is dropped.
#[derive(Debug)]
pub(in crate::http) struct Loan {
    pool: Arc<Pool>,
    bytes: usize,
}

#[derive(Debug)]
struct Pool {
    total: usize,
    state: Mutex<State>,
    telemetry: Arc<Telemetry>,
}

#[derive(Debug)]
struct State {
    free: usize,
    line: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    bytes: usize,
    has_some: bool,
    /// Gets the loan; closed when nobody waits any more.
    turn: oneshot::Sender<Loan>,
}

impl Memory {
    pub(super) fn new(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        let total = config.memory;
        telemetry.query_memory_limit.set(total as u64);
        let state = Mutex::new(State { free: total, line: VecDeque::new() });
        Self {
            pool: Arc::new(Pool { total, state, telemetry }),
            each: config.memory_each.min(total),
            wait: config.memory_wait,
            runtime: Handle::current(),
        }
    }

    /// Bytes that one query may use.
    pub(in crate::http) fn each(&self) -> usize {
        self.each
    }

    /// Bytes that all may use.
    pub(super) fn total(&self) -> usize {
        self.pool.total
    }

    /// Bytes that are lent.
    pub(super) fn lent(&self) -> usize {
        self.pool.total - self.pool.state.lock().free
    }

    /// Lends so many bytes, or all that there are. Waits until others have given enough back.
    pub(in crate::http) async fn lend(&self, bytes: usize) -> Result<Loan, QueryError> {
        self.lend_to(bytes, false).await
    }

    /// The same for a thread that may block, whose query may have some memory already. It stops waiting when `is_wanted` says why.
    pub(in crate::http) fn lend_blocking(
        &self,
        bytes: usize,
        has_some: bool,
        is_wanted: impl Fn() -> Result<(), QueryError>,
    ) -> Result<Loan, QueryError> {
        let bytes = bytes.min(self.pool.total);
        if let Some(loan) = self.pool.take(bytes, has_some) {
            return Ok(loan);
        }
        self.runtime.block_on(async {
            let mut lending = std::pin::pin!(self.lend_to(bytes, has_some));
            loop {
                match timeout(LOOK, &mut lending).await {
                    Ok(lent) => return lent,
                    Err(_) => is_wanted()?,
                }
            }
        })
    }

    async fn lend_to(&self, bytes: usize, has_some: bool) -> Result<Loan, QueryError> {
        let bytes = bytes.min(self.pool.total);
        if let Some(loan) = self.pool.take(bytes, has_some) {
            return Ok(loan);
        }
        let Some(turn) = self.pool.queue(bytes, has_some) else { return Err(self.crowded()) };
        let _leaving = Leaving(&self.pool);
        match timeout(self.wait, turn).await {
            Ok(Ok(loan)) => Ok(loan),
            _ => Err(self.crowded()),
        }
    }

    fn crowded(&self) -> QueryError {
        let total = shown(self.total());
        QueryError::Crowded(format!(
            "other queries use the {total} that query.memory allows; try again in a moment, ask for less, or raise it"
        ))
    }
}

impl Pool {
    /// Lends without waiting, unless others were first.
    fn take(self: &Arc<Self>, bytes: usize, has_some: bool) -> Option<Loan> {
        let mut state = self.state.lock();
        let others_first = !has_some && state.line.iter().any(|waiting| !waiting.turn.is_closed());
        (!others_first && state.free >= bytes).then(|| self.lend(&mut state, bytes))
    }

    /// A place in line; none if it would have to wait for somebody who waits for it.
    fn queue(&self, bytes: usize, has_some: bool) -> Option<oneshot::Receiver<Loan>> {
        let (turn, receiver) = oneshot::channel();
        let waiting = Waiting { bytes, has_some, turn };
        let mut state = self.state.lock();
        state.line.retain(|waiting| !waiting.turn.is_closed());
        if !has_some {
            state.line.push_back(waiting);
        } else if state.line.front().is_some_and(|first| first.has_some) {
            return None;
        } else {
            state.line.push_front(waiting);
        }
        Some(receiver)
    }

    fn lend(self: &Arc<Self>, state: &mut State, bytes: usize) -> Loan {
        state.free -= bytes;
        self.telemetry.query_memory.add(bytes as u64);
        Loan { pool: Arc::clone(self), bytes }
    }

    /// Takes memory back, and lends it to those who are first in line.
    fn give_back(self: &Arc<Self>, bytes: usize) {
        // A loan that nobody waits for any more comes back itself, which takes the lock.
        let mut unwanted = Vec::new();
        let mut state = self.state.lock();
        state.free += bytes;
        self.telemetry.query_memory.sub(bytes as u64);
        while let Some(first) = state.line.front() {
            if first.bytes > state.free && !first.turn.is_closed() {
                break;
            }
            let Some(first) = state.line.pop_front() else { break };
            if !first.turn.is_closed() {
                let loan = self.lend(&mut state, first.bytes);
                unwanted.extend(first.turn.send(loan).err());
            }
        }
        drop(state);
    }
}

/// Somebody stops waiting. Those behind may have been waiting for that.
struct Leaving<'a>(&'a Arc<Pool>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.give_back(0);
    }
}

impl Loan {
    /// Bytes of it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds another one to it.
    pub(in crate::http) fn add(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Gives a part of it back, and says how much that was.
    pub(super) fn give_back(&mut self, bytes: usize) -> usize {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.pool.give_back(bytes);
        bytes
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.pool.give_back(self.bytes);
        }
    }
}

/// A number of bytes for a person: in MiB, and in KiB below one.
pub(in crate::http) fn shown(bytes: usize) -> String {
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
        let mut loan = memory.lend_blocking(5 << 20, false, || Ok(())).unwrap();
        loan.add(memory.lend_blocking(1, false, || Ok(())).unwrap());
        assert_eq!((loan.bytes(), memory.lent()), ((5 << 20) + 1, (5 << 20) + 1));
        assert_eq!(memory.pool.telemetry.query_memory.get(), (5 << 20) + 1);
        let refused = memory.lend_blocking(5 << 20, false, || Ok(())).unwrap_err();
        assert!(matches!(&refused, QueryError::Crowded(text) if text.contains("10 MiB")), "{refused}");
        assert_eq!((loan.give_back(4 << 20), loan.bytes()), (4 << 20, (1 << 20) + 1));
        assert_eq!(memory.lent(), (1 << 20) + 1);
        drop(loan);
        assert_eq!((memory.lent(), memory.pool.telemetry.query_memory.get()), (0, 0));
        assert_eq!(
            memory.lend_blocking(usize::MAX, false, || Ok(())).unwrap().bytes(),
            10 << 20,
            "all there is"
        );
    }

    #[test]
    fn a_waiting_query_gets_what_another_gives_back() {
        let (memory, _runtime) = memory(1 << 20, Duration::from_secs(60));
        let all = memory.lend_blocking(1 << 20, false, || Ok(())).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| memory.lend_blocking(1, false, || Ok(())).map(|loan| loan.bytes()));
            drop(all);
            assert_eq!(waiting.join().unwrap().unwrap(), 1);
        });
    }

    #[test]
    fn a_cancelled_query_does_not_wait() {
        let (memory, _runtime) = memory(1 << 20, Duration::from_secs(60));
        let _all = memory.lend_blocking(1 << 20, false, || Ok(())).unwrap();
        let left = memory.lend_blocking(1, false, || Err(QueryError::Abandoned)).unwrap_err();
        assert!(matches!(left, QueryError::Abandoned));
    }

    #[test]
    fn a_query_with_a_loan_comes_first_and_does_not_wait_for_another_that_has_one() {
        let (memory, _runtime) = memory(10, Duration::from_secs(60));
        let mut all = memory.lend_blocking(10, false, || Ok(())).unwrap();
        let waiting = |count: usize| {
            let began = std::time::Instant::now();
            while memory.pool.state.lock().line.len() < count {
                assert!(began.elapsed() < Duration::from_secs(20), "it never waited");
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            let later = scope.spawn(|| memory.lend_blocking(8, false, || Ok(())).map(|loan| loan.bytes()));
            waiting(1);
            let first = scope.spawn(|| memory.lend_blocking(5, true, || Ok(())));
            waiting(2);
            let refused = memory.lend_blocking(1, true, || Ok(())).unwrap_err();
            assert!(matches!(refused, QueryError::Crowded(_)), "{refused}");
            assert_eq!(all.give_back(5), 5);
            let first = first.join().unwrap().unwrap();
            assert_eq!((first.bytes(), memory.lent()), (5, 10));
            drop((first, all));
            assert_eq!(later.join().unwrap().unwrap(), 8);
        });
        assert_eq!(memory.lent(), 0);
    }

    #[test]
    fn a_query_that_leaves_the_line_lets_others_pass() {
        let (memory, _runtime) = memory(10, Duration::from_secs(60));
        let _half = memory.lend_blocking(5, false, || Ok(())).unwrap();
        let left = memory.lend_blocking(8, false, || Err(QueryError::Abandoned)).unwrap_err();
        assert!(matches!(left, QueryError::Abandoned));
        assert_eq!(memory.lend_blocking(5, false, || Ok(())).unwrap().bytes(), 5);
    }
}
