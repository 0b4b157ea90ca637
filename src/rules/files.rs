//! Reads the rule files, and notices when they change.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::lists::List;
use super::rewrite::Rewrites;
use super::ruleset::Ruleset;
use super::{RuleError, aggregation};
use crate::config::NameRules;

/// When a file was written and how long it is; `None` for one that is missing.
type Stamp = Option<(SystemTime, u64)>;

/// The files of a server.
#[derive(Debug)]
pub(super) struct Files {
    config: NameRules,
    stamps: Vec<(PathBuf, Stamp)>,
}

impl Files {
    pub(super) fn new(config: NameRules) -> Self {
        Self { config, stamps: Vec::new() }
    }

    /// Has a file been written, created or removed since they were read?
    pub(super) fn have_changed(&self) -> bool {
        self.stamps.iter().any(|(path, stamp)| self::stamp(path) != *stamp)
    }

    /// Reads all of them.
    pub(super) fn read(&mut self) -> Result<Ruleset, RuleError> {
        // Taken before reading, so that a file that changes meanwhile is reloaded.
        self.stamps = self.config.files().map(|path| (path.to_owned(), stamp(path))).collect();
        let config = &self.config;
        Ok(Ruleset {
            blacklist: parsed(config.blacklist.as_deref(), List::read)?,
            whitelist: parsed(config.whitelist.as_deref(), List::read)?,
            rewrites: parsed(config.rewrite.as_deref(), Rewrites::read)?.unwrap_or_default(),
            aggregation: parsed(config.aggregation.as_deref(), aggregation::read)?.unwrap_or_default(),
            keep_originals: config.keep_originals,
        })
    }
}

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

fn parsed<T>(
    path: Option<&Path>,
    parse: impl Fn(&Path, &str) -> Result<T, RuleError>,
) -> Result<Option<T>, RuleError> {
    let Some(path) = path else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|error| RuleError {
        file: path.to_owned(),
        line: 0,
        message: match error.kind() {
            io::ErrorKind::NotFound => {
                "there is no such file; make it, even empty, or leave it out of [rules]".to_owned()
            }
            _ => error.to_string(),
        },
    })?;
    parse(path, &text).map(Some)
}
