//! Progress of long work: one line on a terminal, overwritten in place. Logs and pipes get nothing.

use std::io::{self, IsTerminal as _, Write as _};

use crate::store::cassandra::names::Progress;

/// `deleted 2000 of 5000`
pub(super) fn show(what: &str, done: usize, total: usize) {
    line(&format!("{what} {done} of {total}"));
}

/// Progress of reading all names.
pub(super) fn ring(progress: Progress) {
    let Progress { done, total, rows } = progress;
    line(&format!("{:3} % of the ring, {rows} rows", done * 100 / total.max(1)));
}

/// Clears the line.
pub(super) fn clear() {
    line("");
}

fn line(text: &str) {
    if io::stderr().is_terminal() {
        // Nobody needs this line, so an error does not stop the work.
        let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
    }
}
