//! What an evaluation knows: the request, the window it runs in, and where series come from.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use ahash::AHashMap;
use jiff::tz::TimeZone;

use super::error::RenderError;
use super::exec;
use super::expr::Expr;
use super::plan;
use super::series::Series;
use super::source::{FetchRequest, Source};
use super::value::Value;
use super::{grammar, template};
use plumbago_model::{Cancel, EventFilter};

/// What a client asks for, apart from the targets.
#[derive(Clone, Debug)]
pub struct Request {
    /// Start of the window in epoch seconds, exclusive.
    pub from: i64,
    /// End of the window in epoch seconds, inclusive.
    pub until: i64,
    /// The clock the request runs by.
    pub now: i64,
    /// Time zone for functions that know days.
    pub tz: TimeZone,
    /// `xFilesFactor`; 0 unless given.
    pub x_files_factor: f64,
    /// `template[name]=value` parameters, by name.
    pub template: HashMap<String, String>,
    /// Points that functions may make on top of what is fetched (`query.max_points`).
    pub max_points: usize,
}

impl Request {
    /// A window, with everything else as a plain request has it.
    pub fn new(from: i64, until: i64, now: i64) -> Self {
        Self {
            from,
            until,
            now,
            tz: TimeZone::UTC,
            x_files_factor: 0.0,
            template: HashMap::new(),
            max_points: 50_000_000,
        }
    }
}

/// A stretch of time in epoch seconds: after `from`, up to `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// Exclusive start.
    pub from: i64,
    /// Inclusive end.
    pub until: i64,
}

impl TimeRange {
    /// Both edges moved.
    pub fn shifted(self, secs: i64) -> Self {
        Self { from: self.from.saturating_add(secs), until: self.until.saturating_add(secs) }
    }

    /// An earlier start.
    pub fn extended(self, secs: i64) -> Self {
        Self { from: self.from.saturating_sub(secs), ..self }
    }
}

/// Function calls in one request. Windows within windows evaluate their argument twice at each level, so a short target
/// can mean a lot of work.
const MAX_CALLS: usize = 100_000;

/// Targets made by targets made by targets. Each level takes room on the stack.
const MAX_NESTED: usize = 8;

/// Running sums of `stacked`, by the name of the stack.
type Stacks = Rc<RefCell<AHashMap<String, Vec<f64>>>>;

/// What all evaluations of one request share.
pub(super) struct Session<'a> {
    pub(super) request: &'a Request,
    pub(super) source: &'a dyn Source,
    pub(super) cancel: &'a Cancel,
    fetched: RefCell<AHashMap<FetchRequest, Vec<Series>>>,
    points: Cell<usize>,
    calls: Cell<usize>,
    /// Targets made by targets that are being evaluated.
    nested: Cell<usize>,
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
            nested: Cell::new(0),
        }
    }

    /// Counts a call, and stops when nobody waits for the answer any more.
    pub(super) fn count_call(&self) -> Result<(), RenderError> {
        self.cancel.check()?;
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() > MAX_CALLS {
            return Err(RenderError::Limit(format!("the targets need more than {MAX_CALLS} function calls")));
        }
        Ok(())
    }

    /// Gets all of these that are not here yet, in one batch.
    pub(super) fn prefetch(&self, mut wanted: Vec<FetchRequest>) -> Result<(), RenderError> {
        wanted.retain(|request| !self.fetched.borrow().contains_key(request));
        if wanted.is_empty() {
            return Ok(());
        }
        let found = self.source.fetch(&wanted, self.cancel)?;
        let mut fetched = self.fetched.borrow_mut();
        for (request, list) in wanted.into_iter().zip(found) {
            let pattern: Arc<str> = request.pattern.as_str().into();
            let list = list.into_iter().map(|s| Series::fetched(s, Arc::clone(&pattern), 0.0)).collect();
            fetched.insert(request, list);
        }
        Ok(())
    }
}

