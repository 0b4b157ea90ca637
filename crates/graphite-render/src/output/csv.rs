//! `format=csv`: one row per point, `name,YYYY-MM-DD HH:MM:SS,value`, in the dialect spreadsheets read.

use std::borrow::Cow;
use std::io::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Line;
use crate::python::number::push_repr;

/// Bytes of a row beside the name, usually at most.
pub(super) const POINT_BYTES: usize = 32;

/// Appends the rows of all lines, with local times in `tz`. A point without a value has an empty field.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], tz: &TimeZone) {
    for line in lines {
        let name = quoted(line.name);
        out.reserve(line.values.len() * (name.len() + POINT_BYTES));
        for (value, stamp) in line.points() {
            out.extend_from_slice(name.as_bytes());
            out.push(b',');
            push_time(out, stamp, tz);
            out.push(b',');
            if !value.is_nan() {
                push_repr(out, value);
            }
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Quotes are put around a field that holds a comma, a quote or a line break; quotes inside are doubled.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}

fn push_time(out: &mut Vec<u8>, stamp: i64, tz: &TimeZone) {
    let Ok(timestamp) = Timestamp::from_second(stamp) else { return };
    let local = tz.to_datetime(timestamp);
    // Writing into memory has nothing to fail on.
    let _ = write!(
        out,
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        local.year(),
        local.month(),
        local.day(),
        local.hour(),
        local.minute(),
        local.second()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[Line<'_>], zone: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, lines, &TimeZone::get(zone).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_have_local_times_and_empty_nulls() {
        let line = Line::new("a.b", &[], 1_706_790_900, 60, &[1.0, f64::NAN, 1e16]);
        assert_eq!(
            text(&[line], "America/New_York"),
            "a.b,2024-02-01 07:35:00,1.0\r\na.b,2024-02-01 07:36:00,\r\na.b,2024-02-01 07:37:00,1e+16\r\n"
        );
        assert_eq!(text(&[], "UTC"), "");
    }

    #[test]
    fn names_are_quoted_as_excel_does() {
        let row = |name| text(&[Line::new(name, &[], 0, 1, &[2.5])], "UTC");
        assert_eq!(row("sum(a,b)"), "\"sum(a,b)\",1970-01-01 00:00:00,2.5\r\n");
        assert_eq!(row("a \"b\""), "\"a \"\"b\"\"\",1970-01-01 00:00:00,2.5\r\n");
        assert_eq!(row("a b'c"), "a b'c,1970-01-01 00:00:00,2.5\r\n");
    }
}
