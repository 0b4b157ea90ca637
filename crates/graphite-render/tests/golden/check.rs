//! Runs the cases of a file.

use std::fmt::Write as _;

use super::case::{self, Case};

/// Asks every question of a file. `ask` gives the difference between our answer and graphite-web's, if there is one. A case that is
/// said to differ must differ.
pub(crate) fn check(file: &str, text: &str, ask: impl Fn(&Case) -> Option<String>) {
    let mut failures = String::new();
    let mut failed = 0;
    let cases = case::cases(text);
    for case in &cases {
        let found = match (ask(case), &case.differs) {
            (Some(_), Some(_)) | (None, None) => continue,
            (Some(difference), None) => difference,
            (None, Some(reason)) => format!("    agrees, though it is said to differ: {reason}\n"),
        };
        failed += 1;
        writeln!(failures, "{file}:{}: {}\n{}", case.line, case.text, found.trim_end()).expect("a string");
    }
    println!("{file}: {} cases", cases.len());
    assert!(failed == 0, "{failed} of {} cases failed\n\n{failures}", cases.len());
    assert!(!cases.is_empty(), "{file} has no cases");
}
