//! Series as KairosDB, OpenTSDB and Ceres name them, a metric and its tags, and the one name under which Graphite has them.
//!
//! `cpu.load` with `host=a` and `dc=ams` is stored as `cpu.load;dc=ams;host=a`. Metrics and tags may hold what such a name cannot: a
//! semicolon, a leading `~`, an empty component, a control character, a tag called `name`. These characters become `%XX`, where `XX`
//! are the bytes in UTF-8, and all others stay as they are. Text that looks like such an escape already gets `25` behind its percent
//! sign, and any other percent sign stays. So every metric and tag comes back as it was sent, and the usual name is not changed at all.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use super::Reject;
use super::name::{self, MAX_COMPONENTS};

#[cfg(test)]
mod tests;

/// Keys and values of tags, as they were sent.
pub type Tags<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// What a text is for: each part of a name has characters of its own that it cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Metric,
    Key,
    Value,
}

/// The stored name of a metric with tags, in any order; of two tags with one key the later wins. Without tags it is a plain name.
///
/// ```
/// use plumbago_model::labelled::{parts, series_name};
///
/// let name = series_name("cpu load", &[("host", "a;b"), ("dc", "ams")])?;
/// assert_eq!(name, "cpu load;dc=ams;host=a%3Bb");
/// assert_eq!(parts(&name).1[1], ("host".into(), "a;b".into()));
/// # Ok::<_, plumbago_model::Reject>(())
/// ```
pub fn series_name(metric: &str, tags: &[(&str, &str)]) -> Result<String, Reject> {
    let mut name = String::new();
    push_series_name(metric, &mut tags.to_vec(), &mut name)?;
    Ok(name)
}

/// Adds the stored name to the end of a text, and puts the tags in its order. After an error the text is as it was.
pub fn push_series_name<T: AsRef<str>>(
    metric: &str,
    tags: &mut [(T, T)],
    to: &mut String,
) -> Result<(), Reject> {
    if !metric.is_empty()
        && tags.iter().any(|(key, value)| key.as_ref().is_empty() || value.as_ref().is_empty())
    {
        return Err(Reject::EmptyTag);
    }
    let begin = to.len();
    push_metric(metric, to)?;
    if tags.is_empty() && to.get(begin..).is_some_and(name::in_braces) {
        to.pop();
        to.push_str("%7D");
    }
    if tags.iter().all(|(key, _)| is_plain(key.as_ref(), Part::Key)) {
        put_in_order(tags, name::by_text);
    } else {
        put_in_order(tags, |a, b| name::by_text(&key(a), &key(b)));
    }
    let mut tags = tags.iter().peekable();
    while let Some((key, value)) = tags.next() {
        if tags.peek().is_none_or(|(next, _)| next.as_ref() != key.as_ref()) {
            to.push(';');
            push(key.as_ref(), Part::Key, to);
            to.push('=');
            push(value.as_ref(), Part::Value, to);
        }
    }
    Ok(())
}

/// Puts tags in the order of their keys, in which they usually come.
fn put_in_order<T: AsRef<str>>(tags: &mut [(T, T)], order: impl Fn(&str, &str) -> Ordering) {
    let order = |(a, _): &(T, T), (b, _): &(T, T)| order(a.as_ref(), b.as_ref());
    if !tags.is_sorted_by(|a, b| order(a, b).is_lt()) {
        // Stable, so that of tags with one key the one sent last stays last.
        tags.sort_by(order);
    }
}

