//! `format=json`: `[{"target":…,"tags":{…},"datapoints":[[value,stamp],…]}]`.
//!
//! Written by hand into one buffer: a dashboard asks for a hundred thousand points at a time, and most of the time of a
//! render would otherwise go into formatting them.

use super::Line;

/// Bytes a point and a name with its tags usually take, for sizing the buffer.
const POINT_BYTES: usize = 32;
const LINE_BYTES: usize = 256;

/// Appends the whole document. With `skip_nulls` points without a value are left out, and lines without any point.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], skip_nulls: bool) {
    let points: usize = lines.iter().map(|line| line.values.len()).sum();
    out.reserve(points * POINT_BYTES + lines.len() * LINE_BYTES + 2);
    out.push(b'[');
    let start = out.len();
    for line in lines {
        if skip_nulls && line.values.iter().all(|value| value.is_nan()) {
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        write_line(out, line, skip_nulls);
    }
    out.push(b']');
}

fn write_line(out: &mut Vec<u8>, line: &Line<'_>, skip_nulls: bool) {
    out.extend_from_slice(b"{\"target\":");
    push_string(out, line.name);
    out.extend_from_slice(b",\"tags\":{");
    for (i, (tag, value)) in line.tags.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        push_string(out, tag);
        out.push(b':');
        push_string(out, value);
    }
    out.extend_from_slice(b"},\"datapoints\":[");
    let start = out.len();
    let mut stamps = Stamps::default();
    for (value, stamp) in line.points() {
        // graphite-web pairs values with stamps up to the stated end, and drops what is left over.
        if stamp > line.end {
            break;
        }
        if skip_nulls && value.is_nan() {
            continue;
        }
        out.push(b'[');
        push_value(out, value);
        out.push(b',');
        stamps.push(out, stamp);
        out.extend_from_slice(b"],");
    }
    if out.len() > start {
        out.pop();
    }
    out.extend_from_slice(b"]}");
}

/// Writes ascending time stamps: all but the last four digits are the same for a long while.
#[derive(Default)]
struct Stamps {
    high: i64,
    high_text: Vec<u8>,
}

impl Stamps {
    fn push(&mut self, out: &mut Vec<u8>, stamp: i64) {
        if stamp < 10_000 {
            out.extend_from_slice(itoa::Buffer::new().format(stamp).as_bytes());
            return;
        }
        let (high, low) = (stamp / 10_000, stamp % 10_000);
        if high != self.high {
            self.high = high;
            self.high_text.clear();
            self.high_text.extend_from_slice(itoa::Buffer::new().format(high).as_bytes());
        }
        out.extend_from_slice(&self.high_text);
        let digit = |n: i64| b'0' + (n % 10) as u8;
        out.extend_from_slice(&[digit(low / 1000), digit(low / 100), digit(low / 10), digit(low)]);
    }
}

/// A value in the fewest digits: `null`, `1.0`, `1e-7`; infinities as numbers too large for a double, since JSON has no
/// word for them.
fn push_value(out: &mut Vec<u8>, value: f64) {
    let whole = value as i64;
    // Counters and gauges are mostly whole numbers. Of these a double holds all below 2^53, far from the exponents.
    if whole as f64 == value && whole != 0 && whole.unsigned_abs() < 1 << 53 {
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
        out.extend_from_slice(b".0");
    } else if push_thousandths(out, value) {
        // Written.
    } else if value.is_finite() {
        // Faster than the printer behind Python's spelling, from which it differs in small numbers only: `1e-7` for
        // `1e-07`. Writing a number into memory has nothing to fail on.
        let _ = serde_json::to_writer(out, &value);
    } else if value.is_nan() {
        out.extend_from_slice(b"null");
    } else {
        out.extend_from_slice(if value > 0.0 { b"1e9999" } else { b"-1e9999" });
    }
}

