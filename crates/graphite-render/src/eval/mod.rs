//! Targets become series: read all, plan all, fetch once, evaluate.
//!
//! [`Plan`](plan::Plan) collects what the expressions will fetch, a [`Session`](session::Session) fetches it in one batch,
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
use crate::grammar::{self, template};
use crate::request::{Request, TimeRange};
use crate::series::Series;
use crate::source::Source;
use evaluate::evaluate;
use plan::Plan;
use plumbago_model::Cancel;
use session::Session;

/// Evaluates the targets in their order; blank ones are passed over.
///
/// All targets are read first, so a mistake in the last one costs no fetch, and what they fetch comes in one batch.
pub fn render(
    targets: &[String],
    request: &Request,
    source: &dyn Source,
    cancel: &Cancel,
) -> Result<Vec<Series>, RenderError> {
    evaluate_targets(targets, request, source, cancel).map_err(|error| error.with_targets(targets))
}

fn evaluate_targets(
    targets: &[String],
    request: &Request,
    source: &dyn Source,
    cancel: &Cancel,
) -> Result<Vec<Series>, RenderError> {
    let mut exprs = Vec::with_capacity(targets.len());
    for target in targets.iter().filter(|target| !target.trim().is_empty()) {
        exprs.push(template::expand(grammar::parse(target)?, &request.template));
    }
    let session = Session::new(request, source, cancel);
    let mut plan = Plan::new(request);
    for expr in &exprs {
        plan.add(expr, TimeRange { from: request.from, until: request.until })?;
    }
    session.prefetch(plan.into_requests())?;
    let context = Context::new(&session);
    let mut result = Vec::new();
    for expr in &exprs {
        result.extend(evaluate(expr, &context)?.into_series()?);
    }
    Ok(result)
}