/// A metric at the beginning of a text, up to the first blank, and what is behind it; none unless the metric is stored as it was sent.
/// This is for the lines that programs send: in doubt the answer is none.
#[inline]
pub fn split_plain_metric(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let (mut seen, mut last, mut is_empty, mut dots, mut end) = (0, b'.', false, 0, 0);
    while let Some(&byte) = bytes.get(end).filter(|byte| **byte != b' ') {
        seen |= CLASSES[usize::from(byte)];
        is_empty |= byte == b'.' && last == b'.';
        dots += usize::from(byte == b'.');
        last = byte;
        end += 1;
    }
    let is_plain = seen & (ODD | QUOTE) == 0 && !is_empty && last != b'.' && !text.starts_with('~');
    if !is_plain || dots >= MAX_COMPONENTS {
        return None;
    }
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Adds tags, which were sent as `dc=ams host=a`, as they follow a metric in stored names. Nothing is added unless they are stored in
/// this order and as they were sent; in doubt they are not.
pub fn push_plain_tags(words: &str, to: &mut String) -> Option<()> {
    let begin = to.len();
    let added = try_push_plain_tags(words, to);
    if added.is_none() {
        to.truncate(begin);
    }
    added
}

fn try_push_plain_tags(words: &str, to: &mut String) -> Option<()> {
    let (mut rest, mut before) = (words, None);
    loop {
        let (equals, in_key) = scan(rest.as_bytes(), b'=');
        let (key, after) = (rest.get(..equals)?, rest.get(equals + 1..)?);
        let (end, in_value) = scan(after.as_bytes(), b' ');
        let is_plain = in_key & (ODD | ODD_IN_KEY | QUOTE | BLANK) == 0
            && in_value & (ODD | QUOTE) == 0
            && !matches!(after.as_bytes().first(), None | Some(b' ' | b'~'));
        let comes_later = before.is_none_or(|before| name::by_text(before, key).is_lt());
        if !is_plain || !comes_later || key.is_empty() || key == "name" {
            return None;
        }
        to.push(';');
        to.push_str(rest.get(..equals + 1 + end)?);
        if end == after.len() {
            return Some(());
        }
        (rest, before) = (after.get(end + 1..)?, Some(key));
    }
}

/// Where a byte is, or else the end of the text, and the classes of all bytes before it. Words are short: a call of memchr costs more.
#[inline]
fn scan(text: &[u8], until: u8) -> (usize, u8) {
    let (mut seen, mut end) = (0, 0);
    while let Some(&byte) = text.get(end).filter(|byte| **byte != until) {
        seen |= CLASSES[usize::from(byte)];
        end += 1;
    }
    (end, seen)
}

/// Adds a metric as names with tags begin with it. After an error the text is as it was.
fn push_metric(metric: &str, to: &mut String) -> Result<(), Reject> {
    if metric.is_empty() {
        return Err(Reject::EmptyName);
    }
    let begin = to.len();
    push(metric, Part::Metric, to);
    let dots = to.bytes().skip(begin).filter(|byte| *byte == b'.').count();
    if dots >= MAX_COMPONENTS {
        to.truncate(begin);
        return Err(Reject::TooManyComponents);
    }
    Ok(())
}

/// The metric and the tags of a stored name, by their keys. A plain name has no tags.
pub fn parts(series: &str) -> (Cow<'_, str>, Tags<'_>) {
    let Some((metric, list)) = name::split(series) else { return (plain(series), Vec::new()) };
    let pairs = list.split(';').filter_map(|tag| tag.split_once('='));
    (plain(metric), pairs.map(|(key, value)| (plain(key), plain(value))).collect())
}

/// A metric as stored names spell it, and as the value of the tag `name`.
pub fn metric(text: &str) -> Cow<'_, str> {
    escaped(text, Part::Metric)
}

/// The key of a tag as stored names spell it.
pub fn key(text: &str) -> Cow<'_, str> {
    escaped(text, Part::Key)
}

/// The value of a tag as stored names spell it.
pub fn value(text: &str) -> Cow<'_, str> {
    escaped(text, Part::Value)
}

/// A metric, key or value as it was sent.
pub fn plain(stored: &str) -> Cow<'_, str> {
    let Some(mut at) = next_escape(stored, 0) else { return Cow::Borrowed(stored) };
    let (mut text, mut done) = (String::with_capacity(stored.len()), 0);
    loop {
        text.push_str(stored.get(done..at.begin).unwrap_or_default());
        text.push(at.means);
        done = at.end;
        match next_escape(stored, done) {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(stored.get(done..).unwrap_or_default());
    Cow::Owned(text)
}

/// How stored texts begin that stand for a text which begins with `prefix`: as it does, or so far and then with an escape. No stored
/// text begins with two of them.
pub fn stored_beginnings(prefix: &str) -> impl Iterator<Item = String> {
    let mut is_literal = true;
    let ways = prefix.char_indices().map(Some).chain([None]).filter_map(move |at| match at {
        _ if !is_literal => None,
        None => Some(prefix.to_owned()),
        Some((at, sent)) => {
            // A percent sign stands for itself, or begins what stands for it.
            is_literal = sent != '%';
            (sent == '%' || is_escapable(sent)).then(|| [prefix.get(..at).unwrap_or_default(), "%"].concat())
        }
    });
    ways.into_iter()
}

fn escaped(text: &str, part: Part) -> Cow<'_, str> {
    if is_plain(text, part) {
        return Cow::Borrowed(text);
    }
    let mut to = String::new();
    push(text, part, &mut to);
    Cow::Owned(to)
}

