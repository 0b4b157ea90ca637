//! The words of the target language: names, literals, blanks.

use super::GrammarError;
use crate::grammar::Literal;

/// A text and a place in it.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn since(&self, mark: usize) -> &'a str {
        &self.text[mark..self.at]
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Like [`Scanner::eat`], with blanks before it.
    pub(super) fn eat_token(&mut self, c: char) -> bool {
        let before = self.mark();
        self.blanks();
        let found = self.eat(c);
        if !found {
            self.reset(before);
        }
        found
    }

    /// Place as people count: the first character is 1.
    pub(super) fn character(&self, mark: usize) -> usize {
        self.text[..mark].chars().count() + 1
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> GrammarError {
        let rest = self.rest().trim_start();
        let at = self.character(self.text.len() - rest.len());
        let found = match rest.chars().next() {
            None => "the end".to_owned(),
            Some(_) => format!("`{}`", rest.chars().take(12).collect::<String>()),
        };
        GrammarError::Unexpected { at, expected, found }
    }

    fn name(&self) -> Option<&'a str> {
        let rest = self.rest();
        let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..len];
        (len > 0 && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    }

    /// A function name, if a parenthesis follows it. The parenthesis is left for [`Scanner::open`].
    pub(super) fn call_name(&mut self) -> Option<&'a str> {
        let name = self.name()?;
        let before = self.mark();
        self.skip(name.len());
        self.blanks();
        if self.peek() == Some('(') {
            return Some(name);
        }
        self.reset(before);
        None
    }

    /// Steps over the parenthesis that [`Scanner::call_name`] saw.
    pub(super) fn open(&mut self) {
        self.eat('(');
    }

    /// The name of a keyword argument, with the equals sign taken as well.
    pub(super) fn keyword(&mut self) -> Option<&'a str> {
        let name = self.name()?;
        let before = self.mark();
        self.skip(name.len());
        if self.eat_token('=') {
            return Some(name);
        }
        self.reset(before);
        None
    }

    /// A number, string or word such as `true`, if one stands here.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>, GrammarError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Some),
            Some(c) if c == '-' || c.is_ascii_digit() => Ok(self.number()),
            _ => Ok(self.word()),
        }
    }

    /// Does the argument end `len` bytes from here? A number or word that goes on (`1min`, `true.x`) is a path.
    fn ends_after(&self, len: usize) -> bool {
        let rest = self.rest()[len..].trim_start_matches([' ', '\t', '\n', '\r']);
        rest.is_empty() || rest.starts_with([',', ')'])
    }

    fn word(&mut self) -> Option<Literal> {
        let name = self.name()?;
        let literal = match name.to_ascii_lowercase().as_str() {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "none" => Literal::None,
            "inf" => Literal::Float(f64::INFINITY),
            _ => return None,
        };
        if !self.ends_after(name.len()) {
            return None;
        }
        self.skip(name.len());
        Some(literal)
    }

    /// `-?\d+(\.\d+)?([eE]-?\d+)?`
    fn number(&mut self) -> Option<Literal> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = |at: usize| usize::from(bytes.get(at) == Some(&b'-'));
        let mut len = sign(0);
        let whole = digits(len);
        if whole == 0 {
            return None;
        }
        len += whole;
        let mut integer = true;
        if bytes.get(len) == Some(&b'.') && digits(len + 1) > 0 {
            len += 1 + digits(len + 1);
            integer = false;
        }
        if matches!(bytes.get(len), Some(b'e' | b'E')) {
            let from = len + 1 + sign(len + 1);
            if from <= bytes.len() && digits(from) > 0 {
                len = from + digits(from);
                integer = false;
            }
        }
        if !self.ends_after(len) {
            return None;
        }
        let text = &rest[..len];
        self.skip(len);
        // An integer beyond 64 bits goes on as a float.
        let int = if integer { text.parse().ok().map(Literal::Int) } else { None };
        int.or_else(|| text.parse().ok().map(Literal::Float))
    }

    /// Between quotes a backslash keeps the next character from ending the string, and a doubled quote does not end it
    /// either; both stay in the text as they are.
    fn string(&mut self, quote: char) -> Result<Literal, GrammarError> {
        let rest = self.rest();
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '\n' | '\r' => break,
                c if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() => {
                    self.skip(i + 1);
                    return Ok(Literal::Text(rest[1..i].to_owned()));
                }
                _ => {}
            }
        }
        Err(self.unexpected("a string that ends with the quote it began with"))
    }
}
