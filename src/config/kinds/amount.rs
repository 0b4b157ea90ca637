//! Amounts: durations, sizes and plain numbers.

use std::time::Duration;

use serde::Deserialize;
use toml::Value;

use super::{Kind, expected};

/// A length of time of at least `MIN_MILLIS`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Time<const MIN_MILLIS: u64>(pub(in crate::config) Duration);

/// Milliseconds per unit, from small to large.
const TIME_UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

impl<const MIN_MILLIS: u64> TryFrom<Value> for Time<MIN_MILLIS> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let shape = "a duration such as \"200ms\", \"10s\", \"5m\", or a number of seconds";
        let wrong = || expected(shape, &value);
        let duration = match &value {
            Value::String(text) => {
                let millis = amount(text, &TIME_UNITS).ok_or_else(wrong)?;
                Duration::from_millis(millis)
            }
            Value::Integer(secs) => Duration::from_secs(u64::try_from(*secs).map_err(|_| wrong())?),
            Value::Float(secs) => Duration::try_from_secs_f64(*secs).map_err(|_| wrong())?,
            _ => return Err(wrong()),
        };
        if duration < Duration::from_millis(MIN_MILLIS) {
            return Err(format!("{value} is too short; give at least {MIN_MILLIS}ms"));
        }
        Ok(Self(duration))
    }
}

impl<const MIN_MILLIS: u64> From<Time<MIN_MILLIS>> for Value {
    fn from(time: Time<MIN_MILLIS>) -> Value {
        let millis = u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX);
        if !time.0.subsec_nanos().is_multiple_of(1_000_000) {
            return Value::Float(time.0.as_secs_f64());
        }
        Value::String(in_largest_unit(millis, &TIME_UNITS, "0s"))
    }
}

impl<const MIN_MILLIS: u64> Kind for Time<MIN_MILLIS> {
    const NAME: &'static str = "duration";
}

/// A number of bytes of at least `MIN`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Size<const MIN: u64>(pub(in crate::config) u64);

/// Bytes per unit. The binary ones come first: they are the ones sizes are written back in.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

impl<const MIN: u64> TryFrom<Value> for Size<MIN> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let shape = "a size such as \"64KiB\", \"1GiB\", \"500MB\", or a number of bytes";
        let wrong = || expected(shape, &value);
        let bytes = match &value {
            Value::String(text) => amount(text, &SIZE_UNITS).ok_or_else(wrong)?,
            Value::Integer(bytes) => u64::try_from(*bytes).map_err(|_| wrong())?,
            _ => return Err(wrong()),
        };
        if bytes < MIN {
            return Err(format!("{value} is too small; give at least {MIN} bytes"));
        }
        Ok(Self(bytes))
    }
}

impl<const MIN: u64> From<Size<MIN>> for Value {
    fn from(size: Size<MIN>) -> Value {
        Value::String(in_largest_unit(size.0, &SIZE_UNITS[..5], "0B"))
    }
}

impl<const MIN: u64> Kind for Size<MIN> {
    const NAME: &'static str = "size";
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Number<const MIN: u64, const MAX: u64>(pub(in crate::config) u64);

impl<const MIN: u64, const MAX: u64> TryFrom<Value> for Number<MIN, MAX> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
        let number = number.ok_or_else(|| expected("a whole number", &value))?;
        if number < MIN {
            return Err(format!("{number} is too small; give at least {MIN}"));
        }
        if number > MAX {
            return Err(format!("{number} is too large; give at most {MAX}"));
        }
        Ok(Self(number))
    }
}

impl<const MIN: u64, const MAX: u64> From<Number<MIN, MAX>> for Value {
    fn from(number: Number<MIN, MAX>) -> Value {
        Value::Integer(i64::try_from(number.0).unwrap_or(i64::MAX))
    }
}

impl<const MIN: u64, const MAX: u64> Kind for Number<MIN, MAX> {
    const NAME: &'static str = "number";
}

/// `digits unit` as a number of the smallest unit.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim_start()))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn in_largest_unit(number: u64, units: &[(&str, u64)], zero: &str) -> String {
    let largest = units.iter().rev().find(|(_, factor)| number.is_multiple_of(*factor));
    match largest {
        Some((unit, factor)) if number > 0 => format!("{}{unit}", number / factor),
        _ => zero.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn durations_are_texts_or_seconds() {
        for (given, text) in [
            ("'200ms'", "\"200ms\""),
            ("'1000ms'", "\"1s\""),
            ("'5 m'", "\"5m\""),
            ("600", "\"10m\""),
            ("0", "\"0s\""),
            ("1.5", "\"1500ms\""),
            ("'7d'", "\"1w\""),
        ] {
            assert_eq!(canonical::<Time<0>>(given), text, "{given}");
        }
        for bad in
            ["'10'", "'s'", "''", "-1", "'-1s'", "'1 fortnight'", "true", "'99999999999999999999s'", "nan"]
        {
            assert!(canonical::<Time<0>>(bad).starts_with("error: expected a duration"), "{bad}");
        }
        assert_eq!(canonical::<Time<1>>("0"), "error: 0 is too short; give at least 1ms");
    }

    #[test]
    fn sizes_are_texts_or_bytes() {
        for (given, text) in [
            ("'64KiB'", "\"64KiB\""),
            ("65536", "\"64KiB\""),
            ("'1 gib'", "\"1GiB\""),
            ("'1MB'", "\"1000000B\""),
            ("'12B'", "\"12B\""),
            ("0", "\"0B\""),
        ] {
            assert_eq!(canonical::<Size<0>>(given), text, "{given}");
        }
        for bad in ["'64'", "'64K'", "1.5", "-1", "'99999999TiB'"] {
            assert!(canonical::<Size<0>>(bad).starts_with("error: expected a size"), "{bad}");
        }
        assert_eq!(canonical::<Size<64>>("63"), "error: 63 is too small; give at least 64 bytes");
    }

    #[test]
    fn numbers_keep_their_bounds() {
        assert_eq!(canonical::<Number<0, 3>>("3"), "3");
        assert_eq!(canonical::<Number<0, 3>>("4"), "error: 4 is too large; give at most 3");
        assert_eq!(canonical::<Number<1, 3>>("0"), "error: 0 is too small; give at least 1");
        assert_eq!(canonical::<Number<0, 3>>("'3'"), "error: expected a whole number, found \"3\"");
        assert_eq!(canonical::<Number<0, 3>>("-3"), "error: expected a whole number, found -3");
    }
}
