//! docs/FEATURES.md has every row of the feature table, and each row a test that exists, or a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

/// Rows with a number.
const ROWS: usize = 100;

/// Features that stand below the table.
const BEYOND: [&str; 9] = [
    "Result of each item of a batch",
    "Number of points of a series",
    "Data types of a metric",
    "Windows of a metric",
    "Cardinality by metric and tag",
    "Column names of KairosDB before 1.3",
    "Units of time in `spec`",
    "ISO instants",
    "OpenTSDB",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all tests in Rust.
pub(crate) fn tests() -> BTreeSet<String> {
    fn collect(folder: &Path, test: &Regex, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, test, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.extend(test.captures_iter(&text).map(|hit| hit[1].to_owned()));
            }
        }
    }
    // A test of properties is declared within `proptest!`, with arguments, and others may have attributes of their own.
    let test =
        Regex::new(r"#\[(?:tokio::)?test(?:\([^)]*\))?\]\s+(?:#\[[^\]]*\]\s+)*(?:async )?fn (\w+)").unwrap();
    let mut found = BTreeSet::new();
    for folder in ["src", "crates", "tests"] {
        collect(&root().join(folder), &test, &mut found);
    }
    found
}

/// The first and the last cell of each row: what it is about, and what shows it.
fn rows() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("docs/FEATURES.md")).unwrap();
    let is_head = |first: &str| first == "#" || first == "feature" || first.starts_with("---");
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ") || line.starts_with("|-")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else { continue };
        if !is_head(first) {
            let again = rows.insert((*first).to_owned(), (*last).to_owned());
            assert!(again.is_none(), "{first} is there twice");
        }
    }
    rows
}

#[test]
fn the_table_of_features_is_whole_and_names_tests_that_exist() {
    let (rows, tests) = (rows(), tests());
    assert!(tests.len() > 1000, "only {} tests were found", tests.len());
    let numbers = (1..=ROWS).map(|number| number.to_string());
    let wanted = numbers.chain(BEYOND.iter().map(|&feature| feature.to_owned()));
    let missing: Vec<String> = wanted.filter(|row| !rows.contains_key(row)).collect();
    assert_eq!(missing, [""; 0], "not in docs/FEATURES.md");
    let named = Regex::new(r"`(\w+)`").unwrap();
    let mut broken = Vec::new();
    for (row, shown) in &rows {
        let reason = ["no: ", "offered this way: "].iter().any(|start| shown.starts_with(start));
        let names: Vec<&str> = named.captures_iter(shown).map(|hit| hit.get(1).unwrap().as_str()).collect();
        if names.is_empty() && !reason {
            broken.push(format!("row {row} has neither a test nor a reason: {shown}"));
        }
        let is_test = |name: &&str| tests.contains(*name);
        let gone = names.iter().filter(|name| !is_test(name) && !reason);
        broken.extend(gone.map(|name| format!("row {row}: there is no test `{name}`")));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
