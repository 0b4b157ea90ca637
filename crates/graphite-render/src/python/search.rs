//! Python's `re.search` and `re.sub`, look-around and backreferences included.
//!
//! Nearly every pattern runs on an engine whose time is linear in the text. Only what that engine cannot do runs on one that
//! backtracks, with a limit on its steps: a query may be slow, but it must come to an end.

use std::ops::Range;

use fancy_regex::RegexBuilder;
use plumbago_model::pattern::{Backtracking, Pattern, PatternError, translate};
use plumbago_model::replacement::Replacement;

/// Steps back that a search in one text may take. A name of 200 characters needs some hundreds.
const MAX_STEPS: usize = 100_000;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Search(Engine);

#[derive(Clone, Debug)]
enum Engine {
    Linear(Pattern),
    Backtracking { pattern: String, regex: fancy_regex::Regex },
}

/// A search that was given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the regular expression `{0}` takes more than {MAX_STEPS} steps back on one name; write it without nested repetitions, look-around or backreferences"
)]
pub(crate) struct TooManySteps(pub(crate) String);

impl Search {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, PatternError> {
        let linear = match Pattern::new(pattern) {
            Ok(compiled) => return Ok(Self(Engine::Linear(compiled))),
            Err(error) => error,
        };
        // What could be translated is wrong for any engine.
        if translate(pattern, Backtracking::Refused).is_ok() {
            return Err(linear);
        }
        let refuse = |reason: String| PatternError { pattern: pattern.to_owned(), reason };
        let translated = translate(pattern, Backtracking::Kept).map_err(refuse)?;
        let compiled = RegexBuilder::new(&translated).backtrack_limit(MAX_STEPS).build();
        let regex = compiled.map_err(|error| {
            let text = error.to_string();
            refuse(text.lines().last().unwrap_or_default().to_owned())
        })?;
        Ok(Self(Engine::Backtracking { pattern: pattern.to_owned(), regex }))
    }

    /// Is it found anywhere in the text?
    pub(crate) fn is_found(&self, text: &str) -> Result<bool, TooManySteps> {
        match &self.0 {
            Engine::Linear(pattern) => Ok(pattern.is_found(text)),
            Engine::Backtracking { pattern, regex } => {
                regex.is_match(text).map_err(|_| TooManySteps(pattern.clone()))
            }
        }
    }

    /// What replaces its matches.
    pub(crate) fn replacement(&self, text: &str) -> Result<Replacement, PatternError> {
        match &self.0 {
            Engine::Linear(pattern) => Replacement::new(text, pattern),
            Engine::Backtracking { regex, .. } => {
                Replacement::of_groups(text, &regex.capture_names().collect::<Vec<_>>())
            }
        }
    }

    /// The text with every match replaced.
    pub(crate) fn replace(&self, text: &str, replacement: &Replacement) -> Result<String, TooManySteps> {
        match &self.0 {
            Engine::Linear(pattern) => Ok(replacement.apply(pattern, text)),
            Engine::Backtracking { pattern, regex } => {
                let find = |at: usize| -> Result<Option<Vec<Option<Range<usize>>>>, TooManySteps> {
                    let found = regex.captures_from_pos(text, at);
                    let found = found.map_err(|_| TooManySteps(pattern.clone()))?;
                    Ok(found
                        .map(|found| found.iter().map(|group| group.map(|group| group.range())).collect()))
                };
                replacement.apply_found(text, find)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub(pattern: &str, replacement: &str, text: &str) -> String {
        let search = Search::new(pattern).unwrap();
        search.replace(text, &search.replacement(replacement).unwrap()).unwrap()
    }

    // Expected answers are CPython's own.
    #[test]
    fn what_needs_backtracking_is_found() {
        for (pattern, yes, no) in [
            ("^(?!carbon)", "servers.web", "carbon.agents"),
            (r"^a\.(?=b)", "a.b", "a.c"),
            (r"(?<=web)1", "web1", "db1"),
            (r"(?<!web)1", "db1", "web1"),
            (r"(\w)\1", "aa", "ab"),
            (r"(?P<n>a)(?P=n)", "aa", "ab"),
            (r"^(a)?(?(1)b|c)$", "ab", "ac"),
            (r"(?!x)[[a]", "[", "b"),
        ] {
            let search = Search::new(pattern).unwrap();
            assert_eq!((search.is_found(yes), search.is_found(no)), (Ok(true), Ok(false)), "{pattern}");
        }
    }

    #[test]
    fn matches_are_replaced_with_their_groups() {
        assert_eq!(sub("con(?=st)", "X", "a.const"), "a.Xst");
        assert_eq!(sub(r"(\w)\1", r"<\1>", "aabcc"), "<a>b<c>");
        assert_eq!(sub(r"(?P<n>\d)(?!\d)", r"[\g<n>]", "a12b3"), "a1[2]b[3]");
        assert_eq!(sub("(?<=a)", "-", "aba"), "a-ba-");
    }

    #[test]
    fn a_search_without_end_is_given_up() {
        let search = Search::new(r"^(a|a)*(?!a)b$").unwrap();
        let error = search.is_found(&"a".repeat(60)).unwrap_err().to_string();
        assert!(error.contains("more than 100000 steps"), "{error}");
    }

    #[test]
    fn what_no_engine_knows_is_refused() {
        for (pattern, part) in
            [("a(b", "unclosed group"), ("(?=a(b", ""), ("(?>a)", "atomic"), (r"(?=a)\0", "octal")]
        {
            let error = Search::new(pattern).unwrap_err();
            assert!(error.pattern == pattern && !error.reason.is_empty(), "{error}");
            assert!(error.reason.contains(part), "{error}");
        }
    }
}
