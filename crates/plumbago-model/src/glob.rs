//! Graphite's glob patterns over dotted paths.
//!
//! | pattern      | matches                                                                                     |
//! |--------------|---------------------------------------------------------------------------------------------|
//! | `*`          | any text inside one component                                                               |
//! | `?`          | one character                                                                               |
//! | `[a-z0]`     | one character of the class; `[!a-z0]` one that is not in it                                 |
//! | `{a,b*}`     | either pattern; braces nest and may hold dots: `{a.b,c}.d`                                  |
//! | `**`         | as a whole component: any number of components, none included                               |
//! | `\x`         | the character `x` itself                                                                    |
//!
//! So `**.x` finds `x` at every depth, the top level included. At the end of a pattern `**` stands for at least one
//! component, as in graphite-web: `a.**` is everything below `a`, not `a` itself. Inside a longer component `**` is `*`.
//!
//! As in graphite-web braces are expanded before anything else, matching is case-sensitive, and a brace or bracket
//! without its partner is an ordinary character. Empty components (`a..b`, `a.`) are dropped, as BigGraphite drops them;
//! an alternative that leaves a component empty (`a.{,b}`) matches nothing, for no name has such a component.

mod braces;
mod matcher;
#[cfg(test)]
mod tests;
mod unpaired;

use braces::Sym;
pub use matcher::{Matcher, Start};

/// Longest pattern in bytes. Dashboards put long lists of hosts into braces.
const MAX_BYTES: usize = 256 * 1024;

/// Most components in a pattern: names have no more, and a set of positions fits 64 bits.
const MAX_COMPONENTS: usize = 63;

/// A parsed pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    text: String,
    literal: Option<String>,
    branches: Vec<Branch>,
}

/// Globs are the same if they are written the same.
impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Glob {}

/// One way to match: a pattern whose braces hold no dots. Most globs have one branch.
#[derive(Clone, Debug)]
pub struct Branch {
    components: Vec<Component>,
    /// A bit per position that is a [`Component::Globstar`].
    globstars: u64,
}

/// What one place of a path has to look like.
#[derive(Clone, Debug)]
pub enum Component {
    /// Any number of components, none included. Never two in a row, never the last.
    Globstar,
    /// One component that matches.
    One(Matcher),
}

/// Why a text is no usable pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// No component in it.
    #[error("the pattern `{0}` names nothing; ask for `*` to see the top level")]
    Empty(String),
    /// Too many bytes.
    #[error("the pattern has {bytes} bytes, more than {MAX_BYTES}; split it into several")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// Its braces stand for too much.
    #[error(
        "the braces of the pattern `{0}` expand to too many alternatives; use fewer groups or a wildcard"
    )]
    TooManyAlternatives(String),
    /// More components than a name can have.
    #[error("the pattern `{0}` has more than {MAX_COMPONENTS} components, but no name has that many")]
    TooDeep(String),
}

impl Glob {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Glob, GlobError> {
        if text.len() > MAX_BYTES {
            return Err(GlobError::TooLong { bytes: text.len() });
        }
        let too_many = |_| GlobError::TooManyAlternatives(shorten(text));
        let mut branches = Vec::new();
        let mut paths = Vec::new();
        for path in braces::expand_dotted(&braces::lex(text)).map_err(too_many)? {
            // A globstar that only comes out of braces, as in `{**,x}`, needs a branch of its own.
            if hides_globstar(&path).map_err(too_many)? {
                paths.extend(braces::expand_all(&path).map_err(too_many)?);
            } else {
                paths.push(path);
            }
        }
        for path in paths {
            let branch = Branch::parse(&path).map_err(too_many)?;
            if branch.components.len() > MAX_COMPONENTS {
                return Err(GlobError::TooDeep(shorten(text)));
            }
            if !branch.components.is_empty() {
                branches.push(branch);
            }
        }
        let literal = match branches.as_slice() {
            [] => return Err(GlobError::Empty(shorten(text))),
            [only] => only.literal(),
            _ => None,
        };
        Ok(Glob { text: text.to_owned(), literal, branches })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Can only one path match?
    pub fn is_literal(&self) -> bool {
        self.literal.is_some()
    }

