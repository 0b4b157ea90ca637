//! What `seriesByTag` and `/tags` ask for: conditions on the tags of a series.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::python::search::{Search, TooManySteps};
use plumbago_model::name;
use plumbago_model::{TagCondition, TagWish};

/// Conditions that must all hold. Equal when written alike.
#[derive(Clone)]
pub struct TagQuery(Arc<[Condition]>);

/// Why tags cannot be asked for in this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagQueryError {
    /// Not an expression at all.
    #[error("invalid tag expression `{0}`: write tag=value, tag!=value, tag=~regex or tag!=~regex")]
    Expression(String),
    /// A regular expression that cannot be used; the text says why.
    #[error("{0}")]
    Regex(String),
    /// Nothing that a series must have.
    #[error("at least one tag expression must not match the empty string, such as name=x")]
    Unbounded,
}

struct Condition {
    /// As written.
    text: String,
    tag: String,
    negated: bool,
    test: Test,
    /// Did a value take too many steps? The answer lacks something then.
    gave_up: AtomicBool,
}

enum Test {
    Equals(String),
    Matches {
        pattern: Search,
        /// What every text begins with that it matches.
        prefix: String,
    },
}

impl TagQuery {
    /// Of expressions such as `dc=east`, `dc!=east`, `dc=~ea.*` and `dc!=~ea.*`. A tag that a series does not have is
    /// empty. At least one condition must ask for a tag that is there.
    pub fn new<S: AsRef<str>>(expressions: &[S]) -> Result<Self, TagQueryError> {
        let conditions: Result<Vec<_>, _> =
            expressions.iter().map(|text| Condition::parse(text.as_ref())).collect();
        let conditions = conditions?;
        if conditions.iter().all(|condition| condition.holds("")) {
            return Err(TagQueryError::Unbounded);
        }
        Ok(Self(conditions.into()))
    }

    /// The conditions, for an index.
    pub fn conditions(&self) -> Vec<&dyn TagCondition> {
        self.0.iter().map(|condition| condition as &dyn TagCondition).collect()
    }

    /// To be asked after the conditions were used: an error if one of them took too long on a value and was given up.
    pub fn check(&self) -> Result<(), TagQueryError> {
        match self.0.iter().find(|condition| condition.gave_up.load(Ordering::Relaxed)) {
            Some(condition) => Err(TagQueryError::Regex(TooManySteps(condition.text.clone()).to_string())),
            None => Ok(()),
        }
    }

    /// Does a tagged name fulfil it? A name without tags never does.
    pub fn matches(&self, name: &str) -> bool {
        name::is_tagged(name)
            && self.0.iter().all(|condition| condition.holds(name::tag(name, &condition.tag)))
    }
}

/// The text as a regular expression that must match from the start of a value: unless it says so itself. A value on which
/// that takes too long does not match.
pub fn anchored(regex: &str) -> Result<impl Fn(&str) -> bool + use<>, TagQueryError> {
    let pattern = anchored_pattern(regex)?;
    Ok(move |text: &str| pattern.is_found(text).unwrap_or(false))
}

/// As graphite-web does it, in a group that counts: a backreference to the first group of the text is `\2`.
fn anchored_pattern(regex: &str) -> Result<Search, TagQueryError> {
    let text = if regex.starts_with('^') { regex.to_owned() } else { format!("^({regex})") };
    Search::new(&text).map_err(|error| {
        TagQueryError::Regex(format!(
            "the regular expression `{}` cannot be used: {}",
            error.pattern, error.reason
        ))
    })
}

/// The plain text that a regular expression begins with, as far as that is easily seen.
fn literal_prefix(regex: &str) -> String {
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    // Another branch may begin otherwise, and a flag may change what letters mean.
    if regex.contains(['|', '(']) {
        return String::new();
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '/' | ',');
    let end = regex.find(|c| !plain(c)).unwrap_or(regex.len());
    let (mut prefix, rest) = (regex[..end].to_owned(), &regex[end..]);
    // What may be repeated may be missing.
    if rest.starts_with(['*', '?', '{']) {
        prefix.pop();
    }
    prefix
}

impl Condition {
    fn parse(text: &str) -> Result<Self, TagQueryError> {
        let wrong = || TagQueryError::Expression(text.to_owned());
        let at = text.find([';', '!', '=']).filter(|&at| at > 0).ok_or_else(wrong)?;
        let (tag, rest) = text.split_at(at);
        let (negated, rest) = rest.strip_prefix('!').map_or((false, rest), |rest| (true, rest));
        let rest = rest.strip_prefix('=').ok_or_else(wrong)?;
        if rest.contains(';') {
            return Err(wrong());
        }
        let test = match rest.strip_prefix('~') {
            None => Test::Equals(rest.to_owned()),
            Some(regex) => Test::Matches { pattern: anchored_pattern(regex)?, prefix: literal_prefix(regex) },
        };
        let gave_up = AtomicBool::new(false);
        Ok(Self { text: text.to_owned(), tag: tag.to_owned(), negated, test, gave_up })
    }
}

impl TagCondition for Condition {
    fn tag(&self) -> &str {
        &self.tag
    }

