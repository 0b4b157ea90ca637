//! A target as a tree.

/// One expression of the target language.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A path with its wildcards: what is fetched. A backslash makes the wildcard behind it a plain character; all other
    /// escapes are taken out.
    Path(String),
    /// A `seriesByTag(...)` call: also a fetch.
    Tagged(Tagged),
    /// A function call. `a|f(b)` is read as `f(a,b)`.
    Call(Call),
    /// `template(body, values...)`.
    Template(Template),
    /// A plain value.
    Literal(Literal),
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function as written.
    pub name: String,
    /// Positional arguments.
    pub args: Vec<Expr>,
    /// Keyword arguments, which come after the positional ones.
    pub kwargs: Vec<(String, Expr)>,
}

impl Call {
    /// What a parameter gets: by its position, or else by its name.
    pub fn argument(&self, position: usize, name: &str) -> Option<&Expr> {
        let keyword = || self.kwargs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        self.args.get(position).or_else(|| keyword().map(|(_, value)| value))
    }

    /// The same if it is text.
    pub fn text(&self, position: usize, name: &str) -> Option<&str> {
        match self.argument(position, name)? {
            Expr::Literal(Literal::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Do the paths in keyword arguments fetch series? As in graphite-web they do not: they have the series that positional
    /// arguments of the same request fetch. graphite-web cannot read a call that has keywords alone; in such a call they do.
    pub fn fetches_by_name(&self) -> bool {
        self.args.is_empty()
    }
}

/// `seriesByTag("k=v", ...)`
#[derive(Clone, Debug, PartialEq)]
pub struct Tagged {
    /// The call letter for letter, which is the path expression of what it finds.
    pub text: String,
    /// What the tags must fulfil. Arguments that are not strings are passed over.
    pub conditions: Vec<String>,
}

/// `template(body, "a", k="b")`: the values replace `$1` and `$k` in the paths of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// A path or a call.
    pub body: Box<Expr>,
    /// Variable names without the dollar sign, and their values.
    pub values: Vec<(String, Literal)>,
}

/// A plain value.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `5`
    Int(i64),
    /// `5.0`, `1e3`, `inf`
    Float(f64),
    /// `"x"` or `'x'`: what stands between the quotes, backslashes and all.
    Text(String),
    /// `true`, `false`
    Bool(bool),
    /// `none`
    None,
}
