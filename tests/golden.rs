//! Over HTTP we answer as graphite-web 1.1.10 does: listings, formats, parameters, errors, tags and events.
//!
//! What functions make of series is tested where they are, in `crates/graphite-render/tests/golden`. The README there says where the
//! answers come from and how they are written down, and the data set and the readers of the goldens are from there, too. Each file is
//! a test, and each test lists every case that differs.

#[path = "../crates/graphite-render/tests/golden/answer.rs"]
mod answer;
mod body;
#[path = "../crates/graphite-render/tests/golden/case.rs"]
pub(crate) mod case;
#[path = "../crates/graphite-render/tests/golden/check.rs"]
mod check;
#[path = "../crates/graphite-render/tests/golden/data.rs"]
mod data;
mod memory;
#[path = "../crates/graphite-render/tests/golden/series.rs"]
pub(crate) mod series;
pub(crate) mod server;

use std::path::{Path, PathBuf};

use case::{Case, Options, Question};
use check::check;

/// The goldens of the HTTP API.
const OURS: &str = "tests/golden";
/// Those of the render engine.
const ENGINE: &str = "crates/graphite-render/tests/golden";

/// One test for each file of our own.
macro_rules! golden {
    ($($test:ident)*) => {
        /// The files, without their ending.
        const FILES: &[&str] = &[$(stringify!($test)),*];

        $(
            #[test]
            fn $test() {
                check(concat!(stringify!($test), ".test"), &read(OURS, stringify!($test)), ask);
            }
        )*
    };
}

golden!(events find output parameters tags);

/// Of the engine's cases those whose parameters and errors pass through HTTP in every form.
#[test]
fn targets_and_points_come_through() {
    for file in ["language", "points"] {
        check(&format!("{file}.test"), &read(ENGINE, file), ask);
    }
}

#[test]
fn every_file_has_a_test() {
    let entries = std::fs::read_dir(path(OURS)).expect("the goldens are there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "test"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort();
    assert_eq!(found, FILES);
    let cases: usize = FILES.iter().map(|file| case::cases(&read(OURS, file)).len()).sum();
    println!("{cases} cases in {} files", FILES.len());
}

fn path(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn read(folder: &str, file: &str) -> String {
    let path = path(folder).join(file).with_extension("test");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Asks us, and gives the difference if there is one.
fn ask(case: &Case) -> Option<String> {
    match &case.question {
        Question::Eval(options) => ask_eval(options, &case.answer),
        Question::Get(path) => ask_get(path, &case.answer),
        Question::Time(text, options) => {
            panic!("`{text}` ({options:?}) is a question for the engine; it belongs in {ENGINE}")
        }
    }
}

fn ask_eval(options: &Options, answer: &[String]) -> Option<String> {
    let reply = server::render(options);
    let got = format!("status {}: {}", reply.status, reply.body.trim_end());
    match (answer::status(answer), reply.status) {
        (Some(_), 400..) => None,
        (Some(status), _) => series::texts(&format!("status {status}"), &got),
        (None, 200) => series::difference(&answer::series(answer), &series::of_json(&reply.body)),
        (None, _) => series::texts(&answer.join("\n             "), &got),
    }
}

fn ask_get(path: &str, answer: &[String]) -> Option<String> {
    let reply = server::get(path);
    let expected = answer::status(answer).expect("an answer of get starts with its status");
    if expected != reply.status {
        return series::texts(
            &format!("status {expected}"),
            &format!("status {}: {}", reply.status, reply.body),
        );
    }
    if expected != 200 {
        return None;
    }
    let content_type = answer[0].rsplit(' ').next().unwrap_or_default();
    if content_type != reply.content_type {
        return series::texts(content_type, &reply.content_type);
    }
    let lines: Vec<&str> =
        answer[1..].iter().map(|line| line.strip_prefix("| ").unwrap_or(&line[1..])).collect();
    let body = lines.join("\n");
    match content_type {
        "application/json" if path.starts_with("/tags") => {
            body::json(&without_ids(&body), &without_ids(&reply.body))
        }
        "application/json" => body::json(&body, &reply.body),
        "text/javascript" => body::json(unwrapped(&body), unwrapped(&reply.body)),
        _ => series::texts(&body, &reply.body.replace('\\', "\\\\").replace('\r', "\\r")),
    }
}

/// JSON without the ids of tags and values: numbers of a data base, which mean nothing.
fn without_ids(body: &str) -> String {
    let number = regex::Regex::new(r#""id": ?[0-9]+,? ?"#).expect("a pattern");
    number.replace_all(body, "").into_owned()
}

/// The text in the parentheses of `cb(...)`.
fn unwrapped(body: &str) -> &str {
    body.strip_prefix("cb(").and_then(|rest| rest.trim_end().strip_suffix(')')).unwrap_or(body)
}
