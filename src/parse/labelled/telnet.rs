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
use crate::parse::{Limits, number};
use plumbago_model::{Arrival, Point, Reject, labelled};

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
    /// Batches of earlier lines, whose memory is used again.
    spare: Vec<Gathered>,
}

impl Told {
    /// Forgets what was said, and keeps the memory of one batch.
    pub fn clear(&mut self) {
        self.spare.append(&mut self.gathered);
        self.spare.truncate(1);
        self.spare.iter_mut().for_each(Gathered::clear);
        (self.lines, self.versions) = (0, 0);
    }

    /// Takes a line; `write` puts the name of its series behind those of others. Nothing is taken if it cannot.
    fn push(
        &mut self,
        arrival: Arrival,
        (point, is_rounded): (Point, bool),
        write: impl FnOnce(&mut String) -> Option<()>,
    ) -> Option<()> {
        if self.gathered.last().is_none_or(|gathered| !gathered.takes(arrival)) {
            self.gathered.push(self.spare.pop().unwrap_or_default());
        }
        let line = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let gathered = self.gathered.last_mut()?;
        gathered.push_new(arrival, line, point, write)?;
        gathered.rounded += u64::from(is_rounded);
        self.lines += 1;
        Some(())
    }
}

/// What the lines of one read have in common.
struct Lines<'a, 'l> {
    limits: &'l Limits,
    told: &'l mut Told,
    /// The name of the last point.
    name: String,
    /// The tags of the last usual line, and how they are stored, from the first semicolon on.
    tags: (&'a str, String),
}

/// Parses whole lines. `refused` gets the reason and the text of each line that is no point.
pub fn parse_lines<'a>(
    buffer: &'a [u8],
    limits: &Limits,
    told: &mut Told,
    mut refused: impl FnMut(Reject, &'a [u8]),
) {
    // Checking everything at once costs a fraction of checking each line.
    let text = std::str::from_utf8(buffer).ok();
    let mut lines = Lines { limits, told, name: String::new(), tags: ("", String::new()) };
    let mut next = 0;
    while let Some(rest) = buffer.get(next..).filter(|rest| !rest.is_empty()) {
        let end = next + memchr(b'\n', rest).unwrap_or(rest.len());
        let line = buffer.get(next..end).unwrap_or_default();
        let usual = text.and_then(|text| text.get(next..end)).and_then(|line| lines.take_usual(line));
        next = end + 1;
        if usual.is_some() || line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(reason) = parse_line(line, limits, lines.told, &mut lines.name) {
            lines.told.lines += 1;
            refused(reason, line);
        }
    }
}

impl<'a> Lines<'a, '_> {
    /// Takes a line as programs write it: `put`, one blank between words, and nothing in quotes. Any other is left alone.
    fn take_usual(&mut self, line: &'a str) -> Option<()> {
        if line.len() > self.limits.max_line_bytes {
            return None;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (metric, rest) = labelled::split_plain_metric(line.strip_prefix("put ")?)?;
        let (time, rest) = split_word(rest)?;
        let (value, tags) = split_word(rest)?;
        // No more digits than every integer has that a double holds.
        if value.len() > 15 || tags.is_empty() {
            return None;
        }
        let time = number::seconds(time.as_bytes()).map(i64::from).or_else(|| time.parse().ok())?;
        // As an integer, a negative zero is none.
        let value = fast_float2::parse(value)
            .ok()
            .filter(|number: &f64| *number != 0.0 || !value.starts_with('-'))?;
        let point = self.limits.point_at(millis(time), value).ok()?;
        // Of two tags with one key only one is stored. What they have in bytes counts all the same, as for other lines.
        if metric.len() + 1 + tags.len() > self.limits.max_name_bytes {
            return None;
        }
        self.know_tags(tags)?;
        self.told.push(Arrival::labelled(0), (point, false), |names| {
            let begin = names.len();
            names.push_str(metric);
            names.push_str(&self.tags.1);
            (names.len() - begin <= self.limits.max_name_bytes).then_some(())
        })
    }

    /// Senders send the metrics of one thing one after the other, so its tags often come again.
    #[inline]
    fn know_tags(&mut self, tags: &'a str) -> Option<()> {
        if self.tags.0 == tags { Some(()) } else { self.learn_tags(tags) }
    }

    fn learn_tags(&mut self, tags: &'a str) -> Option<()> {
        // Nothing is known until it is all there.
        self.tags.0 = "";
        self.tags.1.clear();
        if tags.contains(TTL) {
            return None;
        }
        if labelled::push_plain_tags(tags, &mut self.tags.1).is_none() {
            self.write_tags(tags)?;
        }
        self.tags.0 = tags;
        Some(())
    }

    /// The same for tags in any order and of any kind.
    fn write_tags(&mut self, tags: &str) -> Option<()> {
        let (mut list, mut rest) = (Vec::with_capacity(8), Some(tags));
        while let Some(words) = rest {
            let word = words.get(..memchr(b' ', words.as_bytes()).unwrap_or(words.len()))?;
            rest = words.get(word.len() + 1..);
            let equals = memchr(b'=', word.as_bytes()).filter(|_| is_word(word))?;
            list.push((word.get(..equals)?, word.get(equals + 1..)?));
        }
        self.name.clear();
        labelled::push_series_name("m", &mut list, &mut self.name).ok()?;
        self.tags.1.push_str(self.name.get(1..)?);
        Some(())
    }
}

/// The text before the first blank, and what is behind it.
#[inline]
fn split_word(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| byte == b' ')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Is a text one word that means itself?
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().fold(true, |is_word, byte| is_word & (byte > b' ') & (byte != b'"'))
}

fn millis(time: i64) -> i64 {
    if time >= FIRST_MILLIS { time } else { time.saturating_mul(1000) }
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
    let millis = if is_millis { time } else { millis(time) };
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
    series_name(limits, &metric, &mut tags, name)?;
    let point = limits.point_at(millis, value)?;
    told.push(Arrival::labelled(keep_secs), (point, is_rounded), |names| {
        names.push_str(name);
        Some(())
    });
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
