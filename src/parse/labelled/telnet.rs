//! Lines of KairosDB's and OpenTSDB's telnet protocol: `put cpu.load 1700000000 0.5 host=a`.
//!
//! | command   | what                                                                             |
//! |-----------|----------------------------------------------------------------------------------|
//! | `put`     | a point; a time below 3,000,000,000 is in seconds, any other in milliseconds      |
//! | `putm`    | the same, always in milliseconds                                                 |
//! | `version` | asks for the version                                                             |
//!
//! A word in double quotes may hold blanks. The tag `kairos_opt.ttl` says for how many seconds to keep the points and is no tag. A line
//! without tags gets KairosDB's `add=tag`.

use std::borrow::Cow;

use memchr::memchr;

use super::{Gathered, Value, series_name};
use crate::parse::Limits;
use plumbago_model::{Arrival, Reject};

/// From here on a time is in milliseconds.
const FIRST_MILLIS: i64 = 3_000_000_000;

/// The tag that is an option.
const TTL: &str = "kairos_opt.ttl";

/// What some lines said.
#[derive(Debug, Default)]
pub struct Told {
    /// Points, in batches of those that are to be kept for the same time.
    pub gathered: Vec<Gathered>,
    /// Lines that were accepted or rejected as points.
    pub lines: u64,
    /// How often the version was asked for.
    pub versions: u64,
}

/// Parses whole lines. `refused` gets the reason and the text of each line that is no point.
pub fn parse_lines<'a>(
    buffer: &'a [u8],
    limits: &Limits,
    told: &mut Told,
    mut refused: impl FnMut(Reject, &'a [u8]),
) {
    let mut rest = buffer;
    let mut name = String::new();
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        if line.trim_ascii().is_empty() {
            continue;
        }
        match parse_line(line, limits, told, &mut name) {
            Ok(()) => {}
            Err(reason) => {
                told.lines += 1;
                refused(reason, line);
            }
        }
    }
}

fn parse_line(line: &[u8], limits: &Limits, told: &mut Told, name: &mut String) -> Result<(), Reject> {
    if line.len() > limits.max_line_bytes {
        return Err(Reject::LineTooLong);
    }
    let line = std::str::from_utf8(line).map_err(|_| Reject::NotUtf8)?;
    let mut words = Words(line);
    let is_millis = match words.next().as_deref() {
        Some("put") => false,
        Some("putm") => true,
        Some("puts") => return Err(Reject::UnsupportedType),
        Some("version") => {
            told.versions += 1;
            return Ok(());
        }
        _ => return Err(Reject::BadLine),
    };
    let (Some(metric), Some(time), Some(value)) = (words.next(), words.next(), words.next()) else {
        return Err(Reject::BadLine);
    };
    let time: i64 = time.parse().map_err(|_| Reject::BadTimestamp)?;
    let millis = if is_millis || time >= FIRST_MILLIS { time } else { time.saturating_mul(1000) };
    let Value::Number(value, is_rounded) = Value::of_text(&value) else { return Err(Reject::BadValue) };
    let mut tags = Vec::new();
    let mut keep_secs = 0;
    for word in words {
        let (key, value) = split(word)?;
        if key == TTL {
            keep_secs = value.parse().map_err(|_| Reject::BadLine)?;
        } else {
            tags.push((key, value));
        }
    }
    if tags.is_empty() {
        tags.push(("add".into(), "tag".into()));
    }
    series_name(limits, &metric, &tags, name)?;
    let point = limits.point_at(millis, value)?;
    let arrival = Arrival::labelled(keep_secs);
    if told.gathered.last().is_none_or(|gathered| !gathered.takes(arrival)) {
        told.gathered.push(Gathered::default());
    }
    if let Some(gathered) = told.gathered.last_mut() {
        let line = usize::try_from(told.lines).unwrap_or(usize::MAX);
        gathered.push(arrival, line, None, name, point);
        gathered.rounded += u64::from(is_rounded);
    }
    told.lines += 1;
    Ok(())
}

fn split(word: Cow<'_, str>) -> Result<(Cow<'_, str>, Cow<'_, str>), Reject> {
    match word {
        Cow::Borrowed(word) => {
            let (key, value) = word.split_once('=').ok_or(Reject::BadLine)?;
            Ok((key.into(), value.into()))
        }
        Cow::Owned(word) => {
            let (key, value) = word.split_once('=').ok_or(Reject::BadLine)?;
            Ok((key.to_owned().into(), value.to_owned().into()))
        }
    }
}

/// The words of a line.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Cow<'a, str>> {
        let line = self.0.trim_ascii_start();
        if line.is_empty() {
            self.0 = line;
            return None;
        }
        let end = line.find(|c: char| c.is_ascii_whitespace() || c == '"').unwrap_or(line.len());
        if line.as_bytes().get(end) != Some(&b'"') {
            let (word, rest) = line.split_at(end);
            self.0 = rest;
            return Some(Cow::Borrowed(word));
        }
        // Quotes go, and what is inside of them stays; a quote that is never closed reaches to the end.
        let (mut word, mut is_quoted, mut rest) = (String::new(), false, line.chars());
        for sent in rest.by_ref() {
            match sent {
                '"' => is_quoted = !is_quoted,
                blank if blank.is_ascii_whitespace() && !is_quoted => break,
                other => word.push(other),
            }
        }
        self.0 = rest.as_str();
        Some(Cow::Owned(word))
    }
}
