//! Paths: files and directories.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Value;

use super::{Kind, expected};

/// A file or directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct FilePath(pub(in crate::config) PathBuf);

impl TryFrom<Value> for FilePath {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) if !text.is_empty() => Ok(Self(PathBuf::from(text))),
            other => Err(expected("a path", &other)),
        }
    }
}

impl From<FilePath> for Value {
    fn from(path: FilePath) -> Value {
        Value::String(path.0.to_string_lossy().into_owned())
    }
}

impl Kind for FilePath {
    const NAME: &'static str = "path";
    const IS_PATH: bool = true;
}

/// A file or directory, where empty means none.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct MaybePath(pub(in crate::config) Option<PathBuf>);

impl TryFrom<Value> for MaybePath {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self(Some(text).filter(|t| !t.is_empty()).map(PathBuf::from))),
            other => Err(expected("a path, or \"\" for none", &other)),
        }
    }
}

impl From<MaybePath> for Value {
    fn from(path: MaybePath) -> Value {
        Value::String(path.0.map_or_else(String::new, |p| p.to_string_lossy().into_owned()))
    }
}

impl Kind for MaybePath {
    const NAME: &'static str = "path or \"\"";
    const IS_PATH: bool = true;
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn only_some_paths_may_be_empty() {
        assert_eq!(canonical::<MaybePath>("''"), "\"\"");
        assert_eq!(canonical::<MaybePath>("'a/b'"), "\"a/b\"");
        assert!(canonical::<MaybePath>("1").contains("or \"\" for none"));
        assert!(canonical::<FilePath>("''").contains("expected a path"));
    }
}
