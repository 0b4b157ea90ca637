//! What `seriesByTag` asks for: conditions on the tags of a series.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::error::RenderError;
use crate::model::pattern::Pattern;

/// Conditions that must all hold. Equal when written alike.
#[derive(Clone)]
pub struct TagQuery(Arc<[Condition]>);

struct Condition {
    /// As written.
    text: String,
    tag: String,
    negated: bool,
    test: Test,
}

enum Test {
    Equals(String),
    Matches(Pattern),
}

impl TagQuery {
    /// Of expressions such as `dc=east`, `dc!=east`, `dc=~ea.*` and `dc!=~ea.*`. A tag that a series does not have is
    /// empty. At least one condition must ask for a tag that is there.
    pub fn new(expressions: &[String]) -> Result<Self, RenderError> {
        let conditions =
            expressions.iter().map(|text| Condition::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if conditions.iter().all(|condition| condition.holds("")) {
            let text =
                "seriesByTag: at least one tagExpression must not match the empty string, such as name=x";
            return Err(RenderError::invalid(text));
        }
        Ok(Self(conditions.into()))
    }

    /// Does a tagged name fulfil it? A name without tags never does.
    pub fn matches(&self, name: &str) -> bool {
        let Some((metric, tags)) = name.split_once(';') else { return false };
        self.0.iter().all(|condition| {
            let of_tag = |pair: &'_ str| pair.split_once('=').is_some_and(|(tag, _)| tag == condition.tag);
            let value = match condition.tag.as_str() {
                "name" => metric.trim_start_matches('~'),
                _ => tags
                    .split(';')
                    .find(|pair| of_tag(pair))
                    .map_or("", |pair| &pair[condition.tag.len() + 1..]),
            };
            condition.holds(value)
        })
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Self, RenderError> {
        let wrong = || {
            RenderError::invalid(format!(
                "seriesByTag: invalid tagExpression `{text}`: write tag=value, tag!=value, tag=~regex or tag!=~regex"
            ))
        };
        let at = text.find([';', '!', '=']).filter(|&at| at > 0).ok_or_else(wrong)?;
        let (tag, rest) = text.split_at(at);
        let (negated, rest) = rest.strip_prefix('!').map_or((false, rest), |rest| (true, rest));
        let rest = rest.strip_prefix('=').ok_or_else(wrong)?;
        if rest.contains(';') {
            return Err(wrong());
        }
        let test = match rest.strip_prefix('~') {
            None => Test::Equals(rest.to_owned()),
            // From the start of the value, unless the expression says so itself.
            Some(regex) if regex.starts_with('^') => Test::Matches(Pattern::new(regex)?),
            Some(regex) => Test::Matches(Pattern::new(&format!("^({regex})"))?),
        };
        Ok(Self { text: text.to_owned(), tag: tag.to_owned(), negated, test })
    }

    fn holds(&self, value: &str) -> bool {
        let found = match &self.test {
            Test::Equals(wanted) => value == wanted,
            Test::Matches(pattern) => pattern.is_found(value),
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

    fn query(expressions: &[&str]) -> Result<TagQuery, RenderError> {
        TagQuery::new(&expressions.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
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
}
