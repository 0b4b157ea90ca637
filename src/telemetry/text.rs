//! The Prometheus text format, line by line.

use std::fmt::{Display, Write as _};

/// A document that is being written.
pub(super) struct Text(String);

impl Text {
    pub(super) fn new() -> Self {
        Self(String::with_capacity(16 * 1024))
    }

    /// Begins a family: every sample until the next call belongs to it.
    pub(super) fn family(&mut self, kind: &str, name: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.0.push(if at == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            self.0.extend(text.chars().flat_map(escaped));
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A family of one sample without labels.
    pub(super) fn single(&mut self, kind: &str, name: &str, help: &str, value: impl Display) {
        self.family(kind, name, help);
        self.sample(name, &[], value);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// A character of a label as the format wants it.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let (escape, character) = match character {
        '\\' | '"' => (Some('\\'), character),
        '\n' => (Some('\\'), 'n'),
        _ => (None, character),
    };
    escape.into_iter().chain([character])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Text::new();
        text.sample("a", &[("b", "1\"2\\3\n4"), ("c", "")], 0.5);
        assert_eq!(text.finish(), "a{b=\"1\\\"2\\\\3\\n4\",c=\"\"} 0.5\n");
    }
}
