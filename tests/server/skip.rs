//! What a test does that cannot run here.

#![allow(dead_code, reason = "each test binary that includes this file uses its own part of it")]

use std::io::Write as _;

/// Says loudly that a test cannot run here. On a build machine that is a failure.
pub(crate) fn skip(test: &str, why: &str) {
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "{test} must not be skipped on a build machine: {why}"
    );
    note(test, why);
}

/// Says loudly that something was left out, also on a build machine.
pub(crate) fn note(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    // `cargo test` hides what a passing test prints; `scripts/test` reads the skips from this file.
    if let Some(path) = std::env::var_os("TEST_SKIP_LOG") {
        let mut log =
            std::fs::File::options().create(true).append(true).open(path).expect("the log of skips");
        // In one piece: several test programs write at once.
        log.write_all(format!("{test}: {}\n", why.replace('\n', " ")).as_bytes()).expect("the log of skips");
    }
}
