//! Where a value was written: the answer to "who set this?".

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// Nobody set it, and the file it would name by default is not there: none is read.
    Absent(PathBuf),
    /// A place in a file.
    File {
        /// The file, as it was named.
        path: Arc<Path>,
        /// From 1.
        line: usize,
        /// From 1, in characters. `None` when the whole line is meant.
        column: Option<usize>,
    },
    /// An environment variable.
    Env(String),
    /// A `--set` flag.
    Flag,
}

impl Origin {
    /// The place of byte `offset` in the text of a file.
    pub(super) fn in_text(path: &Arc<Path>, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Origin::File { path: Arc::clone(path), line, column: Some(column) }
    }

    /// A whole line of a file.
    pub(super) fn line(path: &Arc<Path>, line: usize) -> Self {
        Origin::File { path: Arc::clone(path), line, column: None }
    }

    /// With the column, for an error text: `plumbago.toml:3:8`.
    pub fn exact(&self) -> String {
        match self {
            Origin::File { column: Some(column), .. } => format!("{self}:{column}"),
            Origin::Env(_) => format!("environment variable {self}"),
            Origin::File { .. } | Origin::Default | Origin::Absent(_) | Origin::Flag => self.to_string(),
        }
    }
}

/// `default`, `plumbago.toml:3`, `PLUMBAGO_LISTEN__HTTP`, `--set`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::Absent(path) => write!(f, "default; there is no {}", path.display()),
            Origin::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Origin::Env(name) => f.write_str(name),
            Origin::Flag => f.write_str("--set"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let path: Arc<Path> = Arc::from(Path::new("p.toml"));
        let text = "a = 1\né = x\n";
        assert_eq!(Origin::in_text(&path, text, 0).exact(), "p.toml:1:1");
        assert_eq!(Origin::in_text(&path, text, text.find('x').unwrap()).exact(), "p.toml:2:5");
        assert_eq!(Origin::in_text(&path, text, 999).exact(), "p.toml:3:1");
        assert_eq!(Origin::line(&path, 7).exact(), "p.toml:7");
        assert_eq!(Origin::Env("PLUMBAGO_A__B".to_owned()).exact(), "environment variable PLUMBAGO_A__B");
    }
}
