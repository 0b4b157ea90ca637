//! Python regular expressions on top of the regex crate.
//!
//! The crate has no look-around and no back references in patterns, in exchange for time linear in the text; a pattern that
//! needs them is refused with an error. The rest is translated here.

use regex::{Captures, Regex};

use crate::render::error::RenderError;

/// A pattern in Python's syntax.
pub(in crate::render) struct Pattern(Regex);

impl Pattern {
    pub(in crate::render) fn new(text: &str) -> Result<Self, RenderError> {
        Regex::new(&translate(text)).map(Pattern).map_err(|error| {
            // The last line says what is wrong; those before draw a picture of the translated pattern.
            let shown = error.to_string();
            let reason = shown.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            RenderError::invalid(format!("the regular expression `{text}` cannot be used: {reason}"))
        })
    }

    /// Anywhere in the text.
    pub(in crate::render) fn is_found(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// The second argument of `re.sub`.
pub(super) struct Replacement(Vec<Piece>);

enum Piece {
    Text(String),
    Group(usize),
}

impl Replacement {
    /// `\1`, `\g<1>` and `\g<name>` stand for groups of the pattern; a dollar sign is just that.
    pub(super) fn new(text: &str, pattern: &Pattern) -> Result<Self, RenderError> {
        let wrong =
            |what: &str| RenderError::invalid(format!("the replacement `{text}` cannot be used: {what}"));
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\\') {
            pieces.push(Piece::Text(before.to_owned()));
            let (piece, tail) =
                escape(after, pattern).ok_or_else(|| wrong("bad escape, or no such group"))?;
            pieces.push(piece);
            rest = tail;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let groups = pattern.0.captures_len();
        if pieces.iter().any(|piece| matches!(piece, Piece::Group(n) if *n >= groups)) {
            return Err(wrong("there is no such group"));
        }
        Ok(Self(pieces))
    }

    /// Replaces every match. Unlike the regex crate, Python also takes an empty match right after another match.
    pub(super) fn apply(&self, pattern: &Pattern, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        let (mut at, mut copied) = (0, 0);
        while at <= text.len()
            && let Some(found) = pattern.0.captures_at(text, at)
        {
            let Some(whole) = found.get(0) else { break };
            out.push_str(&text[copied..whole.start()]);
            self.expand(&found, &mut out);
            copied = whole.end();
            // An empty match must not be found again: go on behind the next character.
            let step = text[copied..].chars().next().map_or(1, char::len_utf8);
            at = if whole.is_empty() { copied + step } else { copied };
        }
        out.push_str(&text[copied..]);
        out
    }

    fn expand(&self, found: &Captures<'_>, out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Group(n) => out.push_str(found.get(*n).map_or("", |group| group.as_str())),
            }
        }
    }
}

/// What follows a backslash in a replacement, and what follows that.
fn escape<'t>(after: &'t str, pattern: &Pattern) -> Option<(Piece, &'t str)> {
    let first = after.chars().next()?;
    let tail = &after[first.len_utf8()..];
    let text = |s: &str| Piece::Text(s.to_owned());
    Some(match first {
        'g' => {
            let (name, tail) = tail.strip_prefix('<')?.split_once('>')?;
            let by_name = || pattern.0.capture_names().position(|known| known == Some(name));
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

/// Python's syntax in the crate's. They differ in what braces, classes and a few escapes mean.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.char_indices();
    let mut class: Option<usize> = None; // where the class began that we are in
    while let Some((i, c)) = chars.next() {
        match (c, class) {
            ('\\', _) => match chars.next() {
                Some((_, 'Z')) => out.push_str("\\z"),
                Some((_, c @ ('<' | '>'))) => out.push(c),
                Some((_, c)) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            ('[', None) => {
                class = Some(i);
                out.push('[');
            }
            // A bracket right at the start of a class belongs to it.
            (']', Some(begin)) => {
                let first = matches!(&pattern[begin + 1..i], "" | "^");
                out.push_str(if first { "\\]" } else { "]" });
                class = if first { class } else { None };
            }
            // Nested classes and set operations are the crate's own invention.
            ('[' | '&' | '~', Some(_)) => out.extend(['\\', c]),
            ('-', Some(_)) if pattern[i + 1..].starts_with('-') => out.push_str("\\-"),
            ('{', None) => out.push_str(brace(&pattern[i..])),
            ('}', None) if !closes_repetition(&pattern[..i]) => out.push_str("\\}"),
            _ => out.push(c),
        }
    }
    out
}

/// An opening brace that does not begin a repetition stands for itself.
fn brace(rest: &str) -> &'static str {
    let inside = rest[1..].split_once('}').map_or("", |(inside, _)| inside);
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    match inside.split_once(',') {
        Some((low, high)) if digits(low) && digits(high) => {
            if low.is_empty() {
                "{0"
            } else {
                "{"
            }
        }
        None if !inside.is_empty() && digits(inside) => "{",
        _ => "\\{",
    }
}

fn closes_repetition(before: &str) -> bool {
    before.rfind('{').is_some_and(|open| {
        before[open + 1..].bytes().all(|b| b.is_ascii_digit() || b == b',') && open + 1 < before.len()
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
        assert!(error("(?=a)").contains("`(?=a)`") && error("(?=a)").contains("look-around"));
        assert!(error("*").contains("`*`"));
        let pattern = Pattern::new("(a)").unwrap();
        for bad in [r"\2", r"\q", r"\g<x>", "\\"] {
            let error = Replacement::new(bad, &pattern).err().unwrap().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
