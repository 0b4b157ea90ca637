//! Carbon's plaintext protocol: `name value timestamp`, one point a line.
//!
//! Nearly every line has single blanks between its fields and digits for a timestamp. [`usual`] parses those quickly. Whatever
//! it does not recognise goes to [`unusual`], which knows all the rules and the reasons to reject a line.

use memchr::memchr;

use super::Limits;
use super::number;
use plumbago_model::{Batch, Point, Reject};

#[cfg(test)]
mod tests;

/// Parses whole lines into `batch`. The line end may be `\n` or `\r\n` and may be missing from the last line.
///
/// `refused` is called with the reason and the text of each rejected line. Returns the number of lines that were accepted
/// or rejected; blank lines are neither.
pub fn parse_lines<'a>(
    buffer: &'a [u8],
    limits: &Limits,
    batch: &mut Batch<'a>,
    mut refused: impl FnMut(Reject, &'a [u8]),
) -> u64 {
    // Checking everything at once costs a fraction of checking each name.
    let text = std::str::from_utf8(buffer).ok();
    let (mut lines, mut next) = (0, 0);
    while next < buffer.len() {
        let (begin, end) = (
            next,
            memchr(b'\n', buffer.get(next..).unwrap_or_default()).map_or(buffer.len(), |end| next + end),
        );
        let line = buffer.get(begin..end).unwrap_or_default();
        next = end + 1;
        let parsed = match text.and_then(|text| usual_in(text, begin, line, limits)) {
            Some(taken) => Ok(taken),
            None => parse_line(line, limits),
        };
        match parsed {
            Ok((name, point)) => batch.push(name, point),
            Err(Reject::BadLine) if line.iter().copied().all(is_blank) => continue,
            Err(reason) => refused(reason, line),
        }
        lines += 1;
    }
    lines
}

/// Parses one line, without its `\n`. A blank line is a [`Reject::BadLine`].
pub fn parse_line<'a>(line: &'a [u8], limits: &Limits) -> Result<(&'a str, Point), Reject> {
    if line.len() > limits.max_line_bytes {
        return Err(Reject::LineTooLong);
    }
    let taken = usual(line, limits).and_then(|(name, point)| Some((std::str::from_utf8(name).ok()?, point)));
    match taken {
        Some(taken) => Ok(taken),
        None => unusual(line, limits),
    }
}

/// A usual line that starts at `begin` in a text.
fn usual_in<'a>(text: &'a str, begin: usize, line: &[u8], limits: &Limits) -> Option<(&'a str, Point)> {
    if line.len() > limits.max_line_bytes {
        return None;
    }
    let (name, point) = usual(line, limits)?;
    Some((text.get(begin..begin + name.len())?, point))
}

fn usual<'a>(line: &'a [u8], limits: &Limits) -> Option<(&'a [u8], Point)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (rest, timestamp) = match line.split_last_chunk::<11>() {
        // Ten digits have been enough for every second since 2001.
        Some((rest, [b' ', digits @ ..])) => (rest, number::ten_digits(digits)?),
        _ => split_last_blank(line).and_then(|(rest, digits)| Some((rest, number::seconds(digits)?)))?,
    };
    let (name, value) = split_last_blank(rest)?;
    let value = fast_float2::parse(value).ok()?;
    // No early exit, so that the compiler can test many bytes at once. This also rejects a name with a second blank or a
    // tab in it: that line does not have three fields.
    let unbroken = name.iter().fold(true, |unbroken, &byte| unbroken & (byte > b' '));
    if !unbroken || name.is_empty() {
        return None;
    }
    limits.check_value(value).ok()?;
    limits.check_future(timestamp).ok()?;
    Some((name, Point { timestamp, value }))
}

/// The parts before and after the last blank. Numbers are short: a plain loop is quicker than a call.
fn split_last_blank(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|&byte| byte == b' ')?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

fn unusual<'a>(line: &'a [u8], limits: &Limits) -> Result<(&'a str, Point), Reject> {
    let mut fields = line.split(|&byte| is_blank(byte)).filter(|field| !field.is_empty());
    let (Some(name), Some(value), Some(timestamp), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(Reject::BadLine);
    };
    let name = std::str::from_utf8(name).map_err(|_| Reject::NotUtf8)?;
    let value = number::float(value).ok_or(Reject::BadValue)?;
    let timestamp = number::float(timestamp).ok_or(Reject::BadTimestamp)?;
    Ok((name, limits.point(timestamp, value)?))
}

/// White space as carbon splits on it: blank, tab, line feed, vertical tab, form feed, carriage return.
fn is_blank(byte: u8) -> bool {
    byte == b' ' || (b'\t'..=b'\r').contains(&byte)
}
