//! `format=dygraph`: a table whose first column is the time in milliseconds.

use super::Line;
use super::json::push_string;
use super::page::push_number;
use crate::error::RenderError;
use plumbago_model::Cancel;

/// Appends the whole document, as long as somebody waits for it. The rows are those of the first series; the others are cut or filled
/// up to them.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], cancel: &Cancel) -> Result<(), RenderError> {
    let Some(first) = lines.first() else {
        out.extend_from_slice(b"{}");
        return Ok(());
    };
    out.extend_from_slice(b"{\"labels\":[\"Time\"");
    for line in lines {
        out.push(b',');
        push_string(out, line.name);
    }
    out.extend_from_slice(b"],\"data\":[");
    for (i, (_, stamp)) in first.points().enumerate() {
        cancel.check()?;
        out.extend_from_slice(if i == 0 { b"[" } else { b",[" });
        out.extend_from_slice(itoa::Buffer::new().format(stamp.saturating_mul(1000)).as_bytes());
        for line in lines {
            out.push(b',');
            push_number(out, line.values.get(i).copied().unwrap_or(f64::NAN), b"Infinity");
        }
        out.push(b']');
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_first_series() {
        let mut out = Vec::new();
        let lines = [
            Line::new("a", &[], 60, 10, &[1.0, f64::NAN]),
            Line::new("b\"", &[], 60, 10, &[f64::NEG_INFINITY]),
        ];
        write(&mut out, &lines, &Cancel::never()).unwrap();
        let text = r#"{"labels":["Time","a","b\""],"data":[[60000,1.0,-Infinity],[70000,null,null]]}"#;
        assert_eq!(String::from_utf8(out).unwrap(), text);
        let mut none = Vec::new();
        write(&mut none, &[], &Cancel::never()).unwrap();
        assert_eq!(none, b"{}");
    }
}
