//! `format=rickshaw`: points as objects with `x` and `y`.

use super::Line;
use super::json::push_string;
use super::page::push_number;
use crate::error::RenderError;
use plumbago_model::Cancel;

/// Appends the whole document, as long as somebody waits for it.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], cancel: &Cancel) -> Result<(), RenderError> {
    out.push(b'[');
    for (i, line) in lines.iter().enumerate() {
        cancel.check()?;
        out.extend_from_slice(if i == 0 { b"{\"target\":" } else { b",{\"target\":" });
        push_string(out, line.name);
        out.extend_from_slice(b",\"datapoints\":[");
        for (i, (value, stamp)) in line.points().enumerate() {
            out.extend_from_slice(if i == 0 { b"{\"x\":" } else { b",{\"x\":" });
            out.extend_from_slice(itoa::Buffer::new().format(stamp).as_bytes());
            out.extend_from_slice(b",\"y\":");
            push_number(out, value, b"1e9999");
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
    out.push(b']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_objects() {
        let mut out = Vec::new();
        write(
            &mut out,
            &[Line::new("a", &[], 60, 10, &[1.5, f64::NAN]), Line::new("b", &[], 0, 1, &[])],
            &Cancel::never(),
        )
        .unwrap();
        let text = r#"[{"target":"a","datapoints":[{"x":60,"y":1.5},{"x":70,"y":null}]},{"target":"b","datapoints":[]}]"#;
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}
