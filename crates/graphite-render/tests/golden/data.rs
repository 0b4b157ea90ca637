//! The data set behind every case: the series and events of `data.test`.

use plumbago_model::Event;

/// One stored series of `data.test`.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) first: i64,
    pub(crate) step: i64,
    pub(crate) values: Vec<f64>,
}

/// The series of `data.test`.
pub(crate) fn series(text: &str) -> Vec<Stored> {
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

/// `5x10` is 5 ten times.
pub(crate) fn run(token: &str) -> impl Iterator<Item = f64> {
    let (value, times) = token.split_once('x').unwrap_or((token, "1"));
    std::iter::repeat_n(value_of(value), times.parse().expect("a number after x"))
}

/// `_` is null.
pub(crate) fn value_of(text: &str) -> f64 {
    if text == "_" { f64::NAN } else { text.parse().expect("a value") }
}
