//! What an expression will fetch, so that one batch gets it all.

use ahash::AHashSet;

use crate::error::RenderError;
use crate::functions::registry;
use crate::grammar::{Call, Expr};
use crate::request::{Request, TimeRange};
use crate::source::FetchRequest;

/// Fetches planned at most; what comes after is fetched when it is needed. Only hostile targets get there.
const MAX_PLANNED: usize = 10_000;

/// The fetches of some expressions, each once.
pub(super) struct FetchPlan<'a> {
    request: &'a Request,
    requests: Vec<FetchRequest>,
    seen: AHashSet<FetchRequest>,
    steps: usize,
}

impl<'a> FetchPlan<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self { request, requests: Vec::new(), seen: AHashSet::new(), steps: 0 }
    }

    /// In the order in which they were met.
    pub(super) fn into_requests(self) -> Vec<FetchRequest> {
        self.requests
    }

    /// Adds what `expr` fetches when evaluated over `range`. Unknown functions are found here, before any work is done.
    pub(super) fn add(&mut self, expr: &Expr, range: TimeRange) -> Result<(), RenderError> {
        self.steps += 1;
        if self.steps > MAX_PLANNED {
            return Ok(());
        }
        match expr {
            Expr::Path(pattern) => self.fetch(FetchRequest::path(pattern, range, self.request.now)),
            Expr::Tagged(tagged) => self.fetch(FetchRequest::tagged(tagged, range, self.request.now)?),
            Expr::Call(call) => return self.call(call, range),
            Expr::Template(_) | Expr::Literal(_) => {}
        }
        Ok(())
    }

    fn fetch(&mut self, request: FetchRequest) {
        if self.seen.insert(request.clone()) {
            self.requests.push(request);
        }
    }

    fn call(&mut self, call: &Call, range: TimeRange) -> Result<(), RenderError> {
        let row = registry::row(&call.name)?;
        for arg in &call.args {
            self.add(arg, range)?;
        }
        if call.fetches_by_name() {
            for (_, value) in &call.kwargs {
                self.add(value, range)?;
            }
        }
        // The first argument once more, where it can be told over which windows.
        if let (Some(reach), Some(first)) = (row.reach, call.args.first()) {
            for other in reach(call, range, self.request) {
                self.add(first, other)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse;

    fn planned(target: &str) -> Vec<(String, i64, i64)> {
        let request = Request::new(1000, 2000, 0);
        let mut plan = FetchPlan::new(&request);
        plan.add(&parse(target).unwrap(), TimeRange { from: 1000, until: 2000 }).unwrap();
        plan.into_requests().into_iter().map(|r| (r.pattern, r.from, r.until)).collect()
    }

    #[test]
    fn each_pattern_once_and_shifted_windows_as_well() {
        assert_eq!(
            planned("sumSeries(a.*, scale(a.*, 2), b)"),
            [("a.*".into(), 1000, 2000), ("b".into(), 1000, 2000)]
        );
        assert_eq!(
            planned("movingAverage(timeShift(a,'10s'),'100s')"),
            [
                ("a".into(), 1000, 2000),
                ("a".into(), 990, 1990),
                ("a".into(), 900, 2000),
                ("a".into(), 890, 1990),
            ]
        );
        // The step is not known before the data is.
        assert_eq!(planned("movingAverage(a,5)"), [("a".into(), 1000, 2000)]);
        assert_eq!(
            planned("alias(seriesByTag('name=x'),'y')"),
            [("seriesByTag('name=x')".into(), 1000, 2000)]
        );
    }

    #[test]
    fn keywords_fetch_nothing_beside_positional_arguments() {
        let window = |pattern: &str| (pattern.to_owned(), 1000, 2000);
        assert_eq!(planned("asPercent(a,total=sumSeries(b))"), [window("a")]);
        assert_eq!(planned("scale(seriesList=a,factor=2)"), [window("a")]);
    }

    #[test]
    fn unknown_functions_are_found_before_fetching() {
        let request = Request::new(0, 1, 0);
        let mut plan = FetchPlan::new(&request);
        let target = parse("scale(bogus(a),2)").unwrap();
        let error = plan.add(&target, TimeRange { from: 0, until: 1 }).unwrap_err();
        assert_eq!(error.to_string(), "Invalid parameters (Received request for unknown function: bogus)");
    }
}
