//! How text looks where it is printed: colours and lines that fit on a terminal, neither of them in a pipe or a file.

use std::io::{self, IsTerminal};

use rustix::fd::AsFd;
use rustix::termios::tcgetwinsize;

/// A place where text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Columns, where lines have to fit.
    pub(super) width: Option<usize>,
    /// Lines, where the height is known.
    pub(super) height: Option<usize>,
    /// Are texts painted?
    pub(super) colours: bool,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// The head of a table.
    Head,
    /// A directory in a list of metrics.
    Directory,
    /// What is less important than the rest.
    Faint,
    /// Something went wrong.
    Wrong,
    /// One of several lines of a graph.
    Line(usize),
}

/// Colours of the lines of a graph: readable on black and on white.
const LINES: [u8; 6] = [36, 33, 35, 32, 34, 31];

impl Look {
    /// A file or a pipe.
    pub(super) const PLAIN: Self = Self { width: None, height: None, colours: false };

    /// Of stdout.
    pub(super) fn of_stdout() -> Self {
        Self::of(&io::stdout())
    }

    /// Of stderr.
    pub(super) fn of_stderr() -> Self {
        Self::of(&io::stderr())
    }

    fn of(out: &(impl AsFd + IsTerminal)) -> Self {
        if !out.is_terminal() {
            return Self::PLAIN;
        }
        let size = tcgetwinsize(out).ok();
        let length = |length: u16| Some(usize::from(length)).filter(|length| *length > 0);
        let variable = |name: &str| std::env::var(name).ok();
        Self {
            width: size.and_then(|size| length(size.ws_col)),
            height: size.and_then(|size| length(size.ws_row)),
            colours: wants_colours(variable("NO_COLOR").as_deref(), variable("TERM").as_deref()),
        }
    }

    /// The text with the colour of what it is.
    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Head => "1".to_owned(),
            Paint::Directory => "1;34".to_owned(),
            Paint::Faint => "2".to_owned(),
            Paint::Wrong => "1;31".to_owned(),
            Paint::Line(number) => {
                LINES.get(number % LINES.len()).map_or_else(String::new, ToString::to_string)
            }
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The text cut to a number of columns, with an ellipsis in its middle: names differ at both ends.
    pub(super) fn fitted(text: &str, columns: usize) -> String {
        let length = text.chars().count();
        if length <= columns || columns < 3 {
            return text.to_owned();
        }
        let kept = columns - 1;
        let end = kept / 2;
        let start: String = text.chars().take(kept - end).collect();
        let rest: String = text.chars().skip(length - end).collect();
        format!("{start}…{rest}")
    }
}

/// <https://no-color.org>: any value but an empty one.
fn wants_colours(no_color: Option<&str>, term: Option<&str>) -> bool {
    no_color.unwrap_or_default().is_empty() && !matches!(term, None | Some("" | "dumb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_have_them_and_people_who_want_them() {
        for (no_color, term, wanted) in [
            (None, Some("xterm"), true),
            (Some(""), Some("xterm"), true),
            (Some("1"), Some("xterm"), false),
            (None, Some("dumb"), false),
            (None, None, false),
        ] {
            assert_eq!(wants_colours(no_color, term), wanted, "{no_color:?} {term:?}");
        }
        let coloured = Look { colours: true, ..Look::PLAIN };
        assert_eq!(coloured.paint(Paint::Head, "tag"), "\x1b[1mtag\x1b[0m");
        assert_eq!(coloured.paint(Paint::Head, ""), "");
        assert_eq!(Look::PLAIN.paint(Paint::Wrong, "tag"), "tag");
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(Look::fitted("servers.web1.cpu", 16), "servers.web1.cpu");
        assert_eq!(Look::fitted("servers.web1.cpu", 9), "serv….cpu");
        assert_eq!(Look::fitted("häst", 3), "h…t");
        assert_eq!(Look::fitted("abc", 2), "abc");
    }
}