/// Writes a value of at most three decimals and fifteen digits, as most gauges are. Two such decimals never share a double,
/// so the digits that divide back to the value are the fewest there are.
fn push_thousandths(out: &mut Vec<u8>, value: f64) -> bool {
    let scaled = (value * 1000.0).round();
    if scaled / 1000.0 != value || scaled.abs() >= 1e15 || value == 0.0 {
        return false;
    }
    let scaled = scaled as i64;
    let (whole, part) = (scaled.unsigned_abs() / 1000, scaled.unsigned_abs() % 1000);
    if scaled < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    let digits = [part / 100, part / 10 % 10, part % 10].map(|n| b'0' + n as u8);
    let used = if part % 10 != 0 { 3 } else { 1 + usize::from(part % 100 != 0) };
    out.push(b'.');
    out.extend_from_slice(&digits[..used]);
    true
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    // Writing a string into memory has nothing to fail on.
    let _ = serde_json::to_writer(&mut *out, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(lines: &[Line<'_>], skip_nulls: bool) -> String {
        let mut out = Vec::new();
        write(&mut out, lines, skip_nulls);
        String::from_utf8(out).unwrap()
    }

    fn value_text(value: f64) -> String {
        let mut out = Vec::new();
        push_value(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_numbers_or_null() {
        for (value, expected) in [
            (f64::NAN, "null"),
            (f64::INFINITY, "1e9999"),
            (f64::NEG_INFINITY, "-1e9999"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-42.0, "-42.0"),
            (0.1, "0.1"),
            (999_999_999_999_999.0, "999999999999999.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1e-7, "1e-7"),
        ] {
            assert_eq!(value_text(value), expected);
        }
    }

    #[test]
    fn stamps_are_written_as_numbers_are() {
        let mut stamps = Stamps::default();
        for stamp in [-5, 0, 7, 9_999, 10_000, 10_001, 1_799_999_999, 1_800_000_000, 1_800_000_060, 99] {
            let mut out = Vec::new();
            stamps.push(&mut out, stamp);
            assert_eq!(String::from_utf8(out).unwrap(), stamp.to_string());
        }
    }

    proptest! {
        #[test]
        fn short_decimals_have_the_fewest_digits(thousandths in -2_000_000_000_000_000_i64..2_000_000_000_000_000, by in 1_i64..2000) {
            for value in [thousandths as f64 / 1000.0, thousandths as f64 / by as f64, (thousandths % 5000) as f64 / 1000.0] {
                let text = value_text(value);
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
                prop_assert!(text.len() <= serde_json::to_string(&value).unwrap().len(), "{}", text);
            }
        }
    }

    #[test]
    fn a_document_holds_names_tags_and_points() {
        let tags = [("dc", "é"), ("name", "a\"b")];
        let lines = [
            Line::new("a\"b", &tags, 60, 10, &[1.5, f64::NAN, 3.0]),
            Line::new("empty", &[], 60, 10, &[f64::NAN]),
        ];
        assert_eq!(
            text(&lines, false),
            r#"[{"target":"a\"b","tags":{"dc":"é","name":"a\"b"},"datapoints":[[1.5,60],[null,70],[3.0,80]]},{"target":"empty","tags":{},"datapoints":[[null,60]]}]"#
        );
        assert_eq!(
            text(&lines, true),
            r#"[{"target":"a\"b","tags":{"dc":"é","name":"a\"b"},"datapoints":[[1.5,60],[3.0,80]]}]"#
        );
        assert_eq!(text(&[], false), "[]");
    }

    #[test]
    fn values_beyond_the_stated_end_have_no_stamp() {
        let line = Line { end: 70, ..Line::new("a", &[], 60, 10, &[1.0, 2.0, 3.0]) };
        assert!(text(std::slice::from_ref(&line), false).ends_with("[[1.0,60],[2.0,70]]}]"));
        assert!(text(&[line], true).ends_with("[[1.0,60],[2.0,70]]}]"));
    }

    proptest! {
        #[test]
        fn numbers_read_back(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let back: f64 = value_text(value).parse().unwrap();
            prop_assert_eq!(back.to_bits(), value.to_bits());
        }

        #[test]
        fn whole_numbers_take_the_short_way_to_the_same_text(
            number in prop_oneof![-10_000_i64..10_000, -(1_i64 << 54)..1 << 54],
        ) {
            prop_assert_eq!(value_text(number as f64), crate::render::number::repr(number as f64));
        }

        #[test]
        fn any_name_is_valid_json(name in "\\PC{0,20}") {
            let document: serde_json::Value = serde_json::from_str(&text(&[Line::new(&name, &[], 0, 1, &[])], false)).unwrap();
            prop_assert_eq!(document[0]["target"].as_str(), Some(name.as_str()));
        }
    }
}
