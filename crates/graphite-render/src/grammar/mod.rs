//! The target language: text becomes an [`Expr`].
//!
//! Recursive descent without backtracking, so the time is linear in the text. Whatever graphite-web reads in full is
//! read alike; where it would silently ignore the rest of a text it cannot read, we answer with an error that says where.

mod expr;
mod path;
mod scan;
pub(crate) mod template;
#[cfg(test)]
mod tests;

pub use expr::{Call, Expr, Literal, Tagged, Template};
use scan::Scanner;

/// Longest target in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Calls within calls.
const MAX_DEPTH: usize = 100;

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// Something else was expected.
    #[error("cannot read the target at character {at}: expected {expected}, found {found}")]
    Unexpected {
        /// Characters before the place, plus one.
        at: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// `template` with something else than strings and numbers for values.
    #[error("invalid template() syntax, only string/numeric arguments are allowed (character {at})")]
    Template {
        /// Characters before the call, plus one.
        at: usize,
    },
    /// Too deep.
    #[error("the target nests more than {MAX_DEPTH} calls")]
    Depth,
    /// Too long.
    #[error("the target has {0} bytes, more than the {MAX_BYTES} allowed")]
    Length(usize),
}

/// Reads one whole target.
pub fn parse(text: &str) -> Result<Expr, GrammarError> {
    if text.len() > MAX_BYTES {
        return Err(GrammarError::Length(text.len()));
    }
    let mut parser = Parser { scan: Scanner::new(text), depth: 0, height: 0, lenient: false };
    let expr = parser.expression()?;
    parser.scan.blanks();
    if parser.scan.at_end() { Ok(expr) } else { Err(parser.scan.unexpected("the end of the target")) }
}

/// The first path inside a series name such as `scale(a.b.c,2)`; `None` when it begins with something else.
///
/// Names are not targets: they may hold anything. What cannot be read as a call is read as a path up to the first
/// character that cannot be part of one, as graphite-web does.
pub fn first_path(name: &str) -> Option<String> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let mut parser = Parser { scan: Scanner::new(name), depth: 0, height: 0, lenient: true };
    let mut expr = parser.expression().ok()?;
    loop {
        match expr {
            Expr::Path(path) => return Some(path),
            Expr::Call(call) => expr = call.args.into_iter().next()?,
            Expr::Tagged(_) | Expr::Template(_) | Expr::Literal(_) => return None,
        }
    }
}

struct Parser<'a> {
    scan: Scanner<'a>,
    /// Expressions being read.
    depth: usize,
    /// Calls within calls of the expression read last. Pipes make a tall tree without any depth here.
    height: usize,
    /// Read what does not work as a call as a path.
    lenient: bool,
}