    /// The only path that can match, if there is just one.
    pub fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// The ways to match: a path matches the glob when it matches one of them.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// Does a whole path match?
    pub fn matches(&self, path: &str) -> bool {
        self.branches.iter().any(|branch| branch.matches(path))
    }
}

fn is_globstar(part: &[Sym]) -> bool {
    part.len() == 2 && part.iter().all(|sym| sym.is('*'))
}

/// Does a component become `**` once its braces are expanded?
fn hides_globstar(path: &[Sym]) -> Result<bool, braces::TooMany> {
    for part in path.split(|sym| sym.is('.')).filter(|part| part.iter().any(|sym| sym.is('{'))) {
        if part.iter().any(|sym| sym.is('*')) && braces::expand_all(part)?.iter().any(|p| is_globstar(p)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A branch is followed component by component with a set of the places in it that may come next, as bits: bit `i` is
/// the component at `i`, and the bit after the last one means that the path so far matches.
impl Branch {
    fn parse(path: &[Sym]) -> Result<Branch, braces::TooMany> {
        let mut components = Vec::new();
        for part in path.split(|sym| sym.is('.')).filter(|part| !part.is_empty()) {
            let globstar = is_globstar(part);
            match components.last() {
                Some(Component::Globstar) if globstar => {}
                _ if globstar => components.push(Component::Globstar),
                _ => components.push(Component::One(Matcher::plan(part)?)),
            }
        }
        if let Some(Component::Globstar) = components.last() {
            components.push(Component::One(Matcher::Any));
        }
        let is_star = |c: &Component| matches!(c, Component::Globstar);
        let globstars = components.iter().take(64).enumerate();
        let globstars = globstars.fold(0, |bits, (i, c)| bits | (u64::from(is_star(c)) << i));
        Ok(Branch { components, globstars })
    }

    /// Its places, in order.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Where a path starts.
    pub fn start(&self) -> u64 {
        self.close(1)
    }

    /// Where a path stands after one more component; `test` says whether that component matches the place given. Zero
    /// means that nothing below can match.
    pub fn advance(&self, states: u64, mut test: impl FnMut(usize) -> bool) -> u64 {
        let mut next = states & self.globstars;
        let mut open = states & !self.globstars & !self.end();
        while open != 0 {
            let place = open.trailing_zeros();
            next |= u64::from(test(place as usize)) << (place + 1);
            open &= open - 1;
        }
        self.close(next)
    }

    /// Does the path so far match?
    pub fn is_match(&self, states: u64) -> bool {
        states & self.end() != 0
    }

    /// Can a longer path match?
    pub fn goes_on(&self, states: u64) -> bool {
        states & !self.end() != 0
    }

    fn end(&self) -> u64 {
        1 << self.components.len()
    }

    /// A globstar may stand for nothing: being at it is also being behind it. No two are adjacent, so one step is enough.
    fn close(&self, states: u64) -> u64 {
        states | ((states & self.globstars) << 1)
    }

    fn matches(&self, path: &str) -> bool {
        let mut states = self.start();
        for text in path.split('.') {
            states = self.advance(states, |place| match self.components.get(place) {
                Some(Component::One(matcher)) => matcher.matches(text),
                _ => false,
            });
        }
        self.is_match(states)
    }

    fn literal(&self) -> Option<String> {
        let mut path = String::new();
        for component in &self.components {
            let Component::One(Matcher::Literal(text)) = component else { return None };
            if text.is_empty() {
                return None;
            }
            path.push_str(text);
            path.push('.');
        }
        path.pop();
        Some(path)
    }
}

/// Enough of a pattern to recognise it in an error.
fn shorten(text: &str) -> String {
    const KEEP: usize = 100;
    match text.char_indices().nth(KEEP) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
