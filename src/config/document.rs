//! The TOML file: walks it key by key, so that every error has its line.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::settings::{Layer, one_line};
use super::{ConfigError, Origin, Settings, keys};

/// Applies the settings of a file over the existing ones.
pub(super) fn apply(settings: &mut Settings, path: &Arc<Path>, text: &str) -> Result<(), ConfigError> {
    let place = |span: std::ops::Range<usize>| Origin::in_text(path, text, span.start);
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        at: place(error.span().unwrap_or_default()),
        message: one_line(error.message()),
    })?;
    let layer = Layer { place: &place, base: path.parent() };
    walk(settings, "", table.into_inner(), &layer)
}

fn walk(
    settings: &mut Settings,
    section: &str,
    table: DeTable<'_>,
    layer: &Layer<'_>,
) -> Result<(), ConfigError> {
    let mut entries: Vec<_> = table.into_iter().collect();
    // The parser sorts by name, but a reader expects the first error in the file first.
    entries.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in entries {
        let separator = if section.is_empty() { "" } else { "." };
        let path = format!("{section}{separator}{}", name.get_ref());
        if let Some(at) = keys::position(&path) {
            settings.assign(at, value, layer)?;
        } else if keys::is_section(&path) {
            walk(settings, &path, as_table(&path, value, layer)?, layer)?;
        } else {
            let hint = keys::hint(&path);
            return Err(ConfigError::UnknownKey { at: (layer.place)(name.span()), key: path, hint });
        }
    }
    Ok(())
}

fn as_table<'i>(
    path: &str,
    value: Spanned<DeValue<'i>>,
    layer: &Layer<'_>,
) -> Result<DeTable<'i>, ConfigError> {
    let at = (layer.place)(value.span());
    match value.into_inner() {
        DeValue::Table(table) => Ok(table),
        other => Err(ConfigError::BadValue {
            at,
            key: path.to_owned(),
            message: format!("expected a section, written [{path}], found {}", other.type_str()),
        }),
    }
}
