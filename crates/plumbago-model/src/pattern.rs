//! Patterns: carbon's and Graphite's are Python regular expressions, ours are those of the `regex` crate.
//!
//! Almost every pattern means the same in both. Where the spelling differs it is translated; what needs backtracking
//! (look-around, backreferences, conditionals) is refused by name, because a rule that quietly matches other names than
//! it did in carbon is worse than none. In exchange a search takes time linear in the text, so no rule can stall ingest.
//! Queries may backtrack within a limit; [`translate`] writes such patterns for an engine that can.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// Why a pattern was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{pattern}`: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What becomes of a construct that needs backtracking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backtracking {
    /// It is refused.
    Refused,
    /// It is left as it is.
    Kept,
}

/// A Python pattern in the syntax of the `regex` crate, or the reason why it has none.
pub fn translate(pattern: &str, backtracking: Backtracking) -> Result<String, String> {
    Translator::new(pattern, backtracking).run()
}

/// A regular expression in Python's syntax.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles it.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let refuse = |reason| PatternError { pattern: pattern.to_owned(), reason };
        let translated = translate(pattern, Backtracking::Refused).map_err(refuse)?;
        let compiled = Regex::new(&translated).map_err(|error| {
            // The crate draws the pattern with a caret below it; the reason is its last line.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            refuse(reason.to_owned())
        });
        Ok(Self { text: pattern.to_owned(), regex: compiled? })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Is it found anywhere in the text?
    pub fn is_found(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The same in the crate's syntax.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }
}

/// As it was written.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    backtracking: Backtracking,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str, backtracking: Backtracking) -> Self {
        let out = String::with_capacity(pattern.len() + 8);
        Self { rest: pattern.chars().peekable(), out, backtracking }
    }

    fn run(mut self) -> Result<String, String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '{' => self.brace()?,
                '*' | '+' | '?' => {
                    self.out.push(c);
                    self.after_repetition(c)?;
                }
                _ => self.out.push(c),
            }
        }
        Ok(self.out)
    }

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        match self.rest.next() {
            Some(c @ '1'..='9') if !in_class && self.backtracking == Backtracking::Kept => {
                self.out.extend(['\\', c]);
            }
            // Inside a class, and after `\0`, digits are an octal number.
            Some(c) if c.is_ascii_digit() => {
                let what = if c == '0' || in_class { "an octal escape" } else { "a backreference" };
                return Err(unsupported(&format!("\\{c}"), what));
            }
            // Word boundaries in the regex crate, plain characters in Python.
            Some(c @ ('<' | '>')) => self.out.push(c),
            Some('Z') if !in_class => self.out.push_str("\\z"),
            Some('b') if in_class => self.out.push_str("\\x08"),
            Some(c) => self.out.extend(['\\', c]),
            None => self.out.push('\\'),
        }
        Ok(())
    }

    /// What follows `(`.
    fn group(&mut self) -> Result<(), String> {
        let ahead: String = self.rest.clone().take(3).collect();
        let backtracks = [
            ("?=", "a look-ahead"),
            ("?!", "a look-ahead"),
            ("?<=", "a look-behind"),
            ("?<!", "a look-behind"),
            ("?(", "a conditional"),
            ("?P=", "a backreference"),
        ];
        if let Some((start, what)) = backtracks.iter().find(|(start, _)| ahead.starts_with(start)) {
            if self.backtracking == Backtracking::Refused {
                return Err(unsupported(&format!("({start}"), what));
            }
            self.out.push('(');
            self.out.extend(self.rest.by_ref().take(start.len()));
            return Ok(());
        }
        // Python before 3.11 has none.
        if ahead.starts_with("?>") {
            return Err(unsupported("(?>", "an atomic group"));
        }
        if ahead.starts_with("?#") {
            // A comment ends at the first `)`.
            self.rest.by_ref().find(|&c| c == ')');
            return Ok(());
        }
        self.out.push('(');
        // Nothing before the `?` is repeated by it.
        if ahead.starts_with('?') {
            self.rest.next();
            self.out.push('?');
        }
        Ok(())
    }

    /// `{`: a repetition if it has the form of one, else the character.
    fn brace(&mut self) -> Result<(), String> {
        let inside: String = self.rest.clone().take_while(|&c| c != '}').collect();
        let closed = self.rest.clone().any(|c| c == '}');
        let (low, high) = inside.split_once(',').unwrap_or((&inside, &inside));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !closed || inside.is_empty() || !digits(low) || !digits(high) {
            self.out.push_str("\\{");
            return Ok(());
        }
        // Skips what was looked at, and the `}`.
        for _ in 0..=inside.len() {
            self.rest.next();
        }
        let low = if low.is_empty() { "0" } else { low };
        let comma = if inside.contains(',') { "," } else { "" };
        let high = if comma.is_empty() { "" } else { high };
        self.out.push_str(&format!("{{{low}{comma}{high}}}"));
        self.after_repetition('}')
    }

    /// The regex crate reads `a*+` as a repeated repetition, which matches other names than Python's possessive form.
    fn after_repetition(&mut self, repetition: char) -> Result<(), String> {
        if self.rest.peek() == Some(&'+') {
            return Err(unsupported(&format!("{repetition}+"), "a possessive repetition"));
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        match self.rest.peek() {
            Some(c @ ('*' | '+' | '?')) => Err(format!("`{c}` repeats a repetition")),
            _ => Ok(()),
        }
    }

    /// What follows `[`. Python has no nested classes and no set operations.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        if self.rest.next_if_eq(&']').is_some() {
            self.out.push_str("\\]");
        }
        let mut previous = None;
        while let Some(c) = self.rest.next() {
            match c {
                ']' => {
                    self.out.push(c);
                    break;
                }
                '\\' => self.escape(true)?,
                '[' | '&' | '~' => self.out.extend(['\\', c]),
                '-' if previous == Some('-') => self.out.push_str("\\-"),
                _ => self.out.push(c),
            }
            previous = Some(c);
        }
        Ok(())
    }
}

