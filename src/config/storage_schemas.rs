//! `storage-schemas.conf`: which names get which retention, as carbon reads it.
//!
//! The first section, in file order, whose pattern matches wins. A section without `pattern` or `retentions` is skipped
//! with a warning, as in carbon. An invalid retention stops the start; carbon would ignore the section and keep points for
//! another time than intended.

use std::path::Path;
use std::sync::Arc;

use super::ini::{self, Section};
use super::{ConfigError, Origin, Rule};
use plumbago_model::Retention;
use plumbago_model::pattern::Pattern;

/// Reads the rules of a file; what was skipped goes to `warnings`.
pub(super) fn read(
    path: &Arc<Path>,
    text: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Rule<Retention>>, ConfigError> {
    let mut rules = Vec::new();
    for section in ini::parse(path, text)? {
        warn_of_unknown_keys(path, &section, &["pattern", "retentions", "priority"], warnings);
        let Some(pattern) = required(path, &section, "pattern", warnings) else { continue };
        let Some(retentions) = required(path, &section, "retentions", warnings) else { continue };
        let refuse = |line, message| ConfigError::BadRule {
            at: Origin::line(path, line),
            rule: section.name.clone(),
            message,
        };
        let gives = retentions.value.parse().map_err(|e: plumbago_model::RetentionError| {
            refuse(retentions.line, format!("retentions = {}: {e}", retentions.value.replace('\n', " ")))
        })?;
        rules.push(Rule {
            origin: Origin::line(path, section.line).to_string(),
            pattern: Pattern::new(&pattern.value).map_err(|e| refuse(pattern.line, e.to_string()))?,
            name: section.name,
            gives,
        });
    }
    Ok(rules)
}

/// A key without which a section is skipped.
pub(super) fn required(
    path: &Arc<Path>,
    section: &Section,
    key: &str,
    warnings: &mut Vec<String>,
) -> Option<ini::IniLine> {
    let entry = section.get_filled(key).cloned();
    if entry.is_none() {
        let at = Origin::line(path, section.line);
        warnings.push(format!("{at}: section [{}] has no `{key}` and is skipped", section.name));
    }
    entry
}

/// Carbon ignores unknown keys. So do we, but we warn, because the key may be misspelt.
pub(super) fn warn_of_unknown_keys(
    path: &Arc<Path>,
    section: &Section,
    known: &[&str],
    warnings: &mut Vec<String>,
) {
    for entry in section.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        let at = Origin::line(path, entry.line);
        warnings
            .push(format!("{at}: `{}` in section [{}] is not known and ignored", entry.key, section.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
# The server's own numbers
[carbon]
pattern = ^carbon\\.
retentions = 60:90d

[nothing to match]
retentions = 1m:1d

[no retentions]
pattern = ^x

[fast]
priority = 100
Pattern: \\.fast\\.
retentions = 10s:6h, 1m:7d,
             1h:5y

[default_1min_for_1day]
pattern = .*
retentions = 60s:1d
";

    fn read_text(text: &str) -> (Result<Vec<Rule<Retention>>, ConfigError>, Vec<String>) {
        let mut warnings = Vec::new();
        (read(&Arc::from(Path::new("storage-schemas.conf")), text, &mut warnings), warnings)
    }

    #[test]
    fn sections_become_rules_in_the_order_of_the_file() {
        let (rules, warnings) = read_text(SAMPLE);
        let rules: Vec<String> = rules
            .unwrap()
            .iter()
            .map(|r| format!("{} {} {} {}", r.name, r.origin, r.pattern, r.gives))
            .collect();
        assert_eq!(
            rules,
            [
                r"carbon storage-schemas.conf:2 ^carbon\. 129600*60s",
                r"fast storage-schemas.conf:12 \.fast\. 2160*10s:10080*60s:43800*3600s",
                "default_1min_for_1day storage-schemas.conf:18 .* 1440*60s",
            ]
        );
        assert_eq!(
            warnings,
            [
                "storage-schemas.conf:6: section [nothing to match] has no `pattern` and is skipped",
                "storage-schemas.conf:9: section [no retentions] has no `retentions` and is skipped",
            ]
        );
    }

    #[test]
    fn a_misspelt_key_is_warned_of() {
        let (_, warnings) = read_text("[a]\npattern = x\nretentions = 1m:1d\nretention = 1s:1d\n");
        assert_eq!(warnings, ["storage-schemas.conf:4: `retention` in section [a] is not known and ignored"]);
    }

    #[test]
    fn wrong_values_name_line_and_section() {
        let error = |text| read_text(text).0.unwrap_err().to_string();
        assert_eq!(
            error("[a]\npattern = x\nretentions = 10s:1d,15s:2d\n"),
            "storage-schemas.conf:3: rule `a`: retentions = 10s:1d,15s:2d: 15s is not a multiple of 10s; \
             each coarser precision must be a multiple of the finer one"
        );
        let text = error("[a]\n\npattern = ^(?!carbon)\nretentions = 10s:1d\n");
        assert!(text.starts_with("storage-schemas.conf:3: rule `a`: "), "{text}");
        assert!(text.contains("`(?!`") && text.contains("look-ahead"), "{text}");
    }
}
