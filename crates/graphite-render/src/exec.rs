//! Targets become series: read all, plan all, fetch once, evaluate.

#[cfg(test)]
mod tests;

use super::context::{Context, Request, Session, TimeRange};
use super::error::RenderError;
use super::expr::{Call, Expr};
use super::functions::{Invocation, registry};
use super::plan::Plan;
use super::series::Series;
use super::source::{FetchRequest, Source};
use super::value::Value;
use super::{grammar, template};
use plumbago_model::Cancel;

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

/// The value of an expression. Templates were written out when the target was read.
pub(super) fn evaluate(expr: &Expr, context: &Context<'_>) -> Result<Value, RenderError> {
    match expr {
        Expr::Path(pattern) => {
            let request = FetchRequest::path(pattern, context.range, context.request().now);
            context.fetch(request).map(Value::Series)
        }
        Expr::Tagged(tagged) => {
            let request = FetchRequest::tagged(tagged, context.range, context.request().now)?;
            context.fetch(request).map(Value::Series)
        }
        Expr::Literal(literal) => Ok(Value::Plain(literal.clone())),
        Expr::Call(call) => evaluate_call(call, context),
        Expr::Template(_) => {
            let expanded = template::expand(expr.clone(), &context.request().template);
            evaluate(&expanded, context)
        }
    }
}

fn evaluate_call(call: &Call, context: &Context<'_>) -> Result<Value, RenderError> {
    let row = registry::row(&call.name)?;
    let args = call.args.iter().map(|arg| evaluate(arg, context)).collect::<Result<Vec<_>, _>>()?;
    let mut kwargs = Vec::with_capacity(call.kwargs.len());
    for (key, arg) in &call.kwargs {
        kwargs.push((key.as_str(), evaluate(arg, context)?));
    }
    Invocation::bind(row, context, call.args.first(), args, kwargs)?.run()
}

/// A function called by another one, with lists of series it already has as its arguments.
pub(super) fn call_with_lists(
    name: &str,
    lists: Vec<Vec<Series>>,
    context: &Context<'_>,
) -> Result<Vec<Series>, RenderError> {
    let row = registry::row(name)?;
    let args = lists.into_iter().map(Value::Series).collect();
    Invocation::bind(row, context, None, args, Vec::new())?.run()?.into_series()
}
