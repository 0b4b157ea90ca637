//! One query while it runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use tracing::Span;

use super::memory::{Loan, shown};
use super::{Queries, Question, Report};
use crate::http::turns::Asker;
use plumbago_model::{Account, Cancel, Phase, QueryError};

/// Bytes that every query has without asking: what a usual find takes, which should not wait behind large renders.
const FREE: usize = 64 * 1024;

/// Beyond what it uses, a query borrows this at most for its functions and its answer.
const AHEAD: usize = 10 << 20;

/// Bytes that a query keeps for later when it gives memory back.
const KEPT: usize = 4 << 20;

/// More than any query takes: sums of such numbers do not overflow.
const MOST: usize = 1 << 48;

/// One query. It gives its memory back and leaves the register when the last reference goes: the request's, that of the thread that
/// works for it, or that of the last bytes of its answer.
#[derive(Debug)]
pub(in crate::http) struct Query {
    question: Arc<Question>,
    queries: Arc<Queries>,
    flag: Cancel,
    cancelled_by_call: AtomicBool,
    started: Timestamp,
    times: Mutex<Times>,
    loan: Mutex<Option<Loan>>,
    /// What `loan` holds, for those who have no need to borrow.
    lent: AtomicUsize,
    used: AtomicUsize,
    most_used: AtomicUsize,
    series: AtomicUsize,
    points: AtomicUsize,
    bytes: AtomicUsize,
    outcome: OnceLock<&'static str>,
}

/// The time by phase.
#[derive(Debug)]
pub(super) struct Times {
    pub(super) phase: Phase,
    since: Instant,
    /// Of the phases that have ended, in the order of `Phase::ALL`.
    spent: [Duration; Phase::ALL.len()],
    span: Span,
}

impl Times {
    fn begin(phase: Phase) -> Self {
        Self { phase, since: Instant::now(), spent: Default::default(), span: span_of(phase) }
    }

    fn go_on(&mut self, phase: Phase) {
        let now = Instant::now();
        self.spent[self.phase as usize] += now - self.since;
        if self.phase != phase {
            (self.phase, self.span) = (phase, span_of(phase));
        }
        self.since = now;
    }

    /// Of all phases, as of now.
    fn spent(&self) -> [Duration; Phase::ALL.len()] {
        let mut spent = self.spent;
        spent[self.phase as usize] += self.since.elapsed();
        spent
    }
}

/// For programs that collect spans; the log does not show it.
fn span_of(phase: Phase) -> Span {
    tracing::debug_span!("phase", name = phase.name())
}

impl Query {
    pub(super) fn new(question: Arc<Question>, queries: Arc<Queries>) -> Self {
        Self {
            question,
            queries,
            flag: Cancel::never(),
            cancelled_by_call: AtomicBool::new(false),
            started: Timestamp::now(),
            times: Mutex::new(Times::begin(Phase::Wait)),
            loan: Mutex::default(),
            lent: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            most_used: AtomicUsize::new(0),
            series: AtomicUsize::new(0),
            points: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            outcome: OnceLock::new(),
        }
    }

    /// The number of its request.
    pub(super) fn id(&self) -> u64 {
        self.question.origin.id
    }

    /// Who asks, to tell them apart from others.
    pub(in crate::http) fn asker(&self) -> Option<Asker> {
        self.question.asker()
    }

    /// What its work is given: the deadline, and this account.
    pub(in crate::http) fn cancel_at(self: &Arc<Self>, deadline: Instant) -> Cancel {
        self.flag.until(deadline).with_account(Arc::clone(self) as Arc<dyn Account>)
    }

    /// Nobody waits for it any more.
    pub(in crate::http) fn abandon(&self) {
        self.flag.cancel();
    }

    /// Does anybody still wait for it?
    pub(in crate::http) fn is_wanted(&self) -> Result<(), QueryError> {
        Ok(self.flag.check()?)
    }

    pub(super) fn cancel_by_call(&self) {
        self.cancelled_by_call.store(true, Ordering::Relaxed);
        self.flag.cancel();
    }

    /// Was it cancelled by a call?
    pub(in crate::http) fn is_cancelled_by_call(&self) -> bool {
        self.cancelled_by_call.load(Ordering::Relaxed)
    }

    /// Notes how it ended; the first word counts.
    pub(in crate::http) fn ended(&self, outcome: &'static str) {
        self.outcome.get_or_init(|| outcome);
    }

    /// Notes bytes of the answer.
    pub(in crate::http) fn note_written(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What is known of it now.
    pub(in crate::http) fn report(&self) -> Report {
        let times = self.times.lock();
        let read = |number: &AtomicUsize| number.load(Ordering::Relaxed) as u64;
        Report {
            id: self.id(),
            question: Arc::clone(&self.question),
            started: self.started,
            phase: times.phase,
            outcome: self.outcome.get().copied(),
            spent: times.spent(),
            series: read(&self.series),
            points: read(&self.points),
            bytes: read(&self.bytes),
            memory: read(&self.most_used),
        }
    }

    /// Borrows what is missing to `used` bytes, and as much as the query will probably need later: a query that waits while it has
    /// memory is in the way of all others.
    fn borrow(&self, used: usize) -> Result<(), QueryError> {
        let memory = self.queries.memory();
        let each = memory.each();
        if used > each {
            let (needed, allowed) = (shown(used), shown(each));
            return Err(QueryError::Memory(format!(
                "the query needs {needed} of memory or more; query.memory_each allows {allowed}: ask for fewer series, a shorter \
                 time or fewer targets at once, or raise it"
            )));
        }
        let mut loan = self.loan.lock();
        let lent = loan.as_ref().map_or(0, Loan::bytes);
        if used <= FREE + lent {
            return Ok(());
        }
        let wanted = (2 * used + AHEAD.min(4 * used)).min(each);
        let more = memory.lend_blocking(wanted - lent, lent > 0, || self.is_wanted())?;
        self.lent.fetch_add(more.bytes(), Ordering::Relaxed);
        match &mut *loan {
            Some(loan) => loan.add(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

impl Account for Query {
    fn take(&self, bytes: usize) -> Result<(), QueryError> {
        let bytes = bytes.min(MOST);
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let granted =
            if used <= FREE + self.lent.load(Ordering::Relaxed) { Ok(()) } else { self.borrow(used) };
        match granted {
            Ok(()) => self.most_used.fetch_max(used, Ordering::Relaxed),
            Err(_) => self.used.fetch_sub(bytes, Ordering::Relaxed),
        };
        granted
    }

    fn give_back(&self, bytes: usize) {
        let bytes = bytes.min(MOST);
        let used = self.used.fetch_sub(bytes, Ordering::Relaxed).saturating_sub(bytes);
        if self.lent.load(Ordering::Relaxed) <= used + 2 * KEPT {
            return;
        }
        // Another thread of this query may be borrowing; then it has use for the rest.
        if let Some(loan) = self.loan.try_lock().as_deref_mut().and_then(Option::as_mut) {
            let surplus = loan.bytes().saturating_sub(used + KEPT);
            self.lent.fetch_sub(loan.give_back(surplus), Ordering::Relaxed);
        }
    }

    fn note_read(&self, series: usize, points: usize) {
        self.series.fetch_add(series, Ordering::Relaxed);
        self.points.fetch_add(points, Ordering::Relaxed);
    }

    fn begin(&self, phase: Phase) {
        self.times.lock().go_on(phase);
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        self.queries.leave(self.report());
    }
}
