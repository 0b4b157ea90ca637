//! One evaluation: a window of a request, and what functions may ask for in it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ahash::AHashMap;
use plumbago_model::EventFilter;

use super::session::Session;
use crate::error::RenderError;
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::source::FetchRequest;

/// Running sums of `stacked`, by the name of the stack.
type Stacks = Rc<RefCell<AHashMap<String, Vec<f64>>>>;

/// One evaluation: a window of a session.
pub(crate) struct Context<'a> {
    pub(crate) session: &'a Session<'a>,
    /// The window in which fetches happen.
    pub(crate) range: TimeRange,
    /// The request's, until `setXFilesFactor` changes it for all that is evaluated later in the same window.
    x_files_factor: Cell<f64>,
    /// False within a keyword argument: paths there have what the session fetched for others.
    is_fetching: Cell<bool>,
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
            is_fetching: Cell::new(true),
            stacks: RefCell::default(),
        }
    }

    /// The same request in another window. What is set there stays there.
    pub(crate) fn at(&self, range: TimeRange) -> Context<'a> {
        Context {
            session: self.session,
            range,
            x_files_factor: self.x_files_factor.clone(),
            is_fetching: self.is_fetching.clone(),
            stacks: self.stacks.clone(),
        }
    }

    /// Do paths fetch series that are not here yet?
    pub(super) fn is_fetching(&self) -> bool {
        self.is_fetching.get()
    }

    /// Does something in which paths fetch, or do not.
    pub(super) fn fetching<T>(&self, is_fetching: bool, work: impl FnOnce() -> T) -> T {
        let before = self.is_fetching.replace(is_fetching);
        let result = work();
        self.is_fetching.set(before);
        result
    }

    /// The request as it came.
    pub(crate) fn request(&self) -> &Request {
        self.session.request
    }

    /// The xFilesFactor in force.
    pub(crate) fn x_files_factor(&self) -> f64 {
        self.x_files_factor.get()
    }

    /// Sets the xFilesFactor for all that comes after.
    pub(crate) fn set_x_files_factor(&self, xff: f64) {
        self.x_files_factor.set(xff);
    }

    /// The running sums of `stacked`.
    pub(crate) fn stacks(&self) -> Stacks {
        Rc::clone(self.stacks.borrow_mut().get_or_insert_default())
    }

    /// The series of a request, sorted by name.
    pub(crate) fn fetch(&self, request: FetchRequest) -> Result<Vec<Series>, RenderError> {
        if self.is_fetching() {
            self.session.prefetch(vec![request.clone()])?;
        }
        let fetched = self.session.fetched.borrow();
        let mut series = fetched.get(&request).cloned().unwrap_or_default();
        series.iter_mut().for_each(|s| s.x_files_factor = self.x_files_factor());
        Ok(series)
    }

    /// The seconds of events.
    pub(crate) fn event_times(&self, filter: &EventFilter) -> Result<Vec<u32>, RenderError> {
        Ok(self.session.source.event_times(filter, self.session.cancel)?)
    }

    /// Takes points that a function is about to make from the budget of the request.
    pub(crate) fn charge(&self, points: usize) -> Result<(), RenderError> {
        let spent = self.session.points.get().saturating_add(points);
        self.session.points.set(spent);
        let limit = self.session.request.max_points;
        if spent > limit {
            let text = format!("the targets make more than {limit} points (query.max_points)");
            return Err(RenderError::limit(text));
        }
        self.session.take(points.saturating_mul(size_of::<f64>()))
    }
}