/// One evaluation: a window of a session.
pub struct Context<'a> {
    pub(super) session: &'a Session<'a>,
    /// The window in which fetches happen.
    pub range: TimeRange,
    /// The request's, until `setXFilesFactor` changes it for all that is evaluated later in the same window.
    x_files_factor: Cell<f64>,
    /// Once there are any; from then on other windows share them.
    stacks: RefCell<Option<Stacks>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(session: &'a Session<'a>) -> Self {
        let Request { from, until, x_files_factor, .. } = *session.request;
        Self {
            session,
            range: TimeRange { from, until },
            x_files_factor: Cell::new(x_files_factor),
            stacks: RefCell::default(),
        }
    }

    /// The same request in another window. What is set there stays there.
    pub fn at(&self, range: TimeRange) -> Context<'a> {
        Context {
            session: self.session,
            range,
            x_files_factor: self.x_files_factor.clone(),
            stacks: self.stacks.clone(),
        }
    }

    /// The request as it came.
    pub fn request(&self) -> &Request {
        self.session.request
    }

    /// The xFilesFactor in force.
    pub fn x_files_factor(&self) -> f64 {
        self.x_files_factor.get()
    }

    /// Sets the xFilesFactor for all that comes after.
    pub fn set_x_files_factor(&self, xff: f64) {
        self.x_files_factor.set(xff);
    }

    /// The running sums of `stacked`.
    pub(super) fn stacks(&self) -> Stacks {
        Rc::clone(self.stacks.borrow_mut().get_or_insert_default())
    }

    /// The series of a request, sorted by name.
    pub fn fetch(&self, request: FetchRequest) -> Result<Vec<Series>, RenderError> {
        self.session.prefetch(vec![request.clone()])?;
        let fetched = self.session.fetched.borrow();
        let mut series = fetched.get(&request).cloned().unwrap_or_default();
        series.iter_mut().for_each(|s| s.x_files_factor = self.x_files_factor());
        Ok(series)
    }

    /// The seconds of events.
    pub(super) fn event_times(&self, filter: &EventFilter) -> Result<Vec<u32>, RenderError> {
        Ok(self.session.source.event_times(filter, self.session.cancel)?)
    }

    /// The value of an expression in this window; what it needs is fetched in one batch.
    pub fn evaluate(&self, expr: &Expr) -> Result<Value, RenderError> {
        let mut plan = plan::Plan::new(self.session.request);
        plan.add(expr, self.range)?;
        self.session.prefetch(plan.into_requests())?;
        exec::evaluate(expr, self)
    }

    /// The series of an expression in this window.
    pub fn evaluate_series(&self, expr: &Expr) -> Result<Vec<Series>, RenderError> {
        self.evaluate(expr)?.into_series()
    }

    /// The series of targets that a function has written, for each of them; what they need is fetched in one batch.
    pub(super) fn evaluate_texts(&self, targets: &[String]) -> Result<Vec<Vec<Series>>, RenderError> {
        let nested = &self.session.nested;
        if nested.get() == MAX_NESTED {
            let text = format!("more than {MAX_NESTED} levels of targets made by targets");
            return Err(RenderError::Limit(text));
        }
        nested.set(nested.get() + 1);
        let result = self.evaluate_all(targets);
        nested.set(nested.get() - 1);
        result
    }

    fn evaluate_all(&self, targets: &[String]) -> Result<Vec<Vec<Series>>, RenderError> {
        let mut plan = plan::Plan::new(self.session.request);
        let mut exprs = Vec::with_capacity(targets.len());
        for target in targets {
            self.session.count_call()?;
            let expr = template::expand(grammar::parse(target)?, &self.session.request.template);
            plan.add(&expr, self.range)?;
            exprs.push(expr);
        }
        self.session.prefetch(plan.into_requests())?;
        exprs.iter().map(|expr| exec::evaluate(expr, self)?.into_series()).collect()
    }

    /// Takes points that a function is about to make from the budget of the request.
    pub fn charge(&self, points: usize) -> Result<(), RenderError> {
        let spent = self.session.points.get().saturating_add(points);
        self.session.points.set(spent);
        let limit = self.session.request.max_points;
        if spent > limit {
            let text = format!("the targets make more than {limit} points (query.max_points)");
            return Err(RenderError::Limit(text));
        }
        Ok(())
    }
}
