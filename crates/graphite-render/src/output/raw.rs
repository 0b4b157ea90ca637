//! `format=raw`: one text line per series, `name,start,end,step|value,value,…`, with values as Python prints them.

use std::io::Write as _;

use super::Line;
use crate::error::RenderError;
use crate::python::number::push_repr;
use plumbago_model::Cancel;

/// Appends one text line per series, as long as somebody waits for them.
pub fn write(out: &mut Vec<u8>, lines: &[Line<'_>], cancel: &Cancel) -> Result<(), RenderError> {
    for line in lines {
        cancel.check()?;
        // Writing into memory has nothing to fail on.
        let _ = write!(out, "{},{},{},{}|", line.name, line.start, line.end, line.step);
        for (i, &value) in line.values.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            if value.is_nan() {
                out.extend_from_slice(b"None");
            } else {
                push_repr(out, value);
            }
        }
        out.push(b'\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_pythons() {
        let mut out = Vec::new();
        let values = [1.0, f64::NAN, f64::INFINITY, 1e-5];
        write(
            &mut out,
            &[Line::new("a.b", &[], 60, 10, &values), Line::new("c", &[], 0, 1, &[])],
            &Cancel::never(),
        )
        .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a.b,60,100,10|1.0,None,inf,1e-05\nc,0,0,1|\n");
    }
}
