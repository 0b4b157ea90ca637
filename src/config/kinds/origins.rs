//! Lists of origins.

use serde::Deserialize;
use toml::Value;

use super::super::PageOrigins;
use super::{Kind, expected};

/// Origins, `*`, or none.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct OriginList(pub(in crate::config) PageOrigins);

impl TryFrom<Value> for OriginList {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let texts: Option<Vec<String>> = match &value {
            // A single string may be a list of one, or several separated by commas: easier on a command line.
            Value::String(text) if text.is_empty() => Some(Vec::new()),
            Value::String(text) => Some(text.split(',').map(|t| t.trim().to_owned()).collect()),
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let texts = texts.ok_or_else(|| expected("a list such as [\"https://grafana.example\"]", &value))?;
        PageOrigins::parse(&texts).map(Self).map_err(|error| error.to_string())
    }
}

impl From<OriginList> for Value {
    fn from(list: OriginList) -> Value {
        let texts = match list.0 {
            PageOrigins::Any => vec!["*".to_owned()],
            PageOrigins::These(texts) => texts,
        };
        Value::Array(texts.into_iter().map(Value::String).collect())
    }
}

impl Kind for OriginList {
    const NAME: &'static str = "list of origins";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn origins_may_be_none_some_or_all() {
        assert_eq!(canonical::<OriginList>("[]"), "[]");
        assert_eq!(canonical::<OriginList>("''"), "[]");
        assert_eq!(canonical::<OriginList>("'*'"), "[\"*\"]");
        assert_eq!(canonical::<OriginList>("'http://a, https://b:1'"), "[\"http://a\", \"https://b:1\"]");
        assert!(canonical::<OriginList>("['a']").contains("`a` is not an origin"));
        assert!(canonical::<OriginList>("3").contains("a list such as"));
    }
}
