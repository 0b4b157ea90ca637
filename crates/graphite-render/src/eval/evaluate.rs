//! From an expression to its value.
//!
//! Evaluation goes from the inside out: the arguments of a call first, then the call. Functions come back here through
//! the methods of [`Context`] when they need an expression again over another window, or a target that they wrote.

use super::context::Context;
use super::plan::FetchPlan;
use super::value::Value;
use crate::error::RenderError;
use crate::functions::{Invocation, registry};
use crate::grammar::{self, Call, Expr, template};
use crate::series::Series;
use crate::source::FetchRequest;

/// Targets made by targets made by targets. Each level takes room on the stack.
const MAX_NESTED: usize = 8;

/// The value of an expression. Templates were written out when the target was read.
pub(super) fn evaluate(expr: &Expr, context: &Context<'_>) -> Result<Value, RenderError> {
    context.session.leaving_only(|| evaluate_any(expr, context))
}

fn evaluate_any(expr: &Expr, context: &Context<'_>) -> Result<Value, RenderError> {
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
        let is_fetching = context.is_fetching() && call.fetches_by_name();
        kwargs.push((key.as_str(), context.fetching(is_fetching, || evaluate(arg, context))?));
    }
    // A function that looks at other windows of its series fetches them, unless it has none.
    let has_series =
        args.first().is_some_and(|first| !matches!(first, Value::Series(list) if list.is_empty()));
    if row.makes_values() {
        // Those that others hold too will be copied.
        let shared = |series: &Series| size_of_val(&*series.values) - series.own_value_bytes();
        context.session.take(args.iter().flat_map(Value::each).map(shared).sum())?;
    }
    let call = Invocation::bind(row, context, call.args.first(), args, kwargs)?;
    context.fetching(context.is_fetching() || has_series, || call.run())
}

/// A function called by another one, with lists of series it already has as its arguments.
pub(crate) fn call_with_lists(
    name: &str,
    lists: Vec<Vec<Series>>,
    context: &Context<'_>,
) -> Result<Vec<Series>, RenderError> {
    let row = registry::row(name)?;
    let args = lists.into_iter().map(Value::Series).collect();
    Invocation::bind(row, context, None, args, Vec::new())?.run()?.into_series()
}

impl Context<'_> {
    /// The value of an expression in this window; what it needs is fetched in one batch.
    pub(crate) fn evaluate(&self, expr: &Expr) -> Result<Value, RenderError> {
        let mut plan = FetchPlan::new(self.session.request);
        plan.add(expr, self.range)?;
        self.prefetch(plan)?;
        evaluate(expr, self)
    }

    /// The series of an expression in this window.
    pub(crate) fn evaluate_series(&self, expr: &Expr) -> Result<Vec<Series>, RenderError> {
        self.evaluate(expr)?.into_series()
    }

    /// The series of targets that a function has written, for each of them; what they need is fetched in one batch.
    pub(crate) fn evaluate_texts(&self, targets: &[String]) -> Result<Vec<Vec<Series>>, RenderError> {
        let nested = &self.session.nested;
        if nested.get() == MAX_NESTED {
            let text = format!("more than {MAX_NESTED} levels of targets made by targets");
            return Err(RenderError::limit(text));
        }
        nested.set(nested.get() + 1);
        let result = self.evaluate_all(targets);
        nested.set(nested.get() - 1);
        result
    }

    fn prefetch(&self, plan: FetchPlan<'_>) -> Result<(), RenderError> {
        if self.is_fetching() { self.session.prefetch(plan.into_requests()) } else { Ok(()) }
    }

    fn evaluate_all(&self, targets: &[String]) -> Result<Vec<Vec<Series>>, RenderError> {
        let mut plan = FetchPlan::new(self.session.request);
        let mut exprs = Vec::with_capacity(targets.len());
        for target in targets {
            self.session.count_call()?;
            let expr = template::expand(grammar::parse(target)?, &self.session.request.template);
            plan.add(&expr, self.range)?;
            exprs.push(expr);
        }
        self.prefetch(plan)?;
        exprs.iter().map(|expr| evaluate(expr, self)?.into_series()).collect()
    }
}