fn unsupported(construct: &str, what: &str) -> String {
    format!("`{construct}` is {what}, which is not supported; match the names without it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().is_found(name)
    }

    fn error(pattern: &str) -> String {
        Pattern::new(pattern).unwrap_err().to_string()
    }

    #[test]
    fn patterns_are_searched_for_anywhere() {
        assert!(matches("web", "servers.web1.cpu"));
        assert!(matches(r"\.count$", "a.count"));
        assert!(!matches(r"^carbon\.", "a.carbon.b"));
        assert!(matches(r"(?i)CPU;.*dc=", "my.cpu;dc=ams"));
        assert!(matches(r"(?P<x>a+?)b{2}", "aabb"));
    }

    #[test]
    fn spellings_of_python_are_translated() {
        // (pattern, a name Python finds it in, a name Python does not)
        for (pattern, yes, no) in [
            (r"a\Z", "ba", "ab"),
            (r"x{y}", "x{y}", "xy"),
            (r"^a{,2}$", "aa", "aaa"),
            (r"^a{2,}$", "aaa", "a"),
            (r"^a{1,2}b$", "aab", "aaab"),
            (r"^{$", "{", "a"),
            (r"a(?#note (x)b", "ab", "a"),
            (r"^\<a\>$", "<a>", "a"),
            (r"^[[a]$", "[", "b"),
            (r"^[]a]$", "]", "b"),
            (r"^[^]a]$", "b", "]"),
            (r"^[a&&b]$", "&", "c"),
            (r"^[a~~b]$", "~", "c"),
            (r"^[+--]$", ",", "."),
            (r"^[\w\-.]+$", "a-b.c", "a b"),
            (r"^[ -~]+$", "a|b", "é"),
        ] {
            assert!(matches(pattern, yes), "{pattern} in {yes}");
            assert!(!matches(pattern, no), "{pattern} in {no}");
        }
    }

    #[test]
    fn what_needs_backtracking_is_refused_by_name() {
        for (pattern, construct, what) in [
            ("^(?!carbon)", "`(?!`", "look-ahead"),
            ("a(?=b)", "`(?=`", "look-ahead"),
            ("(?<=a)b", "`(?<=`", "look-behind"),
            ("(?<!a)b", "`(?<!`", "look-behind"),
            (r"(a)\1", r"`\1`", "backreference"),
            ("(?P<n>a)(?P=n)", "`(?P=`", "backreference"),
            ("(?>a)", "`(?>`", "atomic group"),
            ("(a)?(?(1)b|c)", "`(?(`", "conditional"),
            ("a*+b", "`*+`", "possessive"),
            ("a{2}+b", "`}+`", "possessive"),
            (r"\0", r"`\0`", "octal"),
            (r"[\2]", r"`\2`", "octal"),
        ] {
            let text = error(pattern);
            assert!(text.contains(construct) && text.contains(what), "{pattern}: {text}");
            assert!(text.starts_with(&format!("pattern `{pattern}`: ")), "{text}");
        }
        assert!(error("a**").contains("`*` repeats a repetition"));
    }

    #[test]
    fn the_reason_of_the_regex_crate_is_one_line() {
        assert_eq!(error("a(b"), "pattern `a(b`: unclosed group");
        assert_eq!(error("[a"), "pattern `[a`: unclosed character class");
        assert!(error("\\").contains("incomplete escape"));
    }
}
