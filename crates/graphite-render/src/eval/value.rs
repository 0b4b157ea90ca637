//! What an expression evaluates to.

use crate::error::RenderError;
use crate::grammar::Literal;
use crate::python::number::repr;
use crate::series::Series;

/// A list of series, or a plain value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// What fetches and nearly all functions give.
    Series(Vec<Series>),
    /// Lists of series: what stands between `mapSeries` and `reduceSeries`.
    Lists(Vec<Vec<Series>>),
    /// A literal.
    Plain(Literal),
}

impl Value {
    /// The series, or an error for anything else.
    pub(crate) fn into_series(self) -> Result<Vec<Series>, RenderError> {
        match self {
            Value::Series(series) => Ok(series),
            Value::Lists(lists) => Ok(lists.into_iter().flatten().collect()),
            Value::Plain(literal) => {
                Err(RenderError::invalid(format!("series are expected, but `{}` is not", literal.repr())))
            }
        }
    }

    /// Each series.
    pub(super) fn each(&self) -> impl Iterator<Item = &Series> {
        let (one, many): (&[Series], &[Vec<Series>]) = match self {
            Value::Series(series) => (series, &[]),
            Value::Lists(lists) => (&[], lists),
            Value::Plain(_) => (&[], &[]),
        };
        one.iter().chain(many.iter().flatten())
    }

    /// As error messages show it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Value::Series(series) => format!("a list of {} series", series.len()),
            Value::Lists(lists) => format!("{} lists of series", lists.len()),
            Value::Plain(literal) => literal.repr(),
        }
    }
}

impl From<Vec<Series>> for Value {
    fn from(series: Vec<Series>) -> Self {
        Value::Series(series)
    }
}

impl Literal {
    /// As Python's `str`: names and tags hold this.
    pub fn text(&self) -> String {
        match self {
            Literal::Int(n) => n.to_string(),
            Literal::Float(x) => repr(*x),
            Literal::Text(text) => text.clone(),
            Literal::Bool(true) => "True".to_owned(),
            Literal::Bool(false) => "False".to_owned(),
            Literal::None => "None".to_owned(),
        }
    }

    /// As [`Literal::text`], with quotes around strings.
    pub fn repr(&self) -> String {
        match self {
            Literal::Text(text) => format!("'{text}'"),
            other => other.text(),
        }
    }
}
