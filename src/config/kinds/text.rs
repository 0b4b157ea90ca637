//! Texts: plain ones, lists, and those with a grammar of their own.

use serde::Deserialize;
use toml::Value;

use super::{Kind, expected};
use plumbago_model::Retention;

/// Any text that is not empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Text(pub(in crate::config) String);

impl TryFrom<Value> for Text {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) if !text.is_empty() => Ok(Self(text)),
            other => Err(expected("text that is not empty", &other)),
        }
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::String(text.0)
    }
}

impl Kind for Text {
    const NAME: &'static str = "text";
}

/// The name of a keyspace. It is part of statements, so only letters that need no quotes are allowed.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Keyspace(pub(in crate::config) String);

impl TryFrom<Value> for Keyspace {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let plain = |text: &&str| {
            let mut bytes = text.bytes();
            let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            text.len() <= 48 && bytes.next().is_some_and(|b| b.is_ascii_lowercase()) && bytes.all(rest)
        };
        let text = value.as_str().filter(plain).map(str::to_owned);
        text.map(Self)
            .ok_or_else(|| expected("a keyspace of up to 48 letters a-z, digits and underscores", &value))
    }
}

impl From<Keyspace> for Value {
    fn from(keyspace: Keyspace) -> Value {
        Value::String(keyspace.0)
    }
}

impl Kind for Keyspace {
    const NAME: &'static str = "keyspace";
}

/// Text, where empty means none.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct MaybeText(pub(in crate::config) Option<String>);

impl TryFrom<Value> for MaybeText {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self(Some(text).filter(|t| !t.is_empty()))),
            other => Err(expected("text", &other)),
        }
    }
}

impl From<MaybeText> for Value {
    fn from(text: MaybeText) -> Value {
        Value::String(text.0.unwrap_or_default())
    }
}

impl Kind for MaybeText {
    const NAME: &'static str = "text";
}

/// Several texts, none of them empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct TextList(pub(in crate::config) Vec<String>);

impl TryFrom<Value> for TextList {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let wrong = || expected("a list of texts such as [\"a\", \"b\"]", &value);
        let items = match &value {
            // A single string may be a list of one, or several separated by commas: easier on a command line.
            Value::String(text) => text.split(',').map(|t| t.trim().to_owned()).collect(),
            Value::Array(items) => items
                .iter()
                .map(|i| i.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        if items.is_empty() || items.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Self(items))
    }
}

impl From<TextList> for Value {
    fn from(list: TextList) -> Value {
        Value::Array(list.0.into_iter().map(Value::String).collect())
    }
}

impl Kind for TextList {
    const NAME: &'static str = "list of texts";
}

/// Carbon's retention list, kept as it was written.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Retentions {
    text: String,
    pub(in crate::config) parsed: Retention,
}

impl TryFrom<Value> for Retentions {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => match text.parse() {
                Ok(parsed) => Ok(Self { text, parsed }),
                Err(error) => Err(format!("`{text}`: {error}")),
            },
            other => Err(expected("a retention list such as \"10s:1d,1m:30d\"", &other)),
        }
    }
}

impl From<Retentions> for Value {
    fn from(retentions: Retentions) -> Value {
        Value::String(retentions.text)
    }
}

impl Kind for Retentions {
    const NAME: &'static str = "retention list";
}

/// The tables of `[[retention.rule]]` as written; [`super::super::inline_rule`] reads them.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct RuleTables(Value);

impl TryFrom<Value> for RuleTables {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Ok(Self(value))
    }
}

impl From<RuleTables> for Value {
    fn from(rules: RuleTables) -> Value {
        rules.0
    }
}

impl Kind for RuleTables {
    const NAME: &'static str = "list of rules";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn texts_and_lists() {
        assert_eq!(canonical::<Text>("'UTC'"), "\"UTC\"");
        assert!(canonical::<Text>("''").contains("not empty"));
        assert_eq!(canonical::<MaybeText>("''"), "\"\"");
        assert!(canonical::<MaybeText>("3").contains("expected text"));
        assert_eq!(canonical::<Keyspace>("'big_graphite2'"), "\"big_graphite2\"");
        for bad in ["''", "'2a'", "'A'", "'a b'", "'a;drop'", "3"] {
            assert!(canonical::<Keyspace>(bad).contains("expected a keyspace"), "{bad}");
        }
        assert_eq!(canonical::<TextList>("['a', 'b']"), "[\"a\", \"b\"]");
        assert_eq!(canonical::<TextList>("'a, b'"), "[\"a\", \"b\"]");
        for bad in ["[]", "[1]", "['']", "''", "3"] {
            assert!(canonical::<TextList>(bad).contains("list of texts"), "{bad}");
        }
    }

    #[test]
    fn retentions_keep_their_text() {
        assert_eq!(canonical::<Retentions>("'10s:1d,1m:30d'"), "\"10s:1d,1m:30d\"");
        assert!(canonical::<Retentions>("'10s'").contains("`10s` is not `precision:length`"));
        assert!(canonical::<Retentions>("10").contains("expected a retention list"));
    }
}
