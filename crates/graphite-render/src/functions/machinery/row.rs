//! A row of the function table.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::{Call, Literal};
use crate::request::{Request, TimeRange};

/// A function: its description, how its arguments are read, and what it computes.
pub struct Row {
    /// The name in targets.
    pub name: &'static str,
    /// For a short form the function it stands for.
    pub alias_of: Option<&'static str>,
    /// The heading that function pickers show it under.
    pub group: &'static str,
    /// Parameters in order. Only the last may be repeated.
    pub params: &'static [Param],
    /// One or two sentences.
    pub description: &'static str,
    /// May it be the callback of `groupByNode` and its kin?
    pub aggregator: bool,
    /// The other windows in which the first argument is evaluated, where arguments and request alone tell.
    pub(crate) reach: Option<Reach>,
    /// What it does.
    pub(crate) run: fn(Invocation<'_>) -> Result<Value, RenderError>,
}

/// From a call, and the window it is evaluated in, to the other windows of its first argument.
pub(crate) type Reach = fn(&Call, TimeRange, &Request) -> Vec<TimeRange>;

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name as a keyword.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Must it be given?
    pub required: bool,
    /// The value if it is not given.
    pub default: Default,
    /// May it be given many times? Only the last parameter may.
    pub multiple: bool,
    /// Words to choose from.
    pub options: &'static [&'static str],
    /// Values that are no words to choose from; listed before them.
    pub plain_options: &'static [Default],
    /// Values that function pickers offer.
    pub suggestions: &'static [Default],
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Any,
    /// The name of an aggregation function.
    AggFunc,
    /// The same, or of a series function that aggregates.
    AggOrSeriesFunc,
    /// True or false.
    Boolean,
    /// A time.
    Date,
    /// A number.
    Float,
    /// A whole number.
    Integer,
    /// Said to be a whole number, yet Graphite takes a fraction as well.
    Number,
    /// A length of time such as `5min`.
    Interval,
    /// A number of points, or a length of time.
    IntOrInterval,
    /// A whole number or infinity.
    IntOrInf,
    /// Position of a node in a name; negative ones count from the end.
    Node,
    /// A node, or the name of a tag.
    NodeOrTag,
    /// One series.
    Series,
    /// Series.
    SeriesList,
    /// Lists of series.
    SeriesLists,
    /// Text.
    String,
    /// The name of a tag.
    Tag,
}

impl Kind {
    /// The name in the function list that clients read.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Any => "any",
            Kind::AggFunc => "aggFunc",
            Kind::AggOrSeriesFunc => "aggOrSeriesFunc",
            Kind::Boolean => "boolean",
            Kind::Date => "date",
            Kind::Float => "float",
            Kind::Integer | Kind::Number => "integer",
            Kind::Interval => "interval",
            Kind::IntOrInterval => "intOrInterval",
            Kind::IntOrInf => "intOrInf",
            Kind::Node => "node",
            Kind::NodeOrTag => "nodeOrTag",
            Kind::Series => "series",
            Kind::SeriesList => "seriesList",
            Kind::SeriesLists => "seriesLists",
            Kind::String => "string",
            Kind::Tag => "tag",
        }
    }
}

/// The value of a parameter that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// None: the function knows what to do without.
    Nothing,
    /// A whole number.
    Int(i64),
    /// A number, infinity included.
    Float(f64),
    /// Text.
    Text(&'static str),
    /// True or false.
    Bool(bool),
}

impl Default {
    /// As if it had been written in the target.
    pub fn literal(self) -> Option<Literal> {
        Some(match self {
            Default::Nothing => return None,
            Default::Int(n) => Literal::Int(n),
            Default::Float(x) => Literal::Float(x),
            Default::Text(text) => Literal::Text(text.to_owned()),
            Default::Bool(b) => Literal::Bool(b),
        })
    }
}

impl Param {
    /// Must be given.
    pub(crate) const fn required(name: &'static str, kind: Kind) -> Self {
        Self { required: true, ..Self::optional(name, kind) }
    }

    /// May be given.
    pub(crate) const fn optional(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            required: false,
            default: Default::Nothing,
            multiple: false,
            options: &[],
            plain_options: &[],
            suggestions: &[],
        }
    }

    /// May be given, and is this otherwise.
    pub(crate) const fn default(name: &'static str, kind: Kind, default: Default) -> Self {
        Self { default, ..Self::optional(name, kind) }
    }

    /// As often as one likes.
    pub(crate) const fn repeated(self) -> Self {
        Self { multiple: true, ..self }
    }

    /// One of these.
    pub(crate) const fn one_of(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    /// Or one of these, which are no words.
    pub(crate) const fn or_plain(self, plain_options: &'static [Default]) -> Self {
        Self { plain_options, ..self }
    }

    /// These are offered.
    pub(crate) const fn suggest(self, suggestions: &'static [Default]) -> Self {
        Self { suggestions, ..self }
    }
}

impl Row {
    /// A function on its own.
    pub(crate) const fn new(
        name: &'static str,
        group: &'static str,
        params: &'static [Param],
        description: &'static str,
        run: fn(Invocation<'_>) -> Result<Value, RenderError>,
    ) -> Self {
        Self { name, alias_of: None, group, params, description, aggregator: false, reach: None, run }
    }

    /// Does it make a series of new values of each series that it gets? Other functions combine, choose, rename or draw them.
    pub(crate) fn makes_values(&self) -> bool {
        matches!(self.group, "Transform" | "Calculate" | "Filter Data")
    }

    /// A short form.
    pub(crate) const fn alias_of(self, name: &'static str) -> Self {
        Self { alias_of: Some(name), ..self }
    }

    /// May be a callback.
    pub(crate) const fn aggregates(self) -> Self {
        Self { aggregator: true, ..self }
    }

    /// Evaluates its first argument over other windows.
    pub(crate) const fn reaching(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }
}
