//! We answer as graphite-web 1.1.10 does. `tests/golden/README.md` says where the answers come from and how they are
//! written down; each file is a test, and each test lists every case that differs.

#[path = "golden/memory.rs"]
mod memory;
#[path = "golden/parse.rs"]
mod parse;

use std::fmt::Write as _;
use std::path::Path;

use jiff::tz::TimeZone;
use parse::{Case, Options, Question};
use plumbago::render::time::parse_time;

/// Runs `ask` over all cases of a file; it gives the difference, if there is one.
fn check(file: &str, ask: impl Fn(&Case) -> Option<String>) {
    let mut failures = String::new();
    let mut failed = 0;
    let cases = parse::cases(&read(file));
    for case in &cases {
        let found = match (ask(case), &case.differs) {
            (Some(_), Some(_)) | (None, None) => continue,
            (Some(difference), None) => difference,
            (None, Some(reason)) => format!("    agrees, though it is said to differ: {reason}\n"),
        };
        failed += 1;
        writeln!(failures, "{file}:{}: {}\n{}", case.line, case.text, found.trim_end()).expect("a string");
    }
    assert!(failed == 0, "{failed} of {} cases failed\n\n{failures}", cases.len());
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The lines that a reader compares, or nothing when they are the same.
fn difference(expected: &str, got: &str) -> Option<String> {
    (expected != got).then(|| format!("    expected {expected}\n    got      {got}\n"))
}

fn option<'a>(options: &'a Options, key: &str) -> Option<&'a str> {
    options.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

#[test]
fn time() {
    check("time.test", |case| {
        let Question::Time(text, options) = &case.question else { panic!("{}: only time here", case.text) };
        let tz = TimeZone::get(option(options, "tz").expect("tz is set")).expect("a zone");
        let now = option(options, "now").expect("now is set").parse().expect("now is epoch");
        let got = parse_time(text, now, &tz).map_or("error".to_owned(), |stamp| format!("= {stamp}"));
        // The answer says the same once more for the reader.
        let expected = case.answer[0].split(' ').take(2).collect::<Vec<_>>().join(" ");
        difference(&expected, &got)
    });
}
