//! Targets are evaluated as graphite-web 1.1.10 does. README.md says where the answers come from and how they are written down;
//! each file is a test, and each test lists every case that differs.
//!
//! Nothing but this library runs here: the data set is a [`MemorySource`]. What only a server shows is in Plumbago's `tests/golden`.

mod answer;
mod case;
mod check;
mod data;
mod engine;
mod series;

use std::collections::BTreeMap;
use std::path::PathBuf;

use case::{Case, Options, Question};
use check::check;
use graphite_render::functions::registry;
use graphite_render::time::parse_time;
use jiff::tz::TimeZone;

/// One test for each file.
macro_rules! golden {
    ($($test:ident)*) => {
        /// The files, without their ending.
        const FILES: &[&str] = &[$(stringify!($test)),*];

        $(
            #[test]
            fn $test() {
                check(concat!(stringify!($test), ".test"), &read(stringify!($test)), ask);
            }
        )*
    };
}

golden!(
    alias arithmetic callback combine events filter forecast gaps graph group interval language legend lists nested percentile points
    query ratio rows select special synthetic tagged time transform wildcards window
);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(file: &str) -> String {
    let path = folder().join(file).with_extension("test");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Asks us, and gives the difference if there is one.
fn ask(case: &Case) -> Option<String> {
    match &case.question {
        Question::Eval(options) => ask_eval(options, &case.answer),
        Question::Time(text, options) => ask_time(text, options, &case.answer),
        Question::Get(path) => {
            panic!("{path} is a question for a server; it belongs in Plumbago's tests/golden")
        }
    }
}

fn ask_eval(options: &Options, answer: &[String]) -> Option<String> {
    match (answer::status(answer), engine::json(options)) {
        (Some(_), Err(_)) => None,
        (Some(status), Ok(body)) => series::texts(&format!("status {status}"), &body),
        (None, Ok(body)) => series::difference(&answer::series(answer), &series::of_json(&body)),
        (None, Err(error)) => series::texts(&answer.join("\n             "), &error.to_string()),
    }
}

fn ask_time(text: &str, options: &Options, answer: &[String]) -> Option<String> {
    let option = |key: &str| &options.iter().find(|(k, _)| k == key).expect("now and tz are set").1;
    let tz = TimeZone::get(option("tz")).expect("a zone");
    let now = option("now").parse().expect("now is epoch");
    let got = parse_time(text, now, &tz).map_or("error".to_owned(), |stamp| format!("= {stamp}"));
    // What follows the epoch says the same once more for the reader.
    let expected = answer[0].split(' ').take(2).collect::<Vec<_>>().join(" ");
    series::texts(&expected, &got)
}

#[test]
fn every_file_has_a_test() {
    let entries = std::fs::read_dir(folder()).expect("the goldens are there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<String> = paths
        .filter(|path| {
            path.extension().is_some_and(|ending| ending == "test") && !path.ends_with("data.test")
        })
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort();
    assert_eq!(found, FILES);
    let cases: usize = FILES.iter().map(|file| case::cases(&read(file)).len()).sum();
    println!("{cases} cases in {} files", FILES.len());
}

/// Names in the first column of its first table, each in backticks, with the ending of the file or without.
#[test]
fn the_readme_lists_every_file_and_no_other() {
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("the README");
    let (table, _) = readme.split_once("## What only a server shows").expect("its second part");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let mut listed: Vec<&str> = rows
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().trim_matches('`'))
        .filter(|name| *name != "capture.py")
        .map(|name| name.trim_end_matches(".test"))
        .collect();
    listed.sort_unstable();
    let mut files = [FILES, &["data"]].concat();
    files.sort_unstable();
    assert_eq!(listed, files);
}

#[test]
fn every_function_has_goldens() {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let files = FILES.iter().filter(|file| **file != "time");
    let texts: Vec<String> = files.flat_map(|file| case::cases(&read(file))).map(|c| c.text).collect();
    for row in registry::registry() {
        let call = format!("{}(", row.name);
        let standalone = |text: &&String| {
            let before = |at: usize| text[..at].chars().next_back();
            text.match_indices(&call).any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric()))
        };
        *calls.entry(row.alias_of.unwrap_or(row.name)).or_default() +=
            texts.iter().filter(standalone).count();
    }
    let few: Vec<_> = calls.iter().filter(|(_, count)| **count < 5).collect();
    assert!(few.is_empty(), "fewer than five golden cases: {few:?}");
}
