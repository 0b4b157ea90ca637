//! `rewrite-rules.conf`: `pattern = replacement`, in the sections `[pre]` and `[post]`.

use std::path::Path;

use super::RuleError;
use plumbago_model::pattern::Pattern;
use plumbago_model::replacement::Replacement;

/// Rules in order: each works on the result of the previous one.
#[derive(Debug, Default)]
pub struct Rewriting(Vec<(Pattern, Replacement)>);

/// The rules before and after aggregation.
#[derive(Debug, Default)]
pub(super) struct Rewrites {
    pub(super) before: Rewriting,
    pub(super) after: Rewriting,
}

impl Rewriting {
    /// Adds a rule of the form `pattern = replacement`. The error says what is wrong with it.
    pub fn push(&mut self, rule: &str) -> Result<(), String> {
        let (pattern, replacement) = rule
            .split_once('=')
            .ok_or_else(|| format!("`{rule}` is not a rule; write `pattern = replacement`"))?;
        let pattern = Pattern::new(pattern.trim()).map_err(|error| error.to_string())?;
        let replacement =
            Replacement::new(replacement.trim(), &pattern).map_err(|error| format!("replacement {error}"))?;
        self.0.push((pattern, replacement));
        Ok(())
    }

    /// The new name, if it differs.
    pub fn apply(&self, name: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        for (pattern, replacement) in &self.0 {
            let text = changed.as_deref().unwrap_or(name);
            if pattern.is_found(text) {
                changed = Some(replacement.apply(pattern, text));
            }
        }
        changed.filter(|changed| changed != name)
    }
}

impl Rewrites {
    pub(super) fn read(file: &Path, text: &str) -> Result<Self, RuleError> {
        let mut rewrites = Self::default();
        let mut section: Option<&str> = None;
        for (nth, line) in text.lines().enumerate() {
            let line = line.trim();
            let refuse = |message: String| RuleError { file: file.to_owned(), line: nth + 1, message };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                if !matches!(name, "pre" | "post") {
                    return Err(refuse(format!("section [{name}] is not known; it must be [pre] or [post]")));
                }
                section = Some(name);
                continue;
            }
            let rules = match section {
                Some("pre") => &mut rewrites.before,
                Some(_) => &mut rewrites.after,
                None => {
                    return Err(refuse(
                        "a rule before the first section; write [pre] or [post] above it".to_owned(),
                    ));
                }
            };
            rules.push(line).map_err(refuse)?;
        }
        Ok(rewrites)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rewrites, String> {
        Rewrites::read(Path::new("rewrite-rules.conf"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_apply_in_order_to_every_match() {
        let rules =
            read("[pre]\n_sum$ =\n\\b([a-z]+)\\.dc = \\1.site\nsite = S\n[post]\n^all\\. = sum.\n").unwrap();
        assert_eq!(rules.before.apply("web.dc1.x.dc2_sum").as_deref(), Some("web.S1.x.S2"));
        assert_eq!(rules.before.apply("web.x"), None);
        assert_eq!(rules.after.apply("all.a.all.b").as_deref(), Some("sum.a.all.b"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, part) in [
            ("a = b", "rewrite-rules.conf:1: a rule before the first section"),
            ("[pre]\na", "rewrite-rules.conf:2: `a` is not a rule"),
            ("[mid]\n", "section [mid] is not known"),
            ("[pre]\n\n(a = b", "rewrite-rules.conf:3: pattern `(a`: unclosed group"),
            ("[pre]\na = \\1", "rewrite-rules.conf:2: replacement pattern `\\1`: there is no such group"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
