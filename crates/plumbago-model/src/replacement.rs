//! Python's `re.sub`.

use regex::Captures;

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
        let wrong = |reason: &str| PatternError { pattern: text.to_owned(), reason: reason.to_owned() };
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
        let groups = pattern.regex().captures_len();
        if pieces.iter().any(|piece| matches!(piece, Piece::Group(n) if *n >= groups)) {
            return Err(wrong("there is no such group"));
        }
        Ok(Self(pieces))
    }

    /// Replaces every match. Unlike the regex crate, Python also takes an empty match right after another match.
    pub fn apply(&self, pattern: &Pattern, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        let (mut at, mut copied) = (0, 0);
        while at <= text.len()
            && let Some(found) = pattern.regex().captures_at(text, at)
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
            let by_name = || pattern.regex().capture_names().position(|known| known == Some(name));
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
