//! Where configuration comes from: a file, environment variables and flags.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::keys::VARIABLE_PREFIX;
use super::{ConfigError, Origin, Settings};

/// The file that is read when no other is named.
pub const FILE_NAME: &str = "plumbago.toml";
/// Where packages put it.
const SYSTEM_FILE: &str = "/etc/plumbago/plumbago.toml";
/// The variable that names a file when no flag does.
pub const FILE_VARIABLE: &str = "PLUMBAGO_CONFIG";

/// What to read. [`Sources::default`] is nothing: all defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The TOML file.
    pub file: Option<PathBuf>,
    /// Environment variables; those that are not ours are ignored.
    pub environment: Vec<(OsString, OsString)>,
    /// `section.key=value`; later ones override earlier ones.
    pub flags: Vec<String>,
}

impl Sources {
    /// Those of this process: `--config`, else `PLUMBAGO_CONFIG`, else `plumbago.toml` in the working directory
    /// or the one of the packages, if it is there.
    pub fn of_process(config: Option<PathBuf>, flags: Vec<String>) -> Self {
        let file = choose_file(config, std::env::var_os(FILE_VARIABLE), Path::exists);
        Self { file, environment: std::env::vars_os().collect(), flags }
    }

    /// Applies the environment over the existing settings.
    ///
    /// Only names with two underscores after the prefix are keys. Others are ignored: container platforms create
    /// variables such as `PLUMBAGO_PORT_2003_TCP` for a service of our name.
    pub(super) fn apply_environment(&self, settings: &mut Settings) -> Result<(), ConfigError> {
        let mut ours: Vec<(&str, &OsString)> = Vec::new();
        for (name, value) in &self.environment {
            let Some(name) = name.to_str() else { continue };
            if name.strip_prefix(VARIABLE_PREFIX).is_some_and(|key| key.contains("__")) {
                ours.push((name, value));
            }
        }
        ours.sort_unstable();
        for (name, value) in ours {
            let value = value.to_str().ok_or_else(|| ConfigError::NotUtf8(name.to_owned()))?;
            let key = name.strip_prefix(VARIABLE_PREFIX).unwrap_or(name).to_lowercase().replace("__", ".");
            settings.assign_text(&key, value, &Origin::Env(name.to_owned()))?;
        }
        Ok(())
    }

    /// Applies the flags over the existing settings.
    pub(super) fn apply_flags(&self, settings: &mut Settings) -> Result<(), ConfigError> {
        for flag in &self.flags {
            let (key, value) = flag.split_once('=').ok_or_else(|| ConfigError::BadFlag(flag.clone()))?;
            settings.assign_text(key.trim(), value, &Origin::Flag)?;
        }
        Ok(())
    }
}

/// An empty variable counts as unset: shells cannot easily unset one for a single command.
fn choose_file(
    flag: Option<PathBuf>,
    variable: Option<OsString>,
    exists: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let named = variable.filter(|name| !name.is_empty()).map(PathBuf::from);
    let there = |path: &str| Some(PathBuf::from(path)).filter(|path| exists(path));
    flag.or(named).or_else(|| there(FILE_NAME)).or_else(|| there(SYSTEM_FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_flag_else_the_variable_else_the_one_that_is_there() {
        let choose = |flag: Option<&str>, variable: Option<&str>, there: &[&str]| {
            let exists = |path: &Path| there.iter().any(|there| path == Path::new(there));
            choose_file(flag.map(PathBuf::from), variable.map(OsString::from), exists)
        };
        let both = [FILE_NAME, SYSTEM_FILE];
        assert_eq!(choose(Some("a"), Some("b"), &both), Some("a".into()));
        assert_eq!(choose(None, Some("b"), &both), Some("b".into()));
        assert_eq!(choose(None, Some(""), &both), Some(FILE_NAME.into()));
        assert_eq!(choose(None, None, &[SYSTEM_FILE]), Some(SYSTEM_FILE.into()));
        assert_eq!(choose(None, None, &[]), None);
    }
}
