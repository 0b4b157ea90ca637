//! Which targets are compared: those that were typed, those in files, and those in dashboards.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::dashboard::{self, Variables};
use crate::cli::{Compare, UsageError};

/// All targets, each of them once.
pub(super) fn targets(arguments: &Compare) -> Result<Vec<String>> {
    let given = variables(&arguments.variables)?;
    let mut all = arguments.targets.clone();
    for path in &arguments.files {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {} (--targets)", path.display()))?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        all.extend(lines.map(str::to_owned));
    }
    for path in &arguments.dashboards {
        let failed = || format!("reading {} (--dashboards)", path.display());
        let text = fs::read_to_string(path).with_context(failed)?;
        let dashboard: Value = serde_json::from_str(&text).with_context(failed)?;
        let found = dashboard::targets(&dashboard, &given);
        if found.is_empty() {
            eprintln!("{}: no query of a Graphite panel is in it", path.display());
        }
        all.extend(found);
    }
    let mut seen = HashSet::new();
    all.retain(|target| seen.insert(target.clone()));
    if all.is_empty() {
        bail!(UsageError(
            "there is no target to compare; name some, or a file of them with --targets or --dashboards"
                .to_owned()
        ));
    }
    Ok(all)
}

fn variables(given: &[String]) -> Result<Variables> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(UsageError(format!("--variable `{text}`: write NAME=VALUE, for example host=web1")).into()),
    };
    given.iter().map(pair).collect()
}
