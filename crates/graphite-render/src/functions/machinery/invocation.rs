//! One call of a function: its arguments by parameter, checked and converted.

use super::{Kind, Param, Row};
use crate::error::RenderError;
use crate::eval::Context;
use crate::eval::Value;
use crate::grammar::{Expr, Literal};
use crate::series::Series;
use crate::time::parse_offset_secs;

/// A function with its arguments bound.
pub(crate) struct Invocation<'a> {
    row: &'static Row,
    /// Window, request and fetches.
    pub(crate) context: &'a Context<'a>,
    /// The first argument as it was written; absent when another function makes the call.
    first: Option<&'a Expr>,
    /// For each parameter the values given, or its default.
    bound: Vec<Vec<Value>>,
    /// The parameters that have their default.
    defaulted: Vec<bool>,
}

impl<'a> Invocation<'a> {
    /// Matches arguments with parameters: by position, then by name.
    pub(crate) fn bind(
        row: &'static Row,
        context: &'a Context<'a>,
        first: Option<&'a Expr>,
        args: Vec<Value>,
        kwargs: Vec<(&str, Value)>,
    ) -> Result<Self, RenderError> {
        let mut bound: Vec<Vec<Value>> = row.params.iter().map(|_| Vec::new()).collect();
        let last = row.params.len().wrapping_sub(1);
        for (position, value) in args.into_iter().enumerate() {
            let at = position.min(last);
            match row.params.get(at) {
                Some(param) if at == position || param.multiple => {
                    bound[at].extend(convert(row, param, value)?)
                }
                _ => return Err(too_many(row)),
            }
        }
        for (key, value) in kwargs {
            let at = row.params.iter().position(|p| p.name == key).or_else(|| loosely(row, key));
            let Some(at) = at.filter(|&at| bound[at].is_empty()) else {
                return Err(RenderError::invalid(format!("Unexpected key word arguments: {key}")));
            };
            bound[at].extend(convert(row, &row.params[at], value)?);
        }
        let defaulted = bound.iter().map(Vec::is_empty).collect();
        for (param, values) in row.params.iter().zip(&mut bound) {
            if !values.is_empty() {
                continue;
            }
            match param.default.literal() {
                Some(literal) => values.push(Value::Plain(literal)),
                // Graphite itself lets a repeated parameter be empty: sumSeries() is no series at all.
                None if param.required && !param.multiple => return Err(missing(row, param)),
                None => {}
            }
        }
        Ok(Self { row, context, first, bound, defaulted })
    }

    /// Does the work.
    pub(crate) fn run(self) -> Result<Value, RenderError> {
        self.context.session.count_call()?;
        (self.row.run)(self)
    }

    /// Does anybody still wait for the answer? Asked for each series, which takes a function a few milliseconds at most.
    pub(crate) fn is_wanted(&self) -> Result<(), RenderError> {
        Ok(self.context.session.cancel.check()?)
    }

