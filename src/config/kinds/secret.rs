//! Texts that are not shown.

use serde::Deserialize;
use toml::Value;

use super::super::Secret;
use super::Kind;

/// A password, where empty means none.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct MaybeSecret(pub(in crate::config) Option<Secret>);

impl TryFrom<Value> for MaybeSecret {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text.is_empty() => Ok(Self(None)),
            Value::String(text) => Ok(Self(Some(Secret::new(text)))),
            // What was found may well be the password.
            _ => Err("expected text in quotes".to_owned()),
        }
    }
}

impl From<MaybeSecret> for Value {
    fn from(secret: MaybeSecret) -> Value {
        Value::String(secret.0.map_or_else(String::new, |secret| secret.reveal().to_owned()))
    }
}

impl Kind for MaybeSecret {
    const NAME: &'static str = "text";
    const IS_SECRET: bool = true;
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn a_wrong_secret_is_not_repeated() {
        assert_eq!(canonical::<MaybeSecret>("'x'"), "\"x\"");
        assert_eq!(canonical::<MaybeSecret>("''"), "\"\"");
        assert_eq!(canonical::<MaybeSecret>("12345"), "error: expected text in quotes");
        assert_eq!(format!("{:?}", MaybeSecret::try_from(Value::from("x"))), "Ok(MaybeSecret(Some(Secret)))");
    }
}