impl Parser<'_> {
    /// `primary { "|" call }`
    fn expression(&mut self) -> Result<Expr, GrammarError> {
        if self.depth == MAX_DEPTH {
            return Err(GrammarError::Depth);
        }
        self.depth += 1;
        let mut expr = self.primary()?;
        loop {
            let before = self.scan.mark();
            self.scan.blanks();
            if !self.scan.eat('|') {
                self.scan.reset(before);
                break;
            }
            expr = match self.piped(expr) {
                Ok(piped) => piped,
                Err((input, _)) if self.lenient => {
                    self.scan.reset(before);
                    expr = input;
                    break;
                }
                Err((_, error)) => return Err(error),
            };
        }
        self.depth -= 1;
        Ok(expr)
    }

    /// The call after a bar, with what stands before the bar as its first argument. A failure hands that back.
    fn piped(&mut self, input: Expr) -> Result<Expr, (Expr, GrammarError)> {
        let height = self.height;
        self.scan.blanks();
        let start = self.scan.mark();
        let Some(name) = self.scan.call_name() else {
            return Err((input, self.scan.unexpected("a function call after `|`")));
        };
        match self.call(name, start).and_then(|call| self.grown(height).map(|()| call)) {
            Ok(Expr::Call(mut call)) => {
                call.args.insert(0, input);
                Ok(Expr::Call(call))
            }
            Ok(other) => Ok(other),
            Err(error) => Err((input, error)),
        }
    }

    /// A call, a template or a path.
    fn primary(&mut self) -> Result<Expr, GrammarError> {
        self.scan.blanks();
        let start = self.scan.mark();
        let depth = self.depth;
        if let Some(name) = self.scan.call_name() {
            let call = if name == "template" { self.template(start) } else { self.call(name, start) };
            match call {
                Err(GrammarError::Depth) => return Err(GrammarError::Depth),
                Err(_) if self.lenient => {
                    self.depth = depth;
                    self.scan.reset(start);
                }
                done => return done,
            }
        }
        self.height = 0;
        self.scan.path(self.lenient).map(Expr::Path)
    }

    /// What follows the name: `"(" [ args ] ")"`.
    fn call(&mut self, name: &str, start: usize) -> Result<Expr, GrammarError> {
        let mut call = Call { name: name.to_owned(), args: Vec::new(), kwargs: Vec::new() };
        let mut tallest = 0;
        self.scan.open();
        if !self.scan.eat_token(')') {
            loop {
                self.argument(&mut call)?;
                tallest = tallest.max(self.height);
                if self.scan.eat_token(')') {
                    break;
                }
                if !self.scan.eat_token(',') {
                    return Err(self.scan.unexpected("`,` or `)`"));
                }
            }
        }
        self.height = 0;
        self.grown(tallest)?;
        if name != "seriesByTag" {
            return Ok(Expr::Call(call));
        }
        let strings = call.args.into_iter().filter_map(|arg| match arg {
            Expr::Literal(Literal::Text(text)) => Some(text),
            _ => None,
        });
        let conditions = strings.collect();
        Ok(Expr::Tagged(Tagged { text: self.scan.since(start).to_owned(), conditions }))
    }

    /// The expression read last stands at least one above another of this height.
    fn grown(&mut self, below: usize) -> Result<(), GrammarError> {
        self.height = self.height.max(below + 1);
        if self.height > MAX_DEPTH { Err(GrammarError::Depth) } else { Ok(()) }
    }

    fn argument(&mut self, call: &mut Call) -> Result<(), GrammarError> {
        self.scan.blanks();
        if let Some(key) = self.scan.keyword() {
            let value = self.value()?;
            call.kwargs.push((key.to_owned(), value));
        } else if call.kwargs.is_empty() {
            call.args.push(self.value()?);
        } else {
            return Err(self.scan.unexpected("a keyword argument: positional ones come first"));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<Expr, GrammarError> {
        self.scan.blanks();
        match self.scan.literal()? {
            Some(literal) => {
                self.height = 0;
                Ok(Expr::Literal(literal))
            }
            None => self.expression(),
        }
    }

    /// What follows `template`: `"(" (call | path) { "," [ name "=" ] literal } ")"`.
    fn template(&mut self, start: usize) -> Result<Expr, GrammarError> {
        let syntax = GrammarError::Template { at: self.scan.character(start) };
        self.scan.open();
        let body = Box::new(self.expression()?);
        let mut values = Vec::new();
        let mut position = 0;
        while self.scan.eat_token(',') {
            self.scan.blanks();
            let key = self.scan.keyword().map(str::to_owned);
            let key = key.unwrap_or_else(|| {
                position += 1;
                position.to_string()
            });
            self.scan.blanks();
            match self.scan.literal()? {
                Some(value @ (Literal::Int(_) | Literal::Float(_) | Literal::Text(_))) => {
                    values.push((key, value))
                }
                _ => return Err(syntax),
            }
        }
        if !self.scan.eat_token(')') {
            return Err(syntax);
        }
        Ok(Expr::Template(Template { body, values }))
    }
}
