//! Matching one component, planned so that common patterns never reach a general matcher.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::braces::{self, Sym, TooMany};

/// From this many alternatives with a `*` on, searching for all of them at once beats trying one after the other.
const SET_FROM: usize = 8;

/// How one component is matched.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// `cpu`: this text.
    Literal(Box<str>),
    /// `*`: everything.
    Any,
    /// `cpu*`
    Prefix(Box<str>),
    /// `*cpu`
    Suffix(Box<str>),
    /// `{cpu,mem}`: one of these texts; sorted, no two alike.
    Set(Box<[Box<str>]>),
    /// Any other pattern without braces.
    Wild(Wild),
    /// Several patterns, some of them with wildcards.
    OneOf(OneOf),
}

/// A pattern of characters, `?`, classes and `*`, matched by hand: no compilation, and time bounded by text × pattern.
#[derive(Clone, Debug)]
pub struct Wild {
    tokens: Vec<Token>,
    /// The characters before the first wildcard.
    prefix: Box<str>,
}

/// `{cpu*,mem,disk[0-9]}`: alternatives, the cheap kinds first.
#[derive(Clone, Debug)]
pub struct OneOf {
    literals: Box<[Box<str>]>,
    others: Vec<Matcher>,
    /// Alternatives of literals and `*` only, when they are many. The set compares bytes, where `?` and classes would
    /// be wrong for names beyond ASCII.
    set: GlobSet,
}

/// How the texts begin that one alternative of a matcher takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// It takes this text alone.
    Whole(&'a str),
    /// It takes texts that begin so, perhaps not all of them. Empty when nothing is known.
    Prefix(&'a str),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Char(char),
    One,
    Many,
    /// The ranges ascend and do not overlap.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Matcher {
    /// Chooses how to match a component.
    pub(super) fn plan(part: &[Sym]) -> Result<Matcher, TooMany> {
        let mut literals: Vec<Box<str>> = Vec::new();
        let mut others: Vec<Vec<Token>> = Vec::new();
        for choice in braces::expand_all(part)? {
            let tokens = tokens(&choice);
            match literal(&tokens) {
                Some(text) => literals.push(text),
                None => others.push(tokens),
            }
        }
        literals.sort_unstable();
        literals.dedup();
        Ok(match (literals.as_slice(), others.len()) {
            ([only], 0) => Matcher::Literal(only.clone()),
            (_, 0) => Matcher::Set(literals.into()),
            ([], 1) => others.pop().map_or(Matcher::Any, single),
            _ => one_of(literals.into(), others),
        })
    }

    /// Does the whole text match?
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Matcher::Literal(only) => **only == *text,
            Matcher::Any => true,
            Matcher::Prefix(prefix) => text.starts_with(&**prefix),
            Matcher::Suffix(suffix) => text.ends_with(&**suffix),
            Matcher::Set(texts) => contains(texts, text),
            Matcher::Wild(wild) => wild.matches(text),
            Matcher::OneOf(one_of) => one_of.matches(text),
        }
    }

    /// How the texts begin that it takes: one for each alternative. For stores that can look texts up by their beginning.
    pub fn starts(&self) -> Vec<Start<'_>> {
        match self {
            Matcher::Literal(only) => vec![Start::Whole(only)],
            Matcher::Any | Matcher::Suffix(_) => vec![Start::Prefix("")],
            Matcher::Prefix(prefix) => vec![Start::Prefix(prefix)],
            Matcher::Set(texts) => texts.iter().map(|text| Start::Whole(text)).collect(),
            Matcher::Wild(wild) => vec![Start::Prefix(&wild.prefix)],
            Matcher::OneOf(one_of) if !one_of.set.is_empty() => vec![Start::Prefix("")],
            Matcher::OneOf(one_of) => {
                let literals = one_of.literals.iter().map(|text| Start::Whole(text));
                literals.chain(one_of.others.iter().flat_map(Matcher::starts)).collect()
            }
        }
    }
}

impl Wild {
    /// Remembers only the last `*`: when a later part fails, that star takes one character more. Giving an earlier star
    /// more could not help, for whatever it would skip the last one can skip too.
    fn matches(&self, text: &str) -> bool {
        let mut at = 0;
        let mut rest = text.chars();
        let mut star = None;
        loop {
            let before = rest.clone();
            match (self.tokens.get(at), rest.next()) {
                (None, None) => return true,
                (Some(Token::Many), _) => {
                    at += 1;
                    rest = before.clone();
                    star = Some((at, before));
                }
                (Some(token), Some(char)) if token.accepts(char) => at += 1,
                _ => {
                    let Some((after, skipped)) = &mut star else { return false };
                    if skipped.next().is_none() {
                        return false;
                    }
                    at = *after;
                    rest = skipped.clone();
                }
            }
        }
    }
}

