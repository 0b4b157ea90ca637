//! Targets become series: read all, plan all, fetch once, evaluate.
//!
//! [`FetchPlan`] collects what the expressions will fetch, a [`Session`] fetches it in one batch,
//! and [`evaluate`](evaluate::evaluate) works the expressions out in a [`Context`], which is what functions see.

mod context;
mod evaluate;
mod plan;
mod session;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use context::Context;
pub(crate) use evaluate::call_with_lists;
pub(crate) use value::Value;

use crate::error::RenderError;
use crate::grammar::{self, Expr, GrammarError, template};
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::source::Source;
use evaluate::evaluate;
use plan::FetchPlan;
use plumbago_model::{Cancel, Phase};
use session::Session;

/// Bytes of an expression for each byte of its target, at most.
const EXPR_BYTES: usize = 32;

/// What the targets of a request come to, where those that cannot be read are left out.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The series of all targets that could be read, in the order of the targets.
    pub series: Vec<Series>,
    /// The others.
    pub broken: Vec<BrokenTarget>,
}

/// A target that is not written in the target language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenTarget {
    /// As written.
    pub target: String,
    /// What is wrong with it, and where.
    pub reason: GrammarError,
}

/// Evaluates the targets in their order; blank ones are passed over.
///
/// All targets are read first, so a mistake in the last one costs no fetch, and what they fetch comes in one batch.
pub fn render(
    targets: &[String],
    request: &Request,
    source: &dyn Source,
    cancel: &Cancel,
) -> Result<Vec<Series>, RenderError> {
    take_for_reading(targets, cancel)?;
    let (exprs, broken) = read(targets);
    evaluated(exprs, broken.into_iter().next(), request, source, cancel)
        .map_err(|error| error.with_targets(targets))
}

/// As [`render`], except that a target which cannot be read does not keep the others from being drawn.
///
/// graphite-web takes such a target for a path that finds nothing, and dashboards hold some. Where nothing else was asked
/// for it is an error here, too, and so are all other mistakes, such as an unknown function.
pub fn render_readable(
    targets: &[String],
    request: &Request,
    source: &dyn Source,
    cancel: &Cancel,
) -> Result<Rendered, RenderError> {
    take_for_reading(targets, cancel)?;
    let (exprs, mut broken) = read(targets);
    let is_fatal =
        |one: &BrokenTarget| exprs.is_empty() || !matches!(one.reason, GrammarError::Unexpected { .. });
    let fatal = broken.iter().position(is_fatal).map(|at| broken.swap_remove(at));
    let series = evaluated(exprs, fatal, request, source, cancel);
    Ok(Rendered { series: series.map_err(|error| error.with_targets(targets))?, broken })
}

fn take_for_reading(targets: &[String], cancel: &Cancel) -> Result<(), RenderError> {
    Ok(cancel.take(targets.iter().map(String::len).sum::<usize>().saturating_mul(EXPR_BYTES))?)
}

fn read(targets: &[String]) -> (Vec<Expr>, Vec<BrokenTarget>) {
    let (mut exprs, mut broken) = (Vec::with_capacity(targets.len()), Vec::new());
    for target in targets.iter().filter(|target| !target.trim().is_empty()) {
        match grammar::parse(target) {
            Ok(expr) => exprs.push(expr),
            Err(reason) => broken.push(BrokenTarget { target: target.clone(), reason }),
        }
    }
    (exprs, broken)
}

fn evaluated(
    exprs: Vec<Expr>,
    broken: Option<BrokenTarget>,
    request: &Request,
    source: &dyn Source,
    cancel: &Cancel,
) -> Result<Vec<Series>, RenderError> {
    if let Some(BrokenTarget { reason, .. }) = broken {
        return Err(reason.into());
    }
    let exprs: Vec<Expr> = exprs.into_iter().map(|expr| template::expand(expr, &request.template)).collect();
    let session = Session::new(request, source, cancel);
    let mut plan = FetchPlan::new(request);
    for expr in &exprs {
        plan.add(expr, TimeRange { from: request.from, until: request.until })?;
    }
    session.prefetch(plan.into_requests())?;
    cancel.begin(Phase::Functions);
    let context = Context::new(&session);
    let mut result = Vec::new();
    for expr in &exprs {
        cancel.check()?;
        result.extend(evaluate(expr, &context)?.into_series()?);
    }
    Ok(result)
}
