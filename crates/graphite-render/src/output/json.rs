//! `format=json`: `[{"target":…,"tags":{…},"datapoints":[[value,stamp],…]}]`.

use super::page::Page;
use super::{Line, thin};
use crate::error::RenderError;
use crate::series::Series;

/// Bytes a point and a name with its tags usually take, for sizing the buffer.
pub(super) const POINT_BYTES: usize = 32;
pub(super) const LINE_BYTES: usize = 256;

/// Appends the answer to a request that may want fewer points (`maxDataPoints`) and no nulls (`noNullPoints`).
///
/// Thinning comes first, then nulls are left out of what it gives.
pub fn write_series(
    out: &mut Vec<u8>,
    series: &[Series],
    max_points: Option<usize>,
    skip_nulls: bool,
) -> Result<(), RenderError> {
    write(out, &lines(series, max_points)?, skip_nulls);
    Ok(())
}

/// The lines of such an answer. Series without points are shown only beside others that have some.
pub fn lines(series: &[Series], max_points: Option<usize>) -> Result<Vec<Line<'_>>, RenderError> {
    let any_points = series.iter().any(|s| !s.values.is_empty());
    let series = if any_points { series } else { &[] };
    match max_points {
        Some(max) => thin::thin(series, max),
        None => Ok(Line::all(series)),
    }
}

/// Appends the whole document. With `skip_nulls` points without a value are left out, and lines without any point.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], skip_nulls: bool) {
    out.push(b'[');
    write_lines(out, lines, skip_nulls);
    out.push(b']');
}

/// Appends lines without the brackets around them, for a document that is written in parts.
pub fn write_lines(out: &mut Vec<u8>, lines: &[Line<'_>], skip_nulls: bool) {
    let points: usize = lines.iter().map(|line| line.values.len()).sum();
    out.reserve(points * POINT_BYTES + lines.len() * LINE_BYTES + 2);
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
}

fn write_line(out: &mut Vec<u8>, line: &Line<'_>, skip_nulls: bool) {
    open_line(out, line);
    write_points(out, line, skip_nulls);
    close_line(out);
}

/// Appends what stands before the points of a line.
pub(super) fn open_line(out: &mut Vec<u8>, line: &Line<'_>) {
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
}

/// Appends the points of a line.
pub(super) fn write_points(out: &mut Vec<u8>, line: &Line<'_>, skip_nulls: bool) {
    let start = out.len();
    out.push(b'[');
    let mut page = Page::new(out);
    for (value, stamp) in line.points() {
        // graphite-web pairs values with stamps up to the stated end, and drops what is left over.
        if stamp > line.end {
            break;
        }
        if skip_nulls && value.is_nan() {
            continue;
        }
        page.push_point(value, stamp);
    }
    page.flush();
    // Every point opens the next one. Take back the bracket of the point that never came, and the comma before it.
    let unused = if out.len() == start + 1 { "[" } else { ",[" };
    out.truncate(out.len() - unused.len());
}

/// Appends what stands behind the points of a line.
pub(super) fn close_line(out: &mut Vec<u8>) {
    out.extend_from_slice(b"]}");
}

pub(super) fn push_string(out: &mut Vec<u8>, text: &str) {
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
    fn series_without_points_are_shown_only_beside_others() {
        let named = |name: &str, values: Vec<f64>| Series::new(name, (60, 60, 10), values, 0.0);
        let shown = |series: &[Series], max_points| {
            let mut out = Vec::new();
            write_series(&mut out, series, max_points, false).unwrap();
            let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
            document.as_array().unwrap().len()
        };
        for max_points in [None, Some(5)] {
            assert_eq!(shown(&[named("a", Vec::new()), named("b", vec![1.0])], max_points), 2);
            assert_eq!(shown(&[named("a", Vec::new())], max_points), 0);
        }
    }

    #[test]
    fn values_beyond_the_stated_end_have_no_stamp() {
        let line = Line { end: 70, ..Line::new("a", &[], 60, 10, &[1.0, 2.0, 3.0]) };
        assert!(text(std::slice::from_ref(&line), false).ends_with("[[1.0,60],[2.0,70]]}]"));
        assert!(text(&[line], true).ends_with("[[1.0,60],[2.0,70]]}]"));
    }

    proptest! {
        #[test]
        fn any_name_is_valid_json(name in "\\PC{0,20}") {
            let document: serde_json::Value = serde_json::from_str(&text(&[Line::new(&name, &[], 0, 1, &[])], false)).unwrap();
            prop_assert_eq!(document[0]["target"].as_str(), Some(name.as_str()));
        }
    }
}