impl OneOf {
    fn matches(&self, text: &str) -> bool {
        contains(&self.literals, text)
            || self.others.iter().any(|other| other.matches(text))
            || self.set.is_match(text)
    }
}

impl Token {
    fn accepts(&self, char: char) -> bool {
        match self {
            Token::Char(only) => *only == char,
            Token::One | Token::Many => true,
            Token::Class { negated, ranges } => {
                let after = ranges.partition_point(|&(low, _)| low <= char);
                let inside = after.checked_sub(1).is_some_and(|i| char <= ranges[i].1);
                inside != *negated
            }
        }
    }
}

fn contains(sorted: &[Box<str>], text: &str) -> bool {
    sorted.binary_search_by(|probe| (**probe).cmp(text)).is_ok()
}

fn tokens(choice: &[Sym]) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(choice.len());
    let mut rest = choice;
    // Once a `[` is never closed no later one is: without this, many of them take time squared.
    let mut classes = true;
    while let [sym, tail @ ..] = rest {
        rest = tail;
        if sym.is('*') {
            if tokens.last() != Some(&Token::Many) {
                tokens.push(Token::Many);
            }
        } else if sym.is('?') {
            tokens.push(Token::One);
        } else if classes
            && sym.is('[')
            && let Some((class, after)) = class(tail)
        {
            tokens.push(class);
            rest = after;
        } else {
            classes &= !sym.is('[');
            tokens.push(Token::Char(sym.char));
        }
    }
    tokens
}

/// A class after its `[`, and what follows it; `None` when it is never closed. A `]` that comes first is a member.
fn class(syms: &[Sym]) -> Option<(Token, &[Sym])> {
    let (negated, syms) = match syms {
        [first, rest @ ..] if first.is('!') => (true, rest),
        _ => (false, syms),
    };
    let close = 1 + syms.iter().skip(1).position(|sym| sym.is(']'))?;
    let (mut members, after) = (&syms[..close], &syms[close + 1..]);
    let mut ranges = Vec::new();
    while let [low, rest @ ..] = members {
        members = rest;
        let mut high = low;
        if let [dash, to, rest @ ..] = members
            && dash.is('-')
        {
            (high, members) = (to, rest);
        }
        // A range that runs backwards holds nothing, as in Python's fnmatch.
        if low.char <= high.char {
            ranges.push((low.char, high.char));
        }
    }
    Some((Token::Class { negated, ranges: merge(ranges) }, after))
}

/// The same characters in ascending ranges that do not overlap.
fn merge(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let overlaps = next.0 <= kept.1;
        if overlaps {
            kept.1 = kept.1.max(next.1);
        }
        overlaps
    });
    ranges
}

fn literal(tokens: &[Token]) -> Option<Box<str>> {
    let chars = tokens.iter().map(|token| match token {
        Token::Char(char) => Some(*char),
        _ => None,
    });
    chars.collect::<Option<String>>().map(String::into_boxed_str)
}

/// The matcher of one pattern that is not a literal.
fn single(tokens: Vec<Token>) -> Matcher {
    let planned = match tokens.as_slice() {
        [Token::Many] => Some(Matcher::Any),
        [head @ .., Token::Many] => literal(head).map(Matcher::Prefix),
        [Token::Many, tail @ ..] => literal(tail).map(Matcher::Suffix),
        _ => None,
    };
    planned.unwrap_or_else(|| {
        let head = tokens.iter().take_while(|token| matches!(token, Token::Char(_))).count();
        let prefix = literal(&tokens[..head]).unwrap_or_default();
        Matcher::Wild(Wild { tokens, prefix })
    })
}

fn one_of(literals: Box<[Box<str>]>, others: Vec<Vec<Token>>) -> Matcher {
    if others.iter().any(|tokens| *tokens == [Token::Many]) {
        return Matcher::Any;
    }
    let plain = |tokens: &Vec<Token>| tokens.iter().all(|t| matches!(t, Token::Char(_) | Token::Many));
    let (stars, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(plain);
    let set = if stars.len() < SET_FROM { None } else { glob_set(&stars) };
    let singles = match &set {
        Some(_) => rest,
        None => [rest, stars].concat(),
    };
    let others = singles.into_iter().map(single).collect();
    Matcher::OneOf(OneOf { literals, others, set: set.unwrap_or_default() })
}

/// `None` when the set would be too large to build; the alternatives are then tried one by one.
fn glob_set(stars: &[Vec<Token>]) -> Option<GlobSet> {
    let mut builder = GlobSetBuilder::new();
    for tokens in stars {
        let mut text = String::with_capacity(tokens.len());
        for token in tokens {
            match token {
                Token::Char(char) => {
                    if char.is_ascii_punctuation() {
                        text.push('\\');
                    }
                    text.push(*char);
                }
                _ => text.push('*'),
            }
        }
        builder.add(GlobBuilder::new(&text).backslash_escape(true).build().ok()?);
    }
    builder.build().ok()
}
