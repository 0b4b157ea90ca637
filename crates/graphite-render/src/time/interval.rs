//! Lengths of time as Graphite writes them: `1min`, `-1h30min`, `2weeks`.

/// Why a text is not an interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntervalError {
    /// It starts with neither a digit nor a sign.
    #[error("invalid interval `{0}`: it must begin with a number or a sign, as in `5min` or `-1h`")]
    Start(String),
    /// A unit stands without a number.
    #[error("invalid interval `{text}`: a number is expected at `{at}`")]
    Number {
        /// The whole text.
        text: String,
        /// What stands where the number should be.
        at: String,
    },
    /// Not a unit.
    #[error("invalid interval `{text}`: `{unit}` is not a unit; use s, min, h, d, w, mon or y")]
    Unit {
        /// The whole text.
        text: String,
        /// The unit as written.
        unit: String,
    },
    /// More time than can be counted.
    #[error("invalid interval `{0}`: it is too long")]
    TooLong(String),
}

/// Ten thousand years: far beyond any data, and sums of a few of them still fit.
const MAX_SECS: i64 = 10_000 * 365 * 86_400;

/// Seconds of an interval: an optional sign, then `<int><unit>` repeated. The sign holds for the whole chain.
///
/// Units go by their first letters (`s`, `min`, `h`, `d`, `w`, `mon` = 30 days, `y` = 365 days), in lower case: a caller
/// whose grammar ignores case lowers the text first. A bare `m` is minutes: graphite-web refuses it, carbonapi and many
/// dashboards mean minutes by it. An empty text is zero.
pub fn parse_offset_secs(text: &str) -> Result<i64, IntervalError> {
    let (sign, mut rest) = match text.as_bytes().first() {
        None => return Ok(0),
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        Some(b'0'..=b'9') => (1, text),
        Some(_) => return Err(IntervalError::Start(text.to_owned())),
    };
    let mut total = 0_i64;
    while !rest.is_empty() {
        let (digits, after) = split_while(rest, |c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(IntervalError::Number { text: text.to_owned(), at: rest.to_owned() });
        }
        let (unit, after) = split_while(after, char::is_alphabetic);
        let unit_secs = unit_secs(unit)
            .ok_or_else(|| IntervalError::Unit { text: text.to_owned(), unit: unit.to_owned() })?;
        total = digits
            .parse::<i64>()
            .ok()
            .and_then(|n| n.checked_mul(unit_secs)?.checked_add(total))
            .filter(|&t| t <= MAX_SECS)
            .ok_or_else(|| IntervalError::TooLong(text.to_owned()))?;
        rest = after;
    }
    Ok(sign * total)
}

fn split_while(text: &str, take: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !take(c)).unwrap_or(text.len()))
}

/// Units by prefix. No prefix starts another one, so their order does not matter.
fn unit_secs(unit: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("s", 1),
        ("min", 60),
        ("h", 3_600),
        ("d", 86_400),
        ("w", 7 * 86_400),
        ("mon", 30 * 86_400),
        ("y", 365 * 86_400),
    ];
    if unit == "m" {
        return Some(60);
    }
    UNITS.iter().find(|(prefix, _)| unit.starts_with(prefix)).map(|&(_, secs)| secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_go_by_prefix() {
        for (text, secs) in [
            ("", 0),
            ("-", 0),
            ("10s", 10),
            ("1min", 60),
            ("2minutes", 120),
            ("5m", 300),
            ("1h5m", 3_900),
            ("5h", 18_000),
            ("1day", 86_400),
            ("2weeks", 1_209_600),
            ("1mon", 2_592_000),
            ("1y", 31_536_000),
            ("+1h", 3_600),
            ("-1h30min", -5_400),
            ("1h1h", 7_200),
        ] {
            assert_eq!(parse_offset_secs(text), Ok(secs), "{text}");
        }
    }

    #[test]
    fn errors_name_the_text_and_the_part() {
        for (text, part) in [
            ("5ms", "`ms` is not a unit"),
            ("5", "`` is not a unit"),
            ("5MIN", "`MIN`"),
            ("h", "must begin with"),
            ("-h", "expected at `h`"),
            ("1h 5min", "expected at ` 5min`"),
            ("1h-5min", "expected at `-5min`"),
            ("99999999999999999999s", "too long"),
            ("999999999999y", "too long"),
            ("5é", "`é` is not a unit"),
        ] {
            let error = parse_offset_secs(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(part), "{text}: {error}");
        }
    }
}
