//! Reads the `.test` language that `tests/golden/README.md` describes.

use std::collections::BTreeMap;

use plumbago_model::Event;

/// Request parameters, in order.
pub(crate) type Options = Vec<(String, String)>;

/// A stamp and its value; NaN is null.
pub(crate) type Point = (i64, f64);

/// What a case asks.
#[derive(Debug)]
pub(crate) enum Question {
    /// Targets with the parameters of their request.
    Eval(Options),
    /// A text of the time grammar, with `now` and `tz`.
    Time(String, Options),
    /// A path with its query.
    Get(String),
}

/// One question and what graphite-web answered.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) line: usize,
    /// The question as written.
    pub(crate) text: String,
    pub(crate) question: Question,
    /// Why we answer otherwise on purpose.
    pub(crate) differs: Option<String>,
    /// The lines of the answer without their indentation of two.
    pub(crate) answer: Vec<String>,
}

/// One stored series of `data.test`.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) first: i64,
    pub(crate) step: i64,
    pub(crate) values: Vec<f64>,
}

/// One series of an answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) points: Vec<Point>,
}

/// The series of `data.test`.
pub(crate) fn data(text: &str) -> Vec<Stored> {
    let (mut step, mut first) = (0, 0);
    let mut all: Vec<Stored> = Vec::new();
    let series = |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("event ");
    for line in text.lines().filter(series) {
        if let Some(head) = line.strip_prefix("load ") {
            let (every, from) = head.split_once("s from ").expect("load STEPs from T");
            (step, first) = (every.parse().expect("step"), from.parse().expect("first stamp"));
        } else if line.starts_with("    ") {
            let series = all.last_mut().expect("a name before values");
            series.values.extend(line.split_whitespace().flat_map(run));
        } else {
            all.push(Stored { name: line.trim().to_owned(), first, step, values: Vec::new() });
        }
    }
    all
}

/// The events of `data.test`.
pub(crate) fn events(text: &str) -> Vec<Event> {
    let bodies = text.lines().filter_map(|line| line.strip_prefix("event "));
    bodies.map(|body| event(&serde_json::from_str(body).expect("an event is JSON"))).collect()
}

fn event(body: &serde_json::Value) -> Event {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let tags = match body["tags"].as_array() {
        Some(tags) => tags.iter().map(|tag| tag.as_str().expect("a tag").to_owned()).collect(),
        None => Event::tags_of(&text("tags")),
    };
    let when = body["when"].as_f64().expect("when") as u32;
    Event { when, what: text("what"), tags, data: text("data") }
}

/// The cases of any other file.
pub(crate) fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut defaults = Options::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("  ") {
            answer_line(cases.last_mut().expect("a question before an answer"), rest);
            continue;
        }
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let question = match verb {
            "set" => {
                defaults = options(rest);
                continue;
            }
            "eval" => eval(&defaults, rest),
            "time" => Question::Time(rest.to_owned(), defaults.clone()),
            "get" => Question::Get(rest.to_owned()),
            _ => panic!("line {}: `{verb}` is no verb", number + 1),
        };
        let text = line.to_owned();
        cases.push(Case { line: number + 1, text, question, differs: None, answer: Vec::new() });
    }
    cases
}

fn answer_line(case: &mut Case, line: &str) {
    if let Some(target) = line.strip_prefix("and target=") {
        case.text.push_str(&format!(" {line}"));
        let Question::Eval(options) = &mut case.question else {
            panic!("line {}: only eval has targets", case.line)
        };
        options.push(("target".to_owned(), target.to_owned()));
    } else if let Some(reason) = line.strip_prefix("differs ") {
        case.differs = Some(reason.to_owned());
    } else {
        case.answer.push(line.to_owned());
    }
}

fn eval(defaults: &[(String, String)], rest: &str) -> Question {
    let (head, target) = rest.split_once("target=").expect("eval has a target");
    let mut merged = options(head);
    for default in defaults {
        if !merged.iter().any(|(key, _)| *key == default.0) {
            merged.push(default.clone());
        }
    }
    merged.push(("target".to_owned(), target.to_owned()));
    Question::Eval(merged)
}

fn options(words: &str) -> Options {
    let pairs = words.split_whitespace().map(|word| word.split_once('=').expect("key=value"));
    pairs.map(|(key, value)| (key.to_owned(), percent_decode(value))).collect()
}

/// `%20` becomes a blank.
fn percent_decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).expect("two hex digits after %"));
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// The status of an answer that is one.
pub(crate) fn status(answer: &[String]) -> Option<u16> {
    let rest = answer.first()?.strip_prefix("status ")?;
    Some(rest.split(' ').next()?.parse().expect("a status"))
}

/// The series of an answer of `eval`.
pub(crate) fn series(answer: &[String]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let mut step = 0;
    for line in answer.iter().filter(|l| *l != "nothing") {
        if let Some(name) = line.strip_prefix('=') {
            let name = name.strip_prefix(' ').unwrap_or(name).replace('\u{2423}', " ");
            all.push(Series { name, tags: BTreeMap::new(), points: Vec::new() });
            continue;
        }
        let series = all.last_mut().expect("a name before its points");
        let line = line.trim_start();
        if let Some(tags) = line.strip_prefix("tags ") {
            series.tags = serde_json::from_str(tags).expect("tags are JSON");
        } else if let Some(point) = line.strip_prefix("at ") {
            let (stamp, value) = point.split_once(' ').expect("at STAMP value");
            series.points.push((stamp.parse().expect("stamp"), value_of(value)));
        } else if line != "empty" {
            let (head, values) = line.split_once('|').expect("START +STEP | values");
            points(series, head.trim(), values, &mut step);
        }
    }
    all
}

/// A line of points; an empty head goes on where the line before ended.
fn points(series: &mut Series, head: &str, values: &str, step: &mut i64) {
    let mut stamp = match head.split_once(" +") {
        Some((start, every)) => {
            *step = every.parse().expect("step");
            start.parse().expect("start")
        }
        None if head.is_empty() => series.points.last().expect("a line to go on from").0 + *step,
        None => head.parse().expect("start"),
    };
    for value in values.split_whitespace().flat_map(run) {
        series.points.push((stamp, value));
        stamp += *step;
    }
}

/// `5x10` is 5 ten times.
fn run(token: &str) -> impl Iterator<Item = f64> {
    let (value, times) = token.split_once('x').unwrap_or((token, "1"));
    std::iter::repeat_n(value_of(value), times.parse().expect("a number after x"))
}

fn value_of(text: &str) -> f64 {
    if text == "_" { f64::NAN } else { text.parse().expect("a value") }
}
