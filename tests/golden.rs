//! We answer as graphite-web 1.1.10 does. `tests/golden/README.md` says where the answers come from and how they are
//! written down; each file is a test, and each test lists every case that differs.

pub(crate) mod compare;
mod memory;
pub(crate) mod parse;
pub(crate) mod server;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use graphite_render::functions::registry;
use graphite_render::time::parse_time;
use jiff::tz::TimeZone;
use parse::{Case, Options, Question};

/// The files whose cases call functions.
const FUNCTION_FILES: [&str; 27] = [
    "alias.test",
    "arithmetic.test",
    "callback.test",
    "combine.test",
    "events.test",
    "filter.test",
    "forecast.test",
    "gaps.test",
    "graph.test",
    "group.test",
    "interval.test",
    "language.test",
    "legend.test",
    "lists.test",
    "nested.test",
    "percentile.test",
    "points.test",
    "query.test",
    "ratio.test",
    "rows.test",
    "select.test",
    "special.test",
    "synthetic.test",
    "tagged.test",
    "transform.test",
    "wildcards.test",
    "window.test",
];

/// Runs all cases of a file.
fn check(file: &str) {
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

/// Asks us, and gives the difference if there is one.
fn ask(case: &Case) -> Option<String> {
    match &case.question {
        Question::Eval(options) => ask_eval(options, &case.answer),
        Question::Time(text, options) => ask_time(text, options, &case.answer),
        Question::Get(path) => ask_get(path, &case.answer),
    }
}

fn ask_eval(options: &Options, answer: &[String]) -> Option<String> {
    let reply = server::render(options);
    let got = format!("status {}: {}", reply.status, reply.body.trim_end());
    match (parse::status(answer), reply.status) {
        (Some(_), 400..) => None,
        (Some(status), _) => compare::texts(&format!("status {status}"), &got),
        (None, 200) => compare::series(&parse::series(answer), &compare::rendered(&reply.body)),
        (None, _) => compare::texts(&answer.join("\n             "), &got),
    }
}

fn ask_time(text: &str, options: &Options, answer: &[String]) -> Option<String> {
    let option = |key: &str| &options.iter().find(|(k, _)| k == key).expect("now and tz are set").1;
    let tz = TimeZone::get(option("tz")).expect("a zone");
    let now = option("now").parse().expect("now is epoch");
    let got = parse_time(text, now, &tz).map_or("error".to_owned(), |stamp| format!("= {stamp}"));
    // What follows the epoch says the same once more for the reader.
    let expected = answer[0].split(' ').take(2).collect::<Vec<_>>().join(" ");
    compare::texts(&expected, &got)
}

fn ask_get(path: &str, answer: &[String]) -> Option<String> {
    let reply = server::get(path);
    let expected = parse::status(answer).expect("an answer of get starts with its status");
    if expected != reply.status {
        return compare::texts(
            &format!("status {expected}"),
            &format!("status {}: {}", reply.status, reply.body),
        );
    }
    if expected != 200 {
        return None;
    }
    let content_type = answer[0].rsplit(' ').next().unwrap_or_default();
    if content_type != reply.content_type {
        return compare::texts(content_type, &reply.content_type);
    }
    let lines: Vec<&str> =
        answer[1..].iter().map(|line| line.strip_prefix("| ").unwrap_or(&line[1..])).collect();
    let body = lines.join("\n");
    match content_type {
        "application/json" if path.starts_with("/tags") => {
            compare::json(&without_ids(&body), &without_ids(&reply.body))
        }
        "application/json" => compare::json(&body, &reply.body),
        "text/javascript" => compare::json(unwrapped(&body), unwrapped(&reply.body)),
        _ => compare::texts(&body, &reply.body.replace('\\', "\\\\").replace('\r', "\\r")),
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

macro_rules! golden {
    ($($test:ident)*) => {
        $(
            #[test]
            fn $test() {
                check(concat!(stringify!($test), ".test"));
            }
        )*
    };
}

golden!(
    alias arithmetic callback combine events filter find forecast gaps graph group interval language legend lists nested output percentile points query ratio rows select special synthetic tagged tags time transform wildcards window
);

#[test]
fn every_function_has_goldens() {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let texts: Vec<String> =
        FUNCTION_FILES.iter().flat_map(|file| parse::cases(&read(file))).map(|c| c.text).collect();
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
