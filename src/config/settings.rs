//! The combined layers: for every key, the value in force and where it was set.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::inline_rule::{self, InlineRules};
use super::keys::{self, KEYS, Key};
use super::raw::Raw;
use super::{ConfigError, Origin};
use super::{Quota, inline_quota};

/// The key whose value is a list of rules rather than something plain.
const RULES: &str = "retention.rule";

/// The key whose value is a list of quotas.
const QUOTAS: &str = "quota";

/// A key, its value and where it was set.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Which key.
    pub key: &'static Key,
    /// In canonical form: a path from a file is already relative to the working directory.
    pub value: Value,
    /// Who set it.
    pub origin: Origin,
}

/// A setting for every key.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In the order of [`KEYS`].
    list: Vec<Setting>,
    /// What `retention.rule` says.
    pub(super) rules: InlineRules,
    /// What `quota` says.
    pub(super) quotas: Vec<Quota>,
}

/// Where the values of one layer come from.
pub(super) struct Layer<'a> {
    /// The place of a range of bytes in the layer's text.
    pub(super) place: &'a dyn Fn(Range<usize>) -> Origin,
    /// What relative paths are relative to; `None` means the working directory.
    pub(super) base: Option<&'a Path>,
}

impl Settings {
    /// Nothing set. Carbon's files are expected in `beside`.
    pub(super) fn defaults(beside: Option<&Path>) -> Self {
        let list = KEYS.iter().map(|key| {
            let value = key.default_value();
            let value = if key.section == "retention" && key.is_path { rebase(value, beside) } else { value };
            Setting { key, value, origin: Origin::Default }
        });
        Self { list: list.collect(), rules: InlineRules::default(), quotas: Vec::new() }
    }

    /// Every setting, in the order of [`KEYS`].
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.list.iter()
    }

    /// The setting of `section.key`.
    pub fn get(&self, path: &str) -> Option<&Setting> {
        self.list.get(keys::position(path)?)
    }

    /// Who set `section.key`.
    pub fn origin(&self, path: &str) -> Origin {
        self.get(path).map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// Sets a key that exists; `at` is its place in [`KEYS`].
    pub(super) fn assign(
        &mut self,
        at: usize,
        given: Spanned<DeValue<'_>>,
        layer: &Layer<'_>,
    ) -> Result<(), ConfigError> {
        let (Some(key), Some(slot)) = (KEYS.get(at), self.list.get_mut(at)) else { return Ok(()) };
        let origin = (layer.place)(given.span());
        let refuse = |message| ConfigError::BadValue { at: origin.clone(), key: key.to_string(), message };
        match &*key.to_string() {
            RULES => self.rules = inline_rule::read(&given, layer.place)?,
            QUOTAS => self.quotas = inline_quota::read(&given, layer.place)?,
            _ => {}
        }
        let value =
            Value::deserialize(ValueDeserializer::from(given)).map_err(|e| refuse(e.message().to_owned()))?;
        let value = (key.canonical)(value).map_err(refuse)?;
        let value = if key.is_path { rebase(value, layer.base) } else { value };
        *slot = Setting { key, value, origin };
        Ok(())
    }

    /// Sets a key from the environment or a flag: a TOML value, else a text without quotes.
    pub(super) fn assign_text(&mut self, path: &str, text: &str, origin: &Origin) -> Result<(), ConfigError> {
        let Some(at) = keys::position(path) else {
            let (at, key) = (origin.clone(), path.to_owned());
            return Err(ConfigError::UnknownKey { at, key, hint: keys::hint(path) });
        };
        let layer = Layer { place: &|_| origin.clone(), base: None };
        let bare = Spanned::new(0..text.len(), DeValue::String(text.into()));
        // A password is taken literally, even with quotes.
        if KEYS.get(at).is_some_and(|key| key.is_secret) {
            return self.assign(at, bare, &layer);
        }
        match DeValue::parse(text) {
            // A path such as `2026` is a TOML number: what is invalid as TOML may still be valid as a string.
            Ok(value) => {
                self.assign(at, value, &layer).or_else(|e| self.assign(at, bare, &layer).map_err(|_| e))
            }
            // `[::1]:8080` begins as a list does.
            Err(_) if text.parse::<SocketAddr>().is_ok() => self.assign(at, bare, &layer),
            Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
                let (at, key) = (origin.clone(), path.to_owned());
                Err(ConfigError::BadValue { at, key, message: one_line(error.message()) })
            }
            Err(_) => self.assign(at, bare, &layer),
        }
    }

    /// The file a key names by default is not there.
    pub(super) fn mark_absent(&mut self, key: &str, path: &Path) {
        if let Some(setting) = keys::position(key).and_then(|at| self.list.get_mut(at)) {
            setting.value = Value::String(String::new());
            setting.origin = Origin::Absent(path.to_owned());
        }
    }

    /// The values as typed sections.
    pub(super) fn to_raw(&self) -> Raw {
        let mut sections = toml::Table::new();
        for setting in &self.list {
            let section =
                sections.entry(setting.key.section).or_insert_with(|| Value::Table(toml::Table::new()));
            if let Value::Table(section) = section {
                section.insert(setting.key.name.to_owned(), setting.value.clone());
            }
        }
        sections.try_into().expect("each value was checked by its kind when it was set")
    }
}

/// The parser's messages may have several lines; ours have one line.
pub(super) fn one_line(message: &str) -> String {
    message.trim().replace('\n', "; ")
}

fn rebase(value: Value, base: Option<&Path>) -> Value {
    match (value, base) {
        // Joining an absolute path gives that path.
        (Value::String(path), Some(base)) if !path.is_empty() => {
            Value::String(base.join(path).to_string_lossy().into_owned())
        }
        (value, _) => value,
    }
}
