//! An expression that can be written down and made smaller.

use std::fmt;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// A path, perhaps with wildcards.
    Path(String),
    /// A function with its arguments.
    Call(&'static str, Vec<Argument>),
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    /// Series.
    Series(Expression),
    /// A literal as it is written; one that may be left out is not needed.
    Literal { text: String, needed: bool },
}

/// What every path is replaced by while it makes no difference.
const PLAINEST: &str = "gd.srv.web01.cpu.user";

impl Expression {
    /// Expressions with a little less in them.
    pub(crate) fn smaller(&self) -> Vec<Expression> {
        let Expression::Call(name, arguments) = self else {
            let plainest = Expression::Path(PLAINEST.to_owned());
            return if *self == plainest { Vec::new() } else { vec![plainest] };
        };
        let mut all = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            if let Argument::Series(inner) = argument {
                all.push(inner.clone());
                for smaller in inner.smaller() {
                    let mut arguments = arguments.clone();
                    arguments[at] = Argument::Series(smaller);
                    all.push(Expression::Call(name, arguments));
                }
            }
        }
        if let Some((Argument::Literal { needed: false, .. }, fewer)) = arguments.split_last() {
            all.push(Expression::Call(name, fewer.to_vec()));
        }
        all
    }

    /// The functions in it.
    pub(crate) fn functions(&self) -> Vec<&'static str> {
        let Expression::Call(name, arguments) = self else { return Vec::new() };
        let inner = arguments.iter().flat_map(|argument| match argument {
            Argument::Series(inner) => inner.functions(),
            Argument::Literal { .. } => Vec::new(),
        });
        std::iter::once(*name).chain(inner).collect()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Path(path) => f.write_str(path),
            Expression::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    match argument {
                        Argument::Series(inner) => write!(f, "{inner}")?,
                        Argument::Literal { text, .. } => f.write_str(text)?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}
