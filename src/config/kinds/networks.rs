//! Lists of addresses and networks.

use serde::Deserialize;
use toml::Value;

use super::super::Addresses;
use super::{Kind, expected};

/// Addresses and networks, or none.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct AddressList(pub(in crate::config) Addresses);

impl TryFrom<Value> for AddressList {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let texts: Option<Vec<&str>> = match &value {
            // A single string may be a list of one, or several separated by commas: easier on a command line.
            Value::String(text) if text.is_empty() => Some(Vec::new()),
            Value::String(text) => Some(text.split(',').map(str::trim).collect()),
            Value::Array(items) => items.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let texts =
            texts.ok_or_else(|| expected("a list such as [\"10.0.0.0/8\", \"192.0.2.7\"]", &value))?;
        let networks = texts.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self(Addresses::new(networks)))
    }
}

impl From<AddressList> for Value {
    fn from(list: AddressList) -> Value {
        Value::Array(list.0.iter().map(|network| Value::String(network.to_string())).collect())
    }
}

impl Kind for AddressList {
    const NAME: &'static str = "list of addresses";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn addresses_may_be_none_or_some() {
        assert_eq!(canonical::<AddressList>("[]"), "[]");
        assert_eq!(canonical::<AddressList>("''"), "[]");
        assert_eq!(canonical::<AddressList>("'10.0.0.0/8, ::1'"), "[\"10.0.0.0/8\", \"::1\"]");
        assert!(canonical::<AddressList>("['a']").contains("`a` is not an address"));
        assert!(canonical::<AddressList>("3").contains("a list such as"));
    }
}
