//! Paths: nodes joined by dots, with wildcards, alternatives in braces and escapes.

use super::GrammarError;
use super::scan::Scanner;

/// What a path cannot hold unless escaped.
const SYMBOLS: &str = "(){},.'\"\\|";

impl Scanner<'_> {
    /// A path with its escapes taken out. A lenient reader stops where the path cannot go on; else that is an error.
    pub(super) fn path(&mut self, lenient: bool) -> Result<String, GrammarError> {
        let mut path = String::new();
        if !self.node(&mut path)? {
            return Err(self.unexpected("a path or a function call"));
        }
        loop {
            let before = self.mark();
            if !self.eat('.') {
                return Ok(path);
            }
            let len = path.len();
            path.push('.');
            match self.node(&mut path) {
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
    fn node(&mut self, path: &mut String) -> Result<bool, GrammarError> {
        let len = path.len();
        loop {
            if self.peek() == Some('{') {
                self.braces(path)?;
            } else if !self.plain(path) {
                return Ok(path.len() > len);
            }
        }
    }

    /// One ordinary or escaped character.
    fn plain(&mut self, path: &mut String) -> bool {
        let mut chars = self.rest().chars();
        match chars.next() {
            Some('\\') => match chars.next() {
                Some(escaped) if SYMBOLS.contains(escaped) || escaped == '=' => {
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
    fn braces(&mut self, path: &mut String) -> Result<(), GrammarError> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some('{') => open += 1,
                Some('}') => open -= 1,
                Some(',') => {}
                _ if self.plain(path) => continue,
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
