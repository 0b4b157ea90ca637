//! An amount of memory: a size, or a share of what this machine has.

use serde::Deserialize;
use toml::Value;

use super::super::machine;
use super::{Kind, Size, expected};

/// The least that queries can live on.
const MIN: u64 = 16 << 20;

/// A size, or a percentage of this machine's memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) enum Memory {
    Size(Size<MIN>),
    Percent(u64),
}

impl Memory {
    /// In bytes.
    pub(in crate::config) fn bytes(&self) -> u64 {
        match self {
            Memory::Size(size) => size.0,
            Memory::Percent(percent) => machine::share(*percent).max(MIN),
        }
    }
}

impl TryFrom<Value> for Memory {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Some(text) = value.as_str().and_then(|text| text.strip_suffix('%')) else {
            let shape = "a size such as \"1GiB\", or a share of this machine's memory such as \"25%\"";
            return match Size::try_from(value.clone()) {
                Err(wrong) if wrong.starts_with("expected") => Err(expected(shape, &value)),
                size => size.map(Memory::Size),
            };
        };
        let percent = text.trim().parse().ok().filter(|percent| (1..=100).contains(percent));
        percent.map(Memory::Percent).ok_or_else(|| expected("a percentage from 1% to 100%", &value))
    }
}

impl From<Memory> for Value {
    fn from(memory: Memory) -> Value {
        match memory {
            Memory::Size(size) => size.into(),
            Memory::Percent(percent) => Value::String(format!("{percent}%")),
        }
    }
}

impl Kind for Memory {
    const NAME: &'static str = "size or percentage";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn it_is_a_size_or_a_percentage() {
        for (given, text) in [("'1GiB'", "\"1GiB\""), ("'25%'", "\"25%\""), ("' 5 %'", "\"5%\"")] {
            assert_eq!(canonical::<Memory>(given), text, "{given}");
        }
        for bad in ["'0%'", "'101%'", "'%'", "'a%'"] {
            assert!(canonical::<Memory>(bad).contains("from 1% to 100%"), "{bad}");
        }
        assert!(canonical::<Memory>("'much'").contains("\"25%\", found \"much\""));
        assert!(canonical::<Memory>("'1MiB'").contains("too small"));
    }

    #[test]
    fn a_share_is_never_too_small_to_live_on() {
        let share = |percent| Memory::Percent(percent).bytes();
        assert!(share(100) >= share(25) && share(25) >= MIN);
    }
}
