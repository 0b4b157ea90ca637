//! How far long work is, in one line on a terminal that is written over. Logs and pipes are spared.

use std::io::{self, IsTerminal as _, Write as _};

use crate::store::cassandra::names::Progress;

/// `deleted 2000 of 5000`
pub(super) fn show(what: &str, done: usize, total: usize) {
    line(&format!("{what} {done} of {total}"));
}

/// How far a reading of all names is.
pub(super) fn ring(progress: Progress) {
    let Progress { done, total, rows } = progress;
    line(&format!("{:3} % of the ring, {rows} rows", done * 100 / total.max(1)));
}

/// Takes the line away.
pub(super) fn clear() {
    line("");
}

fn line(text: &str) {
    if io::stderr().is_terminal() {
        // Talk: if nobody listens the work goes on.
        let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
    }
}
