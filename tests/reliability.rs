//! docs/RELIABILITY.md names tests and scripts that exist, and has a figure for each of the fourteen cases.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::features;

/// Cases that have a figure.
const CASES: usize = 14;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of all tables below a heading, cell by cell, without the heads of the tables.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, below) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let section = below.split("\n## ").next().unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows: Vec<Vec<String>> =
        section.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    assert!(rows.len() > 1, "{heading} has no rows");
    rows.remove(0);
    rows
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/RELIABILITY.md")).unwrap()
}

/// Everything in backquotes that looks like a test or a script.
fn named(text: &str) -> Vec<String> {
    let quoted = Regex::new("`([^`]+)`").unwrap();
    quoted.captures_iter(text).map(|hit| hit[1].to_owned()).collect()
}

#[test]
fn every_test_and_script_that_the_page_names_exists() {
    let (page, tests) = (page(), features::tests());
    let is_test = Regex::new("^[a-z0-9]+(_[a-z0-9]+){3,}$").unwrap();
    let is_counter = |name: &str| name.starts_with("plumbago_") || name.starts_with("store_");
    let mut missing = Vec::new();
    for name in named(&page) {
        let script = name.split(' ').next().filter(|word| word.starts_with("scripts/"));
        if script.is_some_and(|script| !Path::new(&root()).join(script).exists()) {
            missing.push(format!("there is no script `{name}`"));
        }
        if is_test.is_match(&name) && !is_counter(&name) && !tests.contains(&name) {
            missing.push(format!("there is no test `{name}`"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_case_names_what_shows_it() {
    let page = page();
    for row in rows(&page, "What survives what") {
        let shown = row.last().unwrap();
        assert!(!named(shown).is_empty() || shown.contains("]("), "nothing shows: {}", row[0]);
    }
    let figures = rows(&page, "Fourteen figures");
    let numbers: Vec<String> = figures.iter().map(|row| row[0].clone()).collect();
    assert_eq!(numbers, (1..=CASES).map(|number| number.to_string()).collect::<Vec<_>>());
    for row in &figures {
        assert_eq!(row.len(), 5, "{row:?}");
        assert!(!named(&row[4]).is_empty() || row[4].contains("]("), "no command for {}", row[1]);
    }
}
