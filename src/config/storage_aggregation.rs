//! `storage-aggregation.conf`: how names are rolled up, as carbon reads it.
//!
//! The first section, in file order, whose pattern matches wins. What a section leaves out gets the default of carbon's
//! database: average and 0.5.

use std::path::Path;
use std::sync::Arc;

use super::inline_rule::checked_factor;
use super::retention_rules::DEFAULT_AGGREGATION;
use super::storage_schemas::{required, warn_of_unknown_keys};
use super::{ConfigError, Origin, Rule, ini};
use plumbago_model::pattern::Pattern;
use plumbago_model::{Aggregator, UnknownAggregator};

/// Reads the rules of a file; what was skipped goes to `warnings`.
pub(super) fn read(
    path: &Arc<Path>,
    text: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Rule<(Aggregator, f64)>>, ConfigError> {
    let mut rules = Vec::new();
    for section in ini::parse(path, text)? {
        warn_of_unknown_keys(
            path,
            &section,
            &["pattern", "xfilesfactor", "aggregationmethod", "priority"],
            warnings,
        );
        let Some(pattern) = required(path, &section, "pattern", warnings) else { continue };
        let refuse = |line, message| ConfigError::BadRule {
            at: Origin::line(path, line),
            rule: section.name.clone(),
            message,
        };
        let (mut method, mut factor) = DEFAULT_AGGREGATION;
        if let Some(entry) = section.get("aggregationmethod") {
            method = entry.value.parse().map_err(|e: UnknownAggregator| refuse(entry.line, e.to_string()))?;
        }
        if let Some(entry) = section.get("xfilesfactor") {
            let number = entry.value.parse().map_err(|_| {
                refuse(entry.line, format!("xFilesFactor `{}` is not a number from 0 to 1", entry.value))
            })?;
            factor = checked_factor(number).map_err(|message| refuse(entry.line, message))?;
        }
        rules.push(Rule {
            origin: Origin::line(path, section.line).to_string(),
            pattern: Pattern::new(&pattern.value).map_err(|e| refuse(pattern.line, e.to_string()))?,
            name: section.name,
            gives: (method, factor),
        });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
[lowest]
pattern = \\.(min|lower)$
xFilesFactor = 0.1
aggregationMethod = min

[counters]
pattern = \\.count$
xFilesFactor = 0
aggregationMethod = sum

[thin]
pattern = ^thin\\.
xfilesfactor = 0

[newest]
pattern = \\.last$
aggregationMethod = last

[nowhere]
aggregationMethod = max
";

    type Rules = Vec<Rule<(Aggregator, f64)>>;

    fn read_text(text: &str) -> (Result<Rules, ConfigError>, Vec<String>) {
        let mut warnings = Vec::new();
        (read(&Arc::from(Path::new("storage-aggregation.conf")), text, &mut warnings), warnings)
    }

    #[test]
    fn sections_become_rules_and_gaps_get_the_default() {
        let (rules, warnings) = read_text(SAMPLE);
        let rules: Vec<String> = rules
            .unwrap()
            .iter()
            .map(|r| format!("{} {} {} {}", r.name, r.origin, r.gives.0, r.gives.1))
            .collect();
        assert_eq!(
            rules,
            [
                "lowest storage-aggregation.conf:1 min 0.1",
                "counters storage-aggregation.conf:6 sum 0",
                "thin storage-aggregation.conf:11 average 0",
                "newest storage-aggregation.conf:15 last 0.5",
            ]
        );
        assert_eq!(
            warnings,
            ["storage-aggregation.conf:19: section [nowhere] has no `pattern` and is skipped"]
        );
    }

    #[test]
    fn wrong_values_name_line_and_section() {
        let error = |line: &str| read_text(&format!("[a]\npattern = x\n{line}\n")).0.unwrap_err().to_string();
        for method in ["median", "p95"] {
            let text = error(&format!("aggregationMethod = {method}"));
            assert!(text.starts_with("storage-aggregation.conf:3: rule `a`: "), "{text}");
            assert!(text.contains(method) && text.contains("needs all points at once"), "{text}");
        }
        assert!(error("aggregationMethod = avrage").contains("`avrage` is not known"));
        assert!(error("xFilesFactor = half").ends_with("xFilesFactor `half` is not a number from 0 to 1"));
        assert!(error("xFilesFactor = 1.1").contains("1.1 is not a fraction"));
        assert!(error("xFilesFactor = nan").contains("NaN is not a fraction"));
        assert!(error("xFilesFactor =").contains("`` is not a number"));
    }
}
