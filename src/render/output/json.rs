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
    let mut stamp_text = itoa::Buffer::new();
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
        out.extend_from_slice(stamp_text.format(stamp).as_bytes());
        out.extend_from_slice(b"],");
    }
    if out.len() > start {
        out.pop();
    }
    out.extend_from_slice(b"]}");
}

/// A value in the fewest digits: `null`, `1.0`, `1e-7`; infinities as numbers too large for a double, since JSON has no
/// word for them.
fn push_value(out: &mut Vec<u8>, value: f64) {
    let whole = value as i64;
    // Counters and gauges are mostly whole numbers. Of these a double holds all below 2^53, far from the exponents.
    if whole as f64 == value && whole != 0 && whole.unsigned_abs() < 1 << 53 {
        out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
        out.extend_from_slice(b".0");
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
        assert!(text(&[line], true).ends_with("[[1.0,60],[2.0,70],[3.0,80]]}]"));
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
