//! `blacklist.conf` and `whitelist.conf`: a regular expression on each line.

use std::path::Path;

use regex::RegexSet;

use super::RuleError;
use plumbago_model::pattern::Pattern;

/// Patterns, any of which may match.
#[derive(Debug)]
pub(super) struct List(RegexSet);

impl List {
    /// Reads a file. Lines that start with `#` are comments.
    pub(super) fn read(file: &Path, text: &str) -> Result<Self, RuleError> {
        let refuse = |line, message| RuleError { file: file.to_owned(), line, message };
        let mut patterns = Vec::new();
        for (nth, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                patterns.push(Pattern::new(line).map_err(|error| refuse(nth + 1, error.to_string()))?);
            }
        }
        let set = RegexSet::new(patterns.iter().map(|pattern| pattern.regex().as_str()));
        set.map(Self).map_err(|_| {
            refuse(
                0,
                "all patterns together are too large; join those that are alike, or use fewer".to_owned(),
            )
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does one of them match the name?
    pub(super) fn finds(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_searched_for() {
        let list = List::read(Path::new("blacklist.conf"), "# no tests\n\n \\.test\\.\r\n^tmp\n").unwrap();
        assert!(list.finds("a.test.b") && list.finds("tmp.x"));
        assert!(!list.finds("a.tmp") && !list.finds("# no tests"));
        assert!(List::read(Path::new("x"), "#\n").unwrap().is_empty());
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = List::read(Path::new("blacklist.conf"), "a\n(b\n").unwrap_err();
        assert_eq!(error.to_string(), "blacklist.conf:2: pattern `(b`: unclosed group");
    }
}
