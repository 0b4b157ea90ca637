//! Python's `re.sub`.

use std::convert::Infallible;
use std::ops::Range;

use super::pattern::{Pattern, PatternError};

/// The second argument of `re.sub`.
#[derive(Clone, Debug)]
pub struct Replacement(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Group(usize),
}

impl Replacement {
    /// `\1`, `\g<1>` and `\g<name>` stand for groups of the pattern; a dollar sign is just that.
    pub fn new(text: &str, pattern: &Pattern) -> Result<Self, PatternError> {
        Self::of_groups(text, &pattern.regex().capture_names().collect::<Vec<_>>())
    }

    /// The same for a pattern of any engine, by the names of its groups. The whole match is the first of them.
    pub fn of_groups(text: &str, groups: &[Option<&str>]) -> Result<Self, PatternError> {
        let wrong = |reason: &str| PatternError { pattern: text.to_owned(), reason: reason.to_owned() };
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            pieces.push(Piece::Text(before.to_owned()));
            let (piece, tail) = escape(after, groups).ok_or_else(|| wrong("bad escape, or no such group"))?;
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        if pieces.iter().any(|piece| matches!(piece, Piece::Group(n) if *n >= groups.len())) {
            return Err(wrong("there is no such group"));
        }
        Ok(Self(pieces))
    }

    /// Replaces every match. Unlike the regex crate, Python also takes an empty match right after another match.
    pub fn apply(&self, pattern: &Pattern, text: &str) -> String {
        let find = |at: usize| -> Result<_, Infallible> {
            let found = pattern.regex().captures_at(text, at);
            Ok(found.map(|found| found.iter().map(|group| group.map(|group| group.range())).collect()))
        };
        let Ok(replaced) = self.apply_found(text, find);
        replaced
    }

    /// The same with any engine: `find` gives the groups of the first match from a place on.
    pub fn apply_found<E>(
        &self,
        text: &str,
        find: impl Fn(usize) -> Result<Option<Vec<Option<Range<usize>>>>, E>,
    ) -> Result<String, E> {
        let mut out = String::with_capacity(text.len() + 16);
        let (mut at, mut copied) = (0, 0);
        while at <= text.len()
            && let Some(groups) = find(at)?
        {
            let Some(Some(whole)) = groups.first() else { break };
            out.push_str(&text[copied..whole.start]);
            self.expand(&groups, text, &mut out);
            copied = whole.end;
            // An empty match must not be found again: go on behind the next character.
            let step = text[copied..].chars().next().map_or(1, char::len_utf8);
            at = if whole.is_empty() { copied + step } else { copied };
        }
        out.push_str(&text[copied..]);
        Ok(out)
    }

    fn expand(&self, groups: &[Option<Range<usize>>], text: &str, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => out.push_str(plain),
                Piece::Group(n) => {
                    let group = groups.get(*n).cloned().flatten();
                    out.push_str(group.map_or("", |group| &text[group]));
                }
            }
        }
    }
}

/// What follows a backslash in a replacement, and what follows that.
fn escape<'t>(after: &'t str, groups: &[Option<&str>]) -> Option<(Piece, &'t str)> {
    let first = after.chars().next()?;
    let tail = &after[first.len_utf8()..];
    let text = |s: &str| Piece::Text(s.to_owned());
    Some(match first {
        'g' => {
            let (name, tail) = tail.strip_prefix('<')?.split_once('>')?;
            let by_name = || groups.iter().position(|known| *known == Some(name));
            (Piece::Group(name.parse().ok().or_else(by_name)?), tail)
        }
        '1'..='9' => {
            let len = 1 + usize::from(tail.starts_with(|c: char| c.is_ascii_digit()));
            (Piece::Group(after[..len].parse().ok()?), &after[len..])
        }
        'n' => (text("\n"), tail),
        't' => (text("\t"), tail),
        'r' => (text("\r"), tail),
        '\\' => (text("\\"), tail),
        c if c.is_ascii_alphanumeric() => return None,
        // Python leaves a backslash before anything else as it is.
        c => (text(&format!("\\{c}")), tail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(pattern: &str, replacement: &str, text: &str) -> String {
        let pattern = Pattern::new(pattern).unwrap();
        Replacement::new(replacement, &pattern).unwrap().apply(&pattern, text)
    }

    // Expected texts are CPython's own.
    #[test]
    fn sub_is_pythons() {
        for (pattern, replacement, text, expected) in [
            ("(^.*$)", r"\1 A", "a b", "a b A"),
            ("(.*)", r"\1!", "abc", "abc!!"),
            ("x*", "-", "abxd", "-a-b--d-"),
            ("", "-", "äb", "-ä-b-"),
            ("(a)(b)?", r"[\1\2]", "ab a", "[ab] [a]"),
            (r"(?P<n>\d+)", r"<\g<n>\g<1>0>", "x12", "x<12120>"),
            ("a", "$1", "a", "$1"),
            ("a", r"\.", "a", r"\."),
            ("a", r"\\n", "a", r"\n"),
            ("{x}", "y", "a{x}", "ay"),
            ("a{2}", "y", "aaa", "ya"),
            ("a{,2}b", "y", "aab", "y"),
            ("[[&~]", "y", "[&~", "yyy"),
            ("[]a]", "y", "]a", "yy"),
            ("[^]]", "y", "]a", "]y"),
            (r"\<b\>", "y", "<b>", "y"),
            (r"c\Z", "y", "cc", "cy"),
            ("a[.-]b", "y", "a-b", "y"),
        ] {
            assert_eq!(sub(pattern, replacement, text), expected, "{pattern}");
        }
    }

    #[test]
    fn errors_name_the_pattern() {
        let error = |pattern: &str| Pattern::new(pattern).err().unwrap().to_string();
        assert!(error("(?=a)").contains("`(?=a)`") && error("(?=a)").contains("look-ahead"));
        assert!(error("*").contains("`*`"));
        let pattern = Pattern::new("(a)").unwrap();
        for bad in [r"\2", r"\q", r"\g<x>", "\\"] {
            let error = Replacement::new(bad, &pattern).err().unwrap().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