#[inline]
fn push(text: &str, part: Part, to: &mut String) {
    if is_plain(text, part) {
        return to.push_str(text);
    }
    let mut last = None;
    for (at, sent) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        if sent == '%' && escape(rest).is_some() {
            to.push_str("%25");
        } else if must_go(sent, last, rest, text, part) {
            let mut bytes = [0; 4];
            for byte in sent.encode_utf8(&mut bytes).bytes() {
                let _ = write!(to, "%{byte:02X}");
            }
        } else {
            to.push(sent);
        }
        last = Some(sent);
    }
}

/// Would this character change the name, or its meaning? `rest` of the text begins with it.
fn must_go(sent: char, last: Option<char>, rest: &str, text: &str, part: Part) -> bool {
    match (sent, part) {
        (';', _) => true,
        (control, _) if control.is_control() => true,
        ('!' | '^' | '=', Part::Key) => true,
        // The tag `name` is the metric.
        ('n', Part::Key) => last.is_none() && text == "name",
        ('~', Part::Metric | Part::Value) => last.is_none(),
        // Empty components are dropped.
        ('.', Part::Metric) => last.is_none_or(|last| last == '.') || rest.len() == 1,
        _ => false,
    }
}

/// What a byte is, for [`is_plain`].
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            // Control characters are U+0000–U+001F, U+007F, and U+0080–U+009F, which begin with 0xC2.
            0..=0x1f | 0x7f | 0xc2 | b';' | b'%' => ODD,
            b'!' | b'^' | b'=' => ODD_IN_KEY,
            b'"' => QUOTE,
            b' ' => BLANK,
            _ => 0,
        };
        byte += 1;
    }
    classes
};
const ODD: u8 = 1;
const ODD_IN_KEY: u8 = 2;
/// These are stored as they are, but where words are sent in a line, they are no part of one.
const QUOTE: u8 = 4;
const BLANK: u8 = 8;

/// Is nothing to be escaped? One pass over the usual text; in doubt the answer is no.
#[inline]
fn is_plain(text: &str, part: Part) -> bool {
    let bytes = text.as_bytes();
    let first = bytes.first().copied();
    let (mut seen, mut last, mut empty) = (0, b'.', false);
    if part == Part::Metric {
        for &byte in bytes {
            seen |= CLASSES[usize::from(byte)];
            empty |= byte == b'.' && last == b'.';
            last = byte;
        }
    } else {
        bytes.iter().for_each(|&byte| seen |= CLASSES[usize::from(byte)]);
    }
    match part {
        Part::Metric => seen & ODD == 0 && !empty && last != b'.' && first != Some(b'~'),
        Part::Key => seen & (ODD | ODD_IN_KEY) == 0 && text != "name",
        Part::Value => seen & ODD == 0 && first != Some(b'~'),
    }
}

/// An escape in a stored text: where it is, and what it means.
struct Escape {
    begin: usize,
    end: usize,
    means: char,
}

fn next_escape(stored: &str, from: usize) -> Option<Escape> {
    let percents = stored.get(from..)?.match_indices('%').map(|(at, _)| from + at);
    percents.into_iter().find_map(|begin| {
        let (len, means) = escape(stored.get(begin..)?)?;
        Some(Escape { begin, end: begin + len, means })
    })
}

/// The escape that a text begins with: its length and the character that it stands for. With `25` behind the percent sign it stands
/// for the percent sign.
fn escape(text: &str) -> Option<(usize, char)> {
    let after = text.strip_prefix('%')?;
    let mut rest = after;
    while let Some(fewer) = rest.strip_prefix("25") {
        rest = fewer;
    }
    let (len, means) = escapable(rest)?;
    if rest.len() == after.len() { Some((1 + len, means)) } else { Some((3, '%')) }
}

/// The character that must be escaped somewhere whose bytes a text begins with: `3B`, or `C2%85`.
fn escapable(text: &str) -> Option<(usize, char)> {
    let byte = hex(text)?;
    if byte == 0xc2 {
        let second = hex(text.get(2..)?.strip_prefix('%')?)?;
        return (0x80..=0x9f).contains(&second).then_some((5, char::from(second)));
    }
    let means = char::from(byte);
    (byte.is_ascii() && is_escapable(means)).then_some((2, means))
}

/// Must a character be escaped somewhere?
fn is_escapable(sent: char) -> bool {
    sent.is_control() || matches!(sent, ';' | '!' | '^' | '=' | 'n' | '~' | '.' | '}')
}

/// The byte that two upper-case digits stand for.
fn hex(text: &str) -> Option<u8> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let [high, low, ..] = text.as_bytes() else { return None };
    Some(digit(high)? << 4 | digit(low)?)
}