    fn wanted(&self) -> TagWish<'_> {
        match (&self.test, self.negated) {
            (Test::Equals(value), false) if value.is_empty() => TagWish::Absent,
            (Test::Equals(value), true) if value.is_empty() => TagWish::Present,
            (Test::Equals(value), false) => TagWish::Is(value),
            (Test::Equals(value), true) => TagWish::IsNot(value),
            (Test::Matches { prefix, .. }, _) => TagWish::Tested { prefix },
        }
    }

    fn holds(&self, value: &str) -> bool {
        let found = match &self.test {
            Test::Equals(wanted) => value == wanted,
            // One value is enough to give the query up, so the others cost nothing more.
            Test::Matches { .. } if self.gave_up.load(Ordering::Relaxed) => return false,
            Test::Matches { pattern, .. } => match pattern.is_found(value) {
                Ok(found) => found,
                Err(TooManySteps(_)) => {
                    self.gave_up.store(true, Ordering::Relaxed);
                    return false;
                }
            },
        };
        found != self.negated
    }
}

impl TagQuery {
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|condition| condition.text.as_str())
    }
}

impl PartialEq for TagQuery {
    fn eq(&self, other: &Self) -> bool {
        self.texts().eq(other.texts())
    }
}

impl Eq for TagQuery {}

impl Hash for TagQuery {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.texts().for_each(|text| text.hash(state));
    }
}

impl std::fmt::Debug for TagQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.texts()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(expressions: &[&str]) -> Result<TagQuery, TagQueryError> {
        TagQuery::new(expressions)
    }

    #[test]
    fn conditions_hold_for_tags_and_for_those_that_are_not_there() {
        for (expressions, name, expected) in [
            (&["dc=east"][..], "cpu;dc=east;host=a", true),
            (&["dc=east"], "cpu;dc=eastern", false),
            (&["dc=east"], "cpu;adc=east", false),
            (&["name=cpu", "dc!=east"], "cpu;dc=west", true),
            (&["name=cpu", "dc!=east"], "cpu;host=a", true),
            (&["dc=~ea"], "cpu;dc=east", true),
            (&["dc=~st"], "cpu;dc=east", false),
            (&["dc=~a|st"], "cpu;dc=east", false),
            (&["dc=~^e.*t$"], "cpu;dc=east", true),
            (&["name=cpu", "dc!=~ea"], "cpu;dc=east", false),
            (&["name=cpu", "dc="], "cpu;host=a", true),
            (&["dc!="], "cpu;host=a", false),
            (&["name=cpu"], "cpu", false),
            (&["name=cpu"], "cpu;broken", false),
            (&["dc=~ea|we"], "cpu;dc=west", true),
            (&["a=b=c"], "cpu;a=b=c", true),
        ] {
            assert_eq!(query(expressions).unwrap().matches(name), expected, "{expressions:?} {name}");
        }
    }

    #[test]
    fn what_cannot_be_asked() {
        for (expressions, part) in [
            (&["dc"][..], "`dc`"),
            (&["=east"], "`=east`"),
            (&["dc!east"], "`dc!east`"),
            (&["a;b=c"], "`a;b=c`"),
            (&["a=c;d"], "`a=c;d`"),
            (&["dc=~("], "regular expression `^(()`"),
            (&["dc!=east"], "must not match the empty string"),
            (&["dc=", "host=~.*"], "must not match the empty string"),
            (&[], "must not match the empty string"),
        ] {
            let error = query(expressions).unwrap_err().to_string();
            assert!(error.contains(part), "{expressions:?}: {error}");
        }
        assert_eq!(query(&["a=b"]).unwrap(), query(&["a=b"]).unwrap());
        assert_ne!(query(&["a=b"]).unwrap(), query(&["a=c"]).unwrap());
        assert_eq!(format!("{:?}", query(&["a=b"]).unwrap()), "[\"a=b\"]");
    }

    #[test]
    fn the_start_of_a_regular_expression_narrows_the_search() {
        for (regex, prefix) in [
            ("web-1.*", "web-1"),
            ("^web$", "web"),
            ("webs?", "web"),
            ("web*", "we"),
            ("web{0}", "we"),
            ("web+", "web"),
            ("web|db", ""),
            ("(web)", ""),
            ("(?i)web", ""),
            ("[w]eb", ""),
            (r"\dweb", ""),
            ("ü*", ""),
            ("", ""),
        ] {
            assert_eq!(literal_prefix(regex), prefix, "{regex}");
        }
    }

    #[test]
    fn filters_match_from_the_start() {
        let matches = |regex, text| anchored(regex).unwrap()(text);
        assert!(matches("b|a", "abc") && matches("^a", "abc") && !matches("b", "abc") && matches("", "abc"));
        assert!(anchored("(").is_err());
    }

    proptest! {
        /// Whatever is found begins with the prefix.
        #[test]
        fn no_match_begins_otherwise(regex in "[ab.*+?|()\\[\\]{}1,^$\\\\-]{0,8}", value in "[ab1-]{0,6}") {
            if let Ok(found) = anchored(&regex)
                && found(&value)
            {
                prop_assert!(value.starts_with(&literal_prefix(&regex)), "{} {}", regex, value);
            }
        }
    }
}
