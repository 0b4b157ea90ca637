//! What all evaluations of one request share: the request, the source, what is fetched already, and the budget.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use ahash::AHashMap;
use plumbago_model::{Cancel, Phase};

use super::value::Value;
use crate::error::RenderError;
use crate::request::Request;
use crate::series::Series;
use crate::source::{FetchRequest, Source};

/// Function calls in one request. Windows within windows evaluate their argument twice at each level, so a short target
/// can mean a lot of work.
const MAX_CALLS: usize = 100_000;

/// What all evaluations of one request share.
pub(crate) struct Session<'a> {
    pub(super) request: &'a Request,
    pub(super) source: &'a dyn Source,
    pub(crate) cancel: &'a Cancel,
    pub(super) fetched: RefCell<AHashMap<FetchRequest, Vec<Series>>>,
    pub(super) points: Cell<usize>,
    calls: Cell<usize>,
    /// Bytes taken for values that are being worked with, and for the results so far.
    standing: Cell<usize>,
    /// Targets made by targets that are being evaluated.
    pub(super) nested: Cell<usize>,
}

impl<'a> Session<'a> {
    pub(super) fn new(request: &'a Request, source: &'a dyn Source, cancel: &'a Cancel) -> Self {
        Self {
            request,
            source,
            cancel,
            fetched: RefCell::default(),
            points: Cell::new(0),
            calls: Cell::new(0),
            standing: Cell::new(0),
            nested: Cell::new(0),
        }
    }

    /// Counts a call, and stops when nobody waits for the answer any more.
    pub(crate) fn count_call(&self) -> Result<(), RenderError> {
        self.cancel.check()?;
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() > MAX_CALLS {
            return Err(RenderError::limit(format!("the targets need more than {MAX_CALLS} function calls")));
        }
        Ok(())
    }

    /// Asks for memory for values that are about to be made.
    pub(super) fn take(&self, bytes: usize) -> Result<(), RenderError> {
        self.cancel.take(bytes)?;
        self.standing.set(self.standing.get().saturating_add(bytes));
        Ok(())
    }

    /// Does some work, of which only `value` remains: what was taken for arguments and on the way is given back.
    pub(super) fn leaving_only(
        &self,
        work: impl FnOnce() -> Result<Value, RenderError>,
    ) -> Result<Value, RenderError> {
        let before = self.standing.get();
        let value = work()?;
        let needed: usize = value.each().map(Series::own_bytes).sum();
        let taken = self.standing.get() - before;
        if needed > taken {
            self.cancel.take(needed - taken)?;
        } else {
            self.cancel.give_back(taken - needed);
        }
        self.standing.set(before + needed);
        Ok(value)
    }

    /// Gets all of these that are not here yet, in one batch.
    pub(super) fn prefetch(&self, mut wanted: Vec<FetchRequest>) -> Result<(), RenderError> {
        wanted.retain(|request| !self.fetched.borrow().contains_key(request));
        if wanted.is_empty() {
            return Ok(());
        }
        let found = self.source.fetch(&wanted, self.cancel)?;
        self.cancel.begin(Phase::Functions);
        for query in wanted.iter().filter_map(|request| request.tags.as_ref()) {
            query.check().map_err(|error| RenderError::invalid(format!("seriesByTag: {error}")))?;
        }
        let mut fetched = self.fetched.borrow_mut();
        for (request, list) in wanted.into_iter().zip(found) {
            let pattern: Arc<str> = request.pattern.as_str().into();
            let list = list.into_iter().map(|s| Series::fetched(s, Arc::clone(&pattern), 0.0)).collect();
            fetched.insert(request, list);
        }
        Ok(())
    }
}
