//! The kinds of values a key can have: what may be written, and how it is written back.
//!
//! Each kind is made from a TOML value by `TryFrom` and turns into its canonical TOML value again; the error is the rest
//! of a sentence that starts with the key.

mod amount;
mod choice;
mod forget;
mod listener;
mod memory;
mod networks;
mod origins;
mod path;
mod secret;
mod text;

use std::fmt;

use toml::Value;

pub(in crate::config) use amount::{Number, Size, Time};
pub(in crate::config) use choice::{
    ConsistencyChoice, IndexChoice, RoleChoice, StoreChoice, Switch, WriterId,
};
pub(in crate::config) use forget::ForgetTime;
pub(in crate::config) use listener::Listener;
pub(in crate::config) use memory::Memory;
pub(in crate::config) use networks::AddressList;
pub(in crate::config) use origins::OriginList;
pub(in crate::config) use path::{FilePath, MaybePath};
pub(in crate::config) use secret::MaybeSecret;
pub(in crate::config) use text::{Keyspace, MaybeText, Retentions, RuleTables, Text, TextList};

/// A kind of value.
pub(in crate::config) trait Kind: TryFrom<Value, Error = String> + Into<Value> {
    /// Its name in the documentation.
    const NAME: &'static str;
    /// Relative values are relative to the file that contains them.
    const IS_PATH: bool = false;
    /// Values must not be shown.
    const IS_SECRET: bool = false;

    /// Checks a value and returns its canonical form.
    fn canonical(value: Value) -> Result<Value, String> {
        Self::try_from(value).map(Into::into)
    }
}

/// The text of "I wanted this and got that".
fn expected(what: impl fmt::Display, found: &Value) -> String {
    format!("expected {what}, found {found}")
}

/// What a kind makes of a TOML value, as text: for the tests of the kinds.
#[cfg(test)]
fn canonical<K: Kind>(toml: &str) -> String {
    let table: toml::Table = format!("v = {toml}").parse().unwrap();
    K::canonical(table["v"].clone()).map_or_else(|e| format!("error: {e}"), |v| v.to_string())
}