    /// The name under which it was called.
    pub(crate) fn name(&self) -> &'static str {
        self.row.name
    }

    /// The expression of the first argument, for evaluation over another window.
    pub(crate) fn first_expr(&self) -> Result<&'a Expr, RenderError> {
        self.first.ok_or_else(|| {
            RenderError::invalid(format!("{} needs an expression, so it cannot be a callback", self.row.name))
        })
    }

    /// Was the parameter given?
    pub(crate) fn is_given(&self, param: usize) -> bool {
        self.defaulted.get(param).is_some_and(|defaulted| !defaulted)
    }

    /// How many values the parameter got.
    pub(crate) fn count(&self, param: usize) -> usize {
        self.bound.get(param).map_or(0, Vec::len)
    }

    /// Takes the series of a parameter; all of them, one list after the other, for a repeated one.
    pub(crate) fn series(&mut self, param: usize) -> Vec<Series> {
        let mut lists =
            self.bound.get_mut(param).map(std::mem::take).unwrap_or_default().into_iter().map(|value| {
                match value {
                    Value::Series(series) => series,
                    Value::Lists(lists) => lists.into_iter().flatten().collect(),
                    Value::Plain(_) => Vec::new(),
                }
            });
        let mut all = lists.next().unwrap_or_default();
        all.extend(lists.flatten());
        all
    }

    /// The first value of a parameter.
    pub(crate) fn value(&self, param: usize) -> Option<&Value> {
        self.bound.get(param)?.first()
    }

    /// The first value of a parameter if it is a plain one.
    pub(crate) fn literal(&self, param: usize) -> Option<&Literal> {
        match self.value(param) {
            Some(Value::Plain(literal)) => Some(literal),
            _ => None,
        }
    }

    /// All plain values of a parameter.
    pub(crate) fn literals(&self, param: usize) -> Vec<Literal> {
        let plain = |value: &Value| match value {
            Value::Plain(literal) => Some(literal.clone()),
            _ => None,
        };
        self.bound.get(param).map(|values| values.iter().filter_map(plain).collect()).unwrap_or_default()
    }

    /// A number.
    pub(crate) fn float(&self, param: usize) -> Option<f64> {
        match self.literal(param)? {
            Literal::Int(n) => Some(*n as f64),
            Literal::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// A number that is there: required, or with a default.
    pub(crate) fn float_or(&self, param: usize, otherwise: f64) -> f64 {
        self.float(param).unwrap_or(otherwise)
    }

    /// A whole number.
    pub(crate) fn int(&self, param: usize) -> Option<i64> {
        match self.literal(param)? {
            Literal::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Text; empty if there is none.
    pub(crate) fn text(&self, param: usize) -> &str {
        match self.literal(param) {
            Some(Literal::Text(text)) => text,
            _ => "",
        }
    }

    /// True or false.
    pub(crate) fn flag(&self, param: usize) -> bool {
        matches!(self.literal(param), Some(Literal::Bool(true)))
    }
}

/// Keywords as people write them after reading the code rather than the documentation: `alignDST` for `alignDst`.
fn loosely(row: &Row, key: &str) -> Option<usize> {
    row.params.iter().position(|p| p.name.eq_ignore_ascii_case(key))
}

fn too_many(row: &Row) -> RenderError {
    RenderError::invalid(format!("Too many parameters specified for function \"{}\"", row.name))
}

fn missing(row: &Row, param: &Param) -> RenderError {
    let (name, function) = (param.name, row.name);
    RenderError::invalid(format!("Missing required parameter \"{name}\" for function \"{function}\""))
}

/// The value as the parameter takes it; `None` for a `none`, which counts as not given.
fn convert(row: &Row, param: &Param, value: Value) -> Result<Option<Value>, RenderError> {
    let wrong = |value: &Value| {
        let (kind, function, name) = (param.kind.name(), row.name, param.name);
        let shown = value.describe();
        RenderError::invalid(format!(
            "Invalid \"{kind}\" value specified for function \"{function}\" parameter \"{name}\": {shown}"
        ))
    };
    match (param.kind, value) {
        (_, Value::Plain(Literal::None)) if param.required && !param.multiple => {
            Err(wrong(&Value::Plain(Literal::None)))
        }
        (_, Value::Plain(Literal::None)) => Ok(None),
        // Written in quotes by OpenStack's dashboards: no limit.
        (Kind::IntOrInf, Value::Plain(Literal::Text(text))) if text.trim().eq_ignore_ascii_case("none") => {
            Ok(None)
        }
        (Kind::Any, value) | (Kind::Series | Kind::SeriesList, value @ Value::Series(_)) => Ok(Some(value)),
        (Kind::SeriesLists, value @ (Value::Series(_) | Value::Lists(_))) => Ok(Some(value)),
        (kind, Value::Plain(literal)) => match plain(kind, &literal) {
            Some(converted) => Ok(Some(Value::Plain(converted))),
            None => Err(wrong(&Value::Plain(literal))),
        },
        (_, value) => Err(wrong(&value)),
    }
}

/// A plain value as `kind` takes it, by Python's conversions.
fn plain(kind: Kind, literal: &Literal) -> Option<Literal> {
    match kind {
        Kind::Any => Some(literal.clone()),
        Kind::Series | Kind::SeriesList | Kind::SeriesLists => None,
        Kind::Boolean => boolean(literal).map(Literal::Bool),
        Kind::Float => float(literal).map(Literal::Float),
        Kind::Integer | Kind::Node => integer(literal).map(Literal::Int),
        Kind::Number => match literal {
            Literal::Int(_) | Literal::Float(_) => Some(literal.clone()),
            other => integer(other).map(Literal::Int),
        },
        Kind::IntOrInf => match literal {
            Literal::Int(_) | Literal::Float(_) => Some(literal.clone()),
            other if float(other) == Some(f64::INFINITY) => Some(Literal::Float(f64::INFINITY)),
            other => integer(other).map(Literal::Int),
        },
        Kind::Interval => match literal {
            Literal::Text(text) if parse_offset_secs(text).is_ok() => Some(literal.clone()),
            _ => None,
        },
        Kind::IntOrInterval => match literal {
            Literal::Text(text) if parse_offset_secs(text).is_err() => None,
            Literal::Int(_) | Literal::Float(_) | Literal::Text(_) => Some(literal.clone()),
            _ => None,
        },
        Kind::NodeOrTag => match literal {
            Literal::Int(_) | Literal::Text(_) => Some(literal.clone()),
            _ => None,
        },
        Kind::AggFunc | Kind::AggOrSeriesFunc | Kind::Date | Kind::String | Kind::Tag => {
            Some(Literal::Text(literal.text()))
        }
    }
}

fn boolean(literal: &Literal) -> Option<bool> {
    match literal {
        Literal::Bool(b) => Some(*b),
        Literal::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Literal::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Literal::Int(0) => Some(false),
        Literal::Int(1) => Some(true),
        Literal::Float(x) if *x == 0.0 => Some(false),
        Literal::Float(x) if *x == 1.0 => Some(true),
        _ => None,
    }
}

fn float(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Int(n) => Some(*n as f64),
        Literal::Float(x) => Some(*x),
        Literal::Bool(b) => Some(f64::from(u8::from(*b))),
        Literal::Text(text) => text.trim().parse().ok(),
        Literal::None => None,
    }
}

/// A float is taken when it is whole: `2.0` can only mean 2.
fn integer(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Int(n) => Some(*n),
        Literal::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Some(*x as i64),
        Literal::Bool(b) => Some(i64::from(*b)),
        Literal::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}
