//! Paths: nodes joined by dots, with wildcards, alternatives in braces and escapes.

use super::GrammarError;
use super::scan::Scanner;

/// What a path cannot hold unless escaped.
const SYMBOLS: &str = "(){},.'\"\\|";

/// What would be a wildcard without its escape. The path keeps the backslash, by which a glob knows a plain character.
const WILD: &str = "{}[]*?\\";

impl Scanner<'_> {
    /// A path with the escapes taken out that only the grammar needs. A lenient reader, which reads names, takes all of them
    /// out and stops where the path cannot go on; else that is an error.
    pub(super) fn path(&mut self, lenient: bool) -> Result<String, GrammarError> {
        let mut path = String::new();
        if !self.node(&mut path, lenient)? {
            return Err(self.unexpected("a path or a function call"));
        }
        loop {
            let before = self.mark();
            if !self.eat('.') {
                return Ok(path);
            }
            let len = path.len();
            path.push('.');
            match self.node(&mut path, lenient) {
                Ok(true) => {}
                Ok(false) if !lenient => return Err(self.unexpected("a path node after `.`")),
                Err(error) if !lenient => return Err(error),
                _ => {
                    path.truncate(len);
                    self.reset(before);
                    return Ok(path);
                }
            }
        }
    }

    /// One node onto `path`; false when nothing stands here that could be part of one.
    fn node(&mut self, path: &mut String, lenient: bool) -> Result<bool, GrammarError> {
        let len = path.len();
        loop {
            if self.peek() == Some('{') {
                self.braces(path, lenient)?;
            } else if !self.plain(path, if lenient { "" } else { WILD }) {
                return Ok(path.len() > len);
            }
        }
    }

    /// One ordinary or escaped character. What is in `kept` keeps its backslash.
    fn plain(&mut self, path: &mut String, kept: &str) -> bool {
        let mut chars = self.rest().chars();
        match chars.next() {
            Some('\\') => match chars.next() {
                Some(escaped) if SYMBOLS.contains(escaped) || kept.contains(escaped) || escaped == '=' => {
                    if kept.contains(escaped) {
                        path.push('\\');
                    }
                    path.push(escaped);
                    self.skip(2);
                    true
                }
                _ => false,
            },
            Some(c) if !(SYMBOLS.contains(c) || c.is_whitespace() || c.is_control()) => {
                path.push(c);
                self.skip(c.len_utf8());
                true
            }
            _ => false,
        }
    }

    /// Alternatives, one inside another as deep as one likes: a counter does for the stack.
    fn braces(&mut self, path: &mut String, lenient: bool) -> Result<(), GrammarError> {
        // In braces an escaped comma is plain, too.
        let kept = if lenient { String::new() } else { format!("{WILD},") };
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some('{') => open += 1,
                Some('}') => open -= 1,
                Some(',') => {}
                _ if self.plain(path, &kept) => continue,
                _ => return Err(self.unexpected("`,` or `}` in the braces of a path")),
            }
            path.extend(self.peek());
            self.skip(1);
            if open == 0 {
                return Ok(());
            }
        }
    }
}
