//! When a metric without new points is forgotten.

use serde::Deserialize;
use toml::Value;

use super::super::ForgetAfter;
use super::{Kind, Time, expected};

/// `"retention"`, `"off"` or a duration.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct ForgetTime(pub(in crate::config) ForgetAfter);

impl TryFrom<Value> for ForgetTime {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.as_str() {
            Some("retention" | "") => return Ok(Self(ForgetAfter::Retention)),
            Some("off") => return Ok(Self(ForgetAfter::Never)),
            _ => {}
        }
        let wrong = |_| expected("\"retention\", \"off\" or a duration such as \"90d\"", &value);
        let time = Time::<0>::try_from(value.clone()).map_err(wrong)?.0;
        Ok(Self(if time.is_zero() { ForgetAfter::Never } else { ForgetAfter::Time(time) }))
    }
}

impl From<ForgetTime> for Value {
    fn from(forget: ForgetTime) -> Value {
        match forget.0 {
            ForgetAfter::Retention => Value::String("retention".to_owned()),
            ForgetAfter::Never => Value::String("off".to_owned()),
            ForgetAfter::Time(time) => Time::<0>(time).into(),
        }
    }
}

impl Kind for ForgetTime {
    const NAME: &'static str = "\"retention\", \"off\" or duration";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn it_is_the_retention_a_time_or_never() {
        for (given, text) in [
            ("'retention'", "\"retention\""),
            ("''", "\"retention\""),
            ("'off'", "\"off\""),
            ("0", "\"off\""),
            ("'90d'", "\"90d\""),
        ] {
            assert_eq!(canonical::<ForgetTime>(given), text, "{given}");
        }
        assert!(canonical::<ForgetTime>("'never'").contains("\"off\" or a duration such as \"90d\", found"));
    }
}
