//! Carbon's rule files: sections of `key = value` lines, as Python's ConfigParser reads them.
//!
//! Sections keep the order of the file. Keys are lower-cased, `=` and `:` both separate key and value, lines that start with
//! `#` or `;` are comments (but not in the middle of a line: a pattern may contain `#`), and a line indented deeper than
//! the key above it continues that key's value. Nothing is interpolated: `%` is an ordinary character.

use std::path::Path;
use std::sync::Arc;

use super::{ConfigError, Origin};

/// `[name]` and the entries below it.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) entries: Vec<IniLine>,
}

/// `key = value`.
#[derive(Clone, Debug)]
pub(super) struct IniLine {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: usize,
}

impl Section {
    /// The entry of a key, which is given in lower case.
    pub(super) fn get(&self, key: &str) -> Option<&IniLine> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entry of a key, unless its value is empty.
    pub(super) fn get_filled(&self, key: &str) -> Option<&IniLine> {
        self.get(key).filter(|entry| !entry.value.is_empty())
    }
}

/// Reads the sections of a file.
pub(super) fn parse(path: &Arc<Path>, text: &str) -> Result<Vec<Section>, ConfigError> {
    let mut sections: Vec<Section> = Vec::new();
    // How far the last key was indented, while a line may still continue it.
    let mut key_indent = None;
    for (index, raw) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = index + 1;
        let refuse = |message: String| Err(ConfigError::Syntax { at: Origin::line(path, line), message });
        let content = raw.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        if let (Some(above), Some(entry)) = (key_indent, last_entry(&mut sections))
            && indent > above
        {
            entry.value.push('\n');
            entry.value.push_str(content);
            continue;
        }
        if let Some(name) = section_name(content) {
            if let Some(first) = sections.iter().find(|s| s.name == name) {
                return refuse(format!("section [{name}] appears twice, first at line {}", first.line));
            }
            sections.push(Section { name: name.to_owned(), line, entries: Vec::new() });
            key_indent = None;
            continue;
        }
        let Some((key, value)) = content.split_once(['=', ':']) else {
            return refuse(format!("`{content}` is neither `[section]` nor `key = value`"));
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
        let Some(section) = sections.last_mut() else {
            return refuse(format!("`{content}` comes before the first [section]"));
        };
        if let Some(first) = section.get(&key) {
            let name = &section.name;
            return refuse(format!(
                "`{key}` is there twice in section [{name}], first at line {}",
                first.line
            ));
        }
        section.entries.push(IniLine { key, value, line });
        key_indent = Some(indent);
    }
    Ok(sections)
}

fn last_entry(sections: &mut [Section]) -> Option<&mut IniLine> {
    sections.last_mut()?.entries.last_mut()
}

/// Python takes what is between `[` and the last `]`, whatever follows.
fn section_name(content: &str) -> Option<&str> {
    let name = content.strip_prefix('[')?;
    name.rfind(']').and_then(|end| name.get(..end)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match parse(&Arc::from(Path::new("f.conf")), text) {
            Err(error) => format!("error: {error}"),
            Ok(sections) => {
                let entry = |e: &IniLine| format!("{}@{}={:?}", e.key, e.line, e.value);
                let section = |s: &Section| {
                    let entries: Vec<String> = s.entries.iter().map(entry).collect();
                    format!("[{}@{}] {}", s.name, s.line, entries.join(" "))
                };
                sections.iter().map(section).collect::<Vec<_>>().join(" | ")
            }
        }
    }

    #[test]
    fn sections_keys_and_comments() {
        let text = "# head\n\n[a b]\npattern = ^x=y:z#1\nxFilesFactor: 0.5\n; no\n[c]\n\tk=v\n\tl = %w ; x\n";
        assert_eq!(
            read(text),
            r#"[a b@3] pattern@4="^x=y:z#1" xfilesfactor@5="0.5" | [c@7] k@8="v" l@9="%w ; x""#
        );
        assert_eq!(read(""), "");
        assert_eq!(read("[]\n"), "error: f.conf:1: `[]` is neither `[section]` nor `key = value`");
        assert_eq!(read("\u{feff}[a]\r\nk = v\r\n"), r#"[a@1] k@2="v""#);
    }

    #[test]
    fn deeper_lines_continue_a_value() {
        let text = "[a]\nretentions = 10s:1d,\n  # why\n  60s:7d\nnext =\n  [v]\n";
        assert_eq!(read(text), r#"[a@1] retentions@2="10s:1d,\n60s:7d" next@5="\n[v]""#);
    }

    #[test]
    fn what_python_refuses_is_refused() {
        assert_eq!(read("k = v\n"), "error: f.conf:1: `k = v` comes before the first [section]");
        assert_eq!(
            read("[a]\nnonsense\n"),
            "error: f.conf:2: `nonsense` is neither `[section]` nor `key = value`"
        );
        assert_eq!(read("[a]\n[b]\n[a]\n"), "error: f.conf:3: section [a] appears twice, first at line 1");
        assert_eq!(
            read("[a]\nk = 1\nK: 2\n"),
            "error: f.conf:3: `k` is there twice in section [a], first at line 2"
        );
    }
}
