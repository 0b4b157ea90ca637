//! The series of `data.test` as a source of the render engine, with the windows that whisper and our store give.

use std::sync::Arc;

use plumbago::model::Cancel;
use plumbago::render::source::{FetchRequest, Fetched, Source, SourceError};
use regex::Regex;

use crate::parse::Stored;

/// All series, sorted by name.
pub(crate) struct Memory {
    series: Vec<Stored>,
}

impl Memory {
    pub(crate) fn new(mut series: Vec<Stored>) -> Self {
        series.sort_by(|a, b| a.name.cmp(&b.name));
        Self { series }
    }

    /// The names that have no tags: what a tree of names holds.
    pub(crate) fn plain_names(&self) -> impl Iterator<Item = &str> {
        self.series.iter().map(|s| s.name.as_str()).filter(|name| !name.contains(';'))
    }
}

impl Source for Memory {
    fn fetch(&self, requests: &[FetchRequest], _: &Cancel) -> Result<Vec<Vec<Fetched>>, SourceError> {
        let answer = |request: &FetchRequest| {
            let glob = regex_of(&request.pattern);
            let hit = |s: &&Stored| s.name == request.pattern || (!s.name.contains(';') && glob.is_match(&s.name));
            self.series.iter().filter(hit).map(|s| window(s, request.from, request.until)).collect()
        };
        Ok(requests.iter().map(answer).collect())
    }
}

/// `(from, until]`, on multiples of the step.
fn window(series: &Stored, from: i64, until: i64) -> Fetched {
    let step = series.step;
    let start = from - from.rem_euclid(step) + step;
    let end = (until - until.rem_euclid(step) + step).max(start);
    let value = |i: i64| {
        let at = usize::try_from((start - series.first) / step + i).ok();
        at.and_then(|at| series.values.get(at)).copied().unwrap_or(f64::NAN)
    };
    let values: Arc<[f64]> = (0..(end - start) / step).map(value).collect();
    Fetched { name: series.name.clone(), start, end, step, values }
}

/// A glob as a regular expression over whole names.
fn regex_of(glob: &str) -> Regex {
    let mut regex = String::from("^");
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            // A node `**` stands for any number of nodes, none included.
            '*' if rest.starts_with("**.") => ("(.*\\.)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^.]*".to_owned(), 1),
            '?' => ("[^.]".to_owned(), 1),
            '[' if rest.starts_with("[!") => ("[^".to_owned(), 2),
            '[' | ']' => (c.to_string(), 1),
            '{' => ("(".to_owned(), 1),
            '}' => (")".to_owned(), 1),
            ',' => ("|".to_owned(), 1),
            '-' => ("-".to_owned(), 1),
            _ => (regex::escape(&c.to_string()), c.len_utf8()),
        };
        regex.push_str(&piece);
        rest = &rest[length..];
    }
    // What is no pattern at all matches nothing.
    Regex::new(&format!("{regex}$")).unwrap_or_else(|_| Regex::new("$^x").expect("a regex"))
}
