//! The table of keys, seen from outside: what the documentation, the environment, the flags and the hints go by.

use std::fmt;

use toml::Value;

use plumbago_model::suggest::did_you_mean;

pub use super::raw::KEYS;
pub(super) use super::raw::SECTIONS;

/// One key of the configuration.
#[derive(Debug)]
pub struct Key {
    /// `store.cassandra`
    pub section: &'static str,
    /// `keyspace`
    pub name: &'static str,
    /// What may be written: `duration`, `size`.
    pub kind: &'static str,
    /// The default, as TOML.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Its value is not to be shown.
    pub is_secret: bool,
    /// Relative values are relative to the file they stand in.
    pub(super) is_path: bool,
    /// Checks a value and gives its canonical form.
    pub(super) canonical: fn(Value) -> Result<Value, String>,
}

/// A section and what is in it.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

impl Key {
    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.to_string().replace('.', "__").to_uppercase())
    }

    /// Does a reload put it in force? All others need a restart.
    pub fn is_reloaded(&self) -> bool {
        self.section == "retention" || (self.section, self.name) == ("kairosdb", "retention")
    }

    /// The default, checked and in canonical form.
    pub(super) fn default_value(&self) -> Value {
        let table: toml::Table = format!("value = {}", self.default).parse().expect("defaults are TOML");
        let value = table.get("value").cloned().expect("it was just written");
        (self.canonical)(value).expect("defaults are valid")
    }
}

/// `section.name`
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.name)
    }
}

/// What every variable of ours begins with.
pub(super) const VARIABLE_PREFIX: &str = "PLUMBAGO_";

/// The place of a key in [`KEYS`].
pub(super) fn position(path: &str) -> Option<usize> {
    let (section, name) = path.rsplit_once('.')?;
    KEYS.iter().position(|key| key.section == section && key.name == name)
}

/// Is it a section, or does a section begin with it?
pub(super) fn is_section(path: &str) -> bool {
    SECTIONS
        .iter()
        .any(|s| s.name == path || s.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// The hint for a key that does not exist: the same name in another section, or a near miss.
pub(super) fn hint(path: &str) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    if let Some(key) = KEYS.iter().find(|key| key.name.eq_ignore_ascii_case(name)) {
        return format!("; did you mean `{key}`?");
    }
    let paths: Vec<String> = KEYS.iter().map(Key::to_string).collect();
    let sections = SECTIONS.iter().map(|s| s.name);
    let hint = did_you_mean(path, paths.iter().map(String::as_str).chain(sections));
    if hint.is_empty() { did_you_mean(name, KEYS.iter().map(|key| key.name)) } else { hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_valid_default_a_section_and_a_sentence() {
        for key in KEYS {
            key.default_value();
            assert!(is_section(key.section), "{key}");
            assert!(key.help.ends_with('.') && !key.help.contains('|'), "{key}: {}", key.help);
            assert_eq!(position(&key.to_string()).map(|at| KEYS[at].to_string()), Some(key.to_string()));
        }
    }

    #[test]
    fn variables_are_upper_case_with_two_underscores() {
        let key = &KEYS[position("store.cassandra.tls.ca_file").unwrap()];
        assert_eq!(key.variable(), "PLUMBAGO_STORE__CASSANDRA__TLS__CA_FILE");
    }

    #[test]
    fn hints_find_the_other_section_the_typo_and_the_section() {
        assert_eq!(hint("listen.htp"), "; did you mean `listen.http`?");
        assert_eq!(hint("http"), "; did you mean `listen.http`?");
        assert_eq!(hint("query.max_line_bytes"), "; did you mean `ingest.max_line_bytes`?");
        assert_eq!(hint("listne"), "; did you mean `listen`?");
        assert_eq!(hint("quite.unrelated"), "");
    }
}
