//! Choices: on or off, this or that.

use serde::Deserialize;
use toml::Value;

use super::super::{CassandraIndex, ConsistencyLevel};
use super::{Kind, expected};
use plumbago_model::Role;

/// Yes or no.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Switch(pub(in crate::config) bool);

impl TryFrom<Value> for Switch {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        value.as_bool().map(Self).ok_or_else(|| expected("true or false", &value))
    }
}

impl From<Switch> for Value {
    fn from(switch: Switch) -> Value {
        Value::Boolean(switch.0)
    }
}

impl Kind for Switch {
    const NAME: &'static str = "true or false";
}

/// Which store.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) enum StoreChoice {
    /// On this machine's disk.
    Embedded,
    /// In a cluster.
    Cassandra,
}

impl TryFrom<Value> for StoreChoice {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.as_str() {
            Some("embedded") => Ok(StoreChoice::Embedded),
            Some("cassandra") => Ok(StoreChoice::Cassandra),
            _ => Err(expected(Self::NAME, &value)),
        }
    }
}

impl From<StoreChoice> for Value {
    fn from(choice: StoreChoice) -> Value {
        let name = match choice {
            StoreChoice::Embedded => "embedded",
            StoreChoice::Cassandra => "cassandra",
        };
        Value::String(name.to_owned())
    }
}

impl Kind for StoreChoice {
    const NAME: &'static str = "\"embedded\" or \"cassandra\"";
}

/// A role, or the one that fits.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct RoleChoice(pub(in crate::config) Option<Role>);

impl TryFrom<Value> for RoleChoice {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.as_str() {
            Some("auto") => Ok(Self(None)),
            text => text
                .and_then(|text| text.parse().ok())
                .map(|role| Self(Some(role)))
                .ok_or_else(|| expected("\"auto\", \"none\", \"read\", \"write\" or \"admin\"", &value)),
        }
    }
}

impl From<RoleChoice> for Value {
    fn from(choice: RoleChoice) -> Value {
        Value::String(choice.0.map_or("auto", Role::name).to_owned())
    }
}

impl Kind for RoleChoice {
    const NAME: &'static str = "role or \"auto\"";
}

/// How globs are looked up in Cassandra.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct IndexChoice(pub(in crate::config) CassandraIndex);

impl TryFrom<Value> for IndexChoice {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let index =
            value.as_str().and_then(|text| CassandraIndex::ALL.into_iter().find(|i| i.name() == text));
        index.map(Self).ok_or_else(|| expected("\"memory\", \"sasi\" or \"sai\"", &value))
    }
}

impl From<IndexChoice> for Value {
    fn from(choice: IndexChoice) -> Value {
        Value::String(choice.0.name().to_owned())
    }
}

impl Kind for IndexChoice {
    const NAME: &'static str = "\"memory\", \"sasi\" or \"sai\"";
}

/// How many replicas must answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct ConsistencyChoice(pub(in crate::config) ConsistencyLevel);

impl TryFrom<Value> for ConsistencyChoice {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let named = |text: &str| {
            ConsistencyLevel::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(text))
        };
        value.as_str().and_then(named).map(Self).ok_or_else(|| {
            let names = ConsistencyLevel::ALL.map(ConsistencyLevel::name).join(", ");
            expected(format!("one of {names}"), &value)
        })
    }
}

impl From<ConsistencyChoice> for Value {
    fn from(choice: ConsistencyChoice) -> Value {
        Value::String(choice.0.name().to_owned())
    }
}

impl Kind for ConsistencyChoice {
    const NAME: &'static str = "consistency level";
}

/// Fourteen bits, except for the last number, which is reserved for copies.
const WRITERS: u16 = (1 << 14) - 1;

/// A writer's number, or let the server choose one.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct WriterId(pub(in crate::config) Option<u16>);

impl TryFrom<Value> for WriterId {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = value.as_integer().and_then(|n| u16::try_from(n).ok()).filter(|&n| n < WRITERS);
        match value.as_str() {
            Some("auto") => Ok(Self(None)),
            _ => number.map(|n| Self(Some(n))).ok_or_else(|| expected("\"auto\" or 0 to 16382", &value)),
        }
    }
}

impl From<WriterId> for Value {
    fn from(writer: WriterId) -> Value {
        writer.0.map_or_else(|| Value::String("auto".to_owned()), |n| Value::Integer(n.into()))
    }
}

impl Kind for WriterId {
    const NAME: &'static str = "\"auto\" or number";
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn choices_name_what_can_be_chosen() {
        assert_eq!(canonical::<Switch>("true"), "true");
        assert!(canonical::<Switch>("'yes'").contains("true or false"));
        assert_eq!(canonical::<StoreChoice>("'cassandra'"), "\"cassandra\"");
        assert_eq!(
            canonical::<StoreChoice>("'disk'"),
            "error: expected \"embedded\" or \"cassandra\", found \"disk\""
        );
        for index in ["memory", "sasi", "sai"] {
            assert_eq!(canonical::<IndexChoice>(&format!("'{index}'")), format!("\"{index}\""));
        }
        assert!(canonical::<IndexChoice>("'lucene'").contains("\"memory\", \"sasi\" or \"sai\""));
        assert_eq!(canonical::<ConsistencyChoice>("'local_quorum'"), "\"LOCAL_QUORUM\"");
        assert!(canonical::<ConsistencyChoice>("'SOME'").contains("one of ONE, TWO"));
        for role in ["auto", "none", "read", "write", "admin"] {
            assert_eq!(canonical::<RoleChoice>(&format!("'{role}'")), format!("\"{role}\""));
        }
        assert!(canonical::<RoleChoice>("'root'").contains("\"auto\", \"none\", \"read\""));
        assert_eq!(canonical::<WriterId>("16382"), "16382");
        assert_eq!(canonical::<WriterId>("'auto'"), "\"auto\"");
        assert!(canonical::<WriterId>("16383").contains("0 to 16382"));
    }
}
