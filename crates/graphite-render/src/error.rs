//! Why a render request has no answer.

use plumbago_model::pattern::PatternError;
use plumbago_model::{Cancelled, QueryError};

use crate::grammar::GrammarError;
use crate::python::search::TooManySteps;
use crate::time::IntervalError;

/// What can go wrong between targets and series. The texts follow graphite-web, which clients show to people.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The request cannot be understood or carried out as asked: the client's to mend.
    #[error("Invalid parameters ({message}){}", targets_clause(targets))]
    Invalid {
        /// What is wrong.
        message: String,
        /// The targets of the request.
        targets: Vec<String>,
    },
    /// A function that does not exist.
    #[error(
        "Invalid parameters (Received request for unknown function: {name}{hint}){}",
        targets_clause(targets)
    )]
    UnknownFunction {
        /// As written.
        name: String,
        /// `; did you mean ...?`, or nothing where no function has a name like it.
        hint: String,
        /// The targets of the request.
        targets: Vec<String>,
    },
    /// The series could not be had, or took too much to compute.
    #[error(transparent)]
    Query(QueryError),
}

fn targets_clause(targets: &[String]) -> String {
    if targets.is_empty() { String::new() } else { format!("; targets: \"{}\"", targets.join(", ")) }
}

impl RenderError {
    /// A mistake in the request.
    pub fn invalid(message: impl Into<String>) -> Self {
        RenderError::Invalid { message: message.into(), targets: Vec::new() }
    }

    /// The request needs more than a limit allows; the text names the limit.
    pub fn limit(text: impl Into<String>) -> Self {
        RenderError::Query(QueryError::Limit(text.into()))
    }

    /// The same error, telling which targets were asked for.
    pub fn with_targets(mut self, asked: &[String]) -> Self {
        if let RenderError::Invalid { targets, .. } | RenderError::UnknownFunction { targets, .. } = &mut self
        {
            *targets = asked.to_vec();
        }
        self
    }
}

impl From<PatternError> for RenderError {
    fn from(error: PatternError) -> Self {
        let PatternError { pattern, reason } = error;
        Self::invalid(format!("the regular expression `{pattern}` cannot be used: {reason}"))
    }
}

impl From<TooManySteps> for RenderError {
    fn from(error: TooManySteps) -> Self {
        RenderError::invalid(error.to_string())
    }
}

impl From<Cancelled> for RenderError {
    fn from(cancelled: Cancelled) -> Self {
        RenderError::Query(cancelled.into())
    }
}

impl From<QueryError> for RenderError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Invalid(text) => RenderError::invalid(text),
            other => RenderError::Query(other),
        }
    }
}

impl From<GrammarError> for RenderError {
    fn from(error: GrammarError) -> Self {
        RenderError::invalid(error.to_string())
    }
}

impl From<IntervalError> for RenderError {
    fn from(error: IntervalError) -> Self {
        RenderError::invalid(error.to_string())
    }
}
