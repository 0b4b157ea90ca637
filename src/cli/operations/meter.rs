//! How far long work is, in one line on a terminal that is written over. Logs and pipes are spared.

use std::io::{self, IsTerminal as _, Write as _};

use crate::cli::words;
use crate::store::cassandra::names::Progress;

/// `deleted 2000 of 5000`
pub(super) fn show(what: &str, done: usize, total: usize) {
    line(&format!("{what} {done} of {total}"));
}

/// How far a reading of all names is.
pub(super) fn ring(progress: Progress) {
    let Progress { done, total, rows } = progress;
    line(&format!("{:3} % of the ring, {}", done * 100 / total.max(1), words::count(rows, "row")));
}

/// `12 of 340 files, 1.2 GiB of 3.4 GiB`
pub(super) fn files((files, all_files): (u64, u64), (bytes, all_bytes): (u64, u64)) {
    let (bytes, all_bytes) = (words::size(bytes), words::size(all_bytes));
    line(&format!("{files} of {all_files} files, {bytes} of {all_bytes}"));
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
