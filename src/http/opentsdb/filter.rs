//! Which series of a metric are wanted, and by which of their tags they are grouped.

use regex::{Regex, RegexBuilder};

use crate::http::Wanted;

/// Bytes that the automaton of a pattern may take.
const PATTERN_BYTES: usize = 1 << 20;

/// A condition on one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) key: String,
    /// `literal_or`, `wildcard` and so on.
    pub(super) kind: String,
    pub(super) text: String,
    /// Does each value have a result of its own?
    pub(super) group_by: bool,
}

impl Filter {
    /// The filter in `host=…`: a value, several, a wildcard, or `kind(text)`.
    pub(super) fn of_tag(key: &str, value: &str, group_by: bool) -> Self {
        let inner = value.strip_suffix(')').and_then(|value| value.split_once('('));
        let (kind, text) = match inner {
            Some((kind, text)) => (kind, text),
            None if value.contains('*') => ("wildcard", value),
            None => ("literal_or", value),
        };
        Self { key: key.to_owned(), kind: kind.to_ascii_lowercase(), text: text.to_owned(), group_by }
    }

    /// Those of some series that it lets through.
    pub(super) fn narrow(&self, wanted: Wanted) -> Result<Wanted, String> {
        let key = &self.key;
        if key.is_empty() {
            return Err("a filter has no tag: send {\"tagk\": …}".to_owned());
        }
        if self.text.is_empty() && self.kind != "not_key" {
            return Err(format!("the filter of `{key}` has no value"));
        }
        let values = || self.text.split('|').filter(|value| !value.is_empty());
        Ok(match self.kind.as_str() {
            "literal_or" => wanted.one_of(key, values()),
            "not_literal_or" => wanted.present(key).none_of(key, values()),
            "iliteral_or" => wanted.matching(key, pattern(&alternatives(values()), true)?),
            "not_iliteral_or" => {
                let folded: Vec<String> = values().map(str::to_lowercase).collect();
                let other = move |value: &str| !folded.iter().any(|known| *known == value.to_lowercase());
                wanted.testing(key, other)
            }
            "wildcard" | "iwildcard" if self.text == "*" => wanted.present(key),
            "wildcard" => wanted.matching(key, pattern(&wildcard(&self.text), false)?),
            "iwildcard" => wanted.matching(key, pattern(&wildcard(&self.text), true)?),
            "regexp" => wanted.matching(key, pattern(&self.text, false)?),
            "not_key" => wanted.absent(key),
            other => {
                return Err(format!(
                    "the filter `{other}` is not known; use literal_or, iliteral_or, not_literal_or, not_iliteral_or, wildcard, \
                     iwildcard, regexp or not_key"
                ));
            }
        })
    }
}

fn alternatives<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let values: Vec<String> = values.map(regex::escape).collect();
    format!("^(?:{})$", values.join("|"))
}

fn wildcard(text: &str) -> String {
    let parts: Vec<String> = text.split('*').map(regex::escape).collect();
    format!("^{}$", parts.join(".*"))
}

fn pattern(text: &str, any_case: bool) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).case_insensitive(any_case).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| format!("`{text}` is no pattern: {error}"))
}
