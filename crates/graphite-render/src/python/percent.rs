//! Python's `%` with a text on the left and one float on the right: `"%.2f MB" % 1.5`.

use crate::python::number::{general_digits, repr};

/// Wider than any legend, and small enough for any machine.
const MAX_WIDTH: usize = 1_000;

/// Why a text cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatError {
    #[error("the format `{0}` needs one place for a number, such as %g")]
    NoPlace(String),
    #[error("the format `{0}` has more than one place for a number")]
    TooManyPlaces(String),
    #[error("the format `{text}` cannot be used: {what}")]
    Specifier { text: String, what: String },
}

/// The text with its one place filled in. `%%` is a percent sign.
pub(crate) fn percent(text: &str, value: f64) -> Result<String, FormatError> {
    let mut out = String::with_capacity(text.len() + 24);
    let mut rest = text;
    let mut filled = false;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let wrong = |what: String| FormatError::Specifier { text: text.to_owned(), what };
        let (specifier, tail) = Specifier::parse(after).map_err(wrong)?;
        rest = tail;
        if specifier.conversion == '%' {
            out.push('%');
            continue;
        }
        if filled {
            return Err(FormatError::TooManyPlaces(text.to_owned()));
        }
        filled = true;
        out.push_str(&specifier.fill(value).map_err(wrong)?);
    }
    out.push_str(rest);
    if filled { Ok(out) } else { Err(FormatError::NoPlace(text.to_owned())) }
}

/// One `%` with what follows: flags, width, precision, conversion.
#[derive(Default)]
struct Specifier {
    left: bool,
    plus: bool,
    blank: bool,
    zeros: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl Specifier {
    /// Reads what stands behind a percent sign; the rest of the text comes back.
    fn parse(text: &str) -> Result<(Self, &str), String> {
        let mut specifier = Specifier::default();
        let flags = text.trim_start_matches(['-', '+', ' ', '0', '#']);
        for flag in text[..text.len() - flags.len()].chars() {
            match flag {
                '-' => specifier.left = true,
                '+' => specifier.plus = true,
                ' ' => specifier.blank = true,
                '0' => specifier.zeros = true,
                _ => specifier.alternate = true,
            }
        }
        let (width, mut rest) = digits(flags)?;
        specifier.width = width;
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = digits(after)?;
            specifier.precision = Some(precision);
            rest = after;
        }
        // Sizes of C, which Python reads and forgets.
        let rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
        let mut chars = rest.chars();
        specifier.conversion = chars.next().ok_or("it ends within a place for a number")?;
        Ok((specifier, chars.as_str()))
    }

    fn fill(&self, value: f64) -> Result<String, String> {
        let precision = self.precision.unwrap_or(6);
        let magnitude = value.abs();
        let digits = match self.conversion {
            'd' | 'i' | 'u' if !value.is_finite() => {
                return Err(format!("{} is not a whole number", repr(value)));
            }
            'd' | 'i' | 'u' => {
                format!("{:0>1$}", format!("{:.0}", magnitude.trunc()), self.precision.unwrap_or(0))
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' if !value.is_finite() => repr(magnitude),
            'f' | 'F' => format!("{magnitude:.precision$}"),
            'e' | 'E' => scientific(magnitude, precision),
            'g' | 'G' => general_digits(magnitude, precision.max(1), self.alternate),
            's' | 'r' | 'a' => {
                let text: String = repr(value).chars().take(self.precision.unwrap_or(usize::MAX)).collect();
                return Ok(self.padded("", &text, false));
            }
            other => return Err(format!("%{other} does not take a float; use %d, %f, %e, %g or %s")),
        };
        let digits = if self.conversion.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        // A value that rounds to the integer zero has no sign left; a float keeps it.
        let whole = matches!(self.conversion, 'd' | 'i' | 'u');
        let negative = value.is_sign_negative() && !value.is_nan() && !(whole && value.trunc() == 0.0);
        let sign = match (negative, self.plus, self.blank) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        Ok(self.padded(sign, &digits, self.zeros))
    }

    fn padded(&self, sign: &str, text: &str, zeros: bool) -> String {
        let fill = self.width.saturating_sub(sign.len() + text.len());
        match (self.left, zeros) {
            (true, _) => format!("{sign}{text}{}", " ".repeat(fill)),
            (false, true) => format!("{sign}{}{text}", "0".repeat(fill)),
            (false, false) => format!("{}{sign}{text}", " ".repeat(fill)),
        }
    }
}

/// A number that may be missing, which is 0.
fn digits(text: &str) -> Result<(usize, &str), String> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &text[..text.len() - rest.len()];
    if number.is_empty() {
        return Ok((0, rest));
    }
    let value = number.parse().ok().filter(|width| *width <= MAX_WIDTH);
    value.map(|width| (width, rest)).ok_or_else(|| format!("{number} is more than {MAX_WIDTH} characters"))
}

/// Python writes the exponent's sign and at least two digits.
fn scientific(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Expected texts are CPython's own.
    #[test]
    fn one_number_is_filled_in_as_by_python() {
        for (format, value, expected) in [
            ("%g", 69.0111, "69.0111"),
            ("a %d b", 54.7, "a 54 b"),
            ("%i%%", -54.7, "-54%"),
            ("%d", -0.5, "0"),
            ("%05d", -3.0, "-0003"),
            ("%+d", 3.0, "+3"),
            ("% d", 3.0, " 3"),
            ("%.3d", 3.0, "003"),
            ("%d", 1e22, "10000000000000000000000"),
            ("%f", 1.5, "1.500000"),
            ("%.2f", 2.675, "2.67"),
            ("%.f", 2.5, "2"),
            ("%8.2f|", 1.5, "    1.50|"),
            ("%-8.2f|", 1.5, "1.50    |"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%f", f64::INFINITY, "inf"),
            ("%05F", f64::INFINITY, "00INF"),
            ("%+f", f64::NEG_INFINITY, "-inf"),
            ("%f", -0.0, "-0.000000"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.0E", 0.00012, "1E-04"),
            ("%.3g", 1234.5, "1.23e+03"),
            ("%.10g", 1234.5, "1234.5"),
            ("%#g", 1.5, "1.50000"),
            ("%G", 1e-10, "1E-10"),
            ("%s", 42.0, "42.0"),
            ("%r", 0.1, "0.1"),
            ("%06s", 1.5, "   1.5"),
            ("%.2s", 42.5, "42"),
            ("%ld", 5.0, "5"),
            ("é%g", 1.0, "é1"),
        ] {
            assert_eq!(percent(format, value).as_deref(), Ok(expected), "{format}");
        }
    }

    #[test]
    fn formats_that_cannot_be_are_named() {
        for (format, value, part) in [
            ("plain", 1.0, "needs one place"),
            ("100%%", 1.0, "needs one place"),
            ("%g %g", 1.0, "more than one place"),
            ("%x", 1.0, "%x does not take a float"),
            ("%(a)s", 1.0, "%( does not"),
            ("%*d", 1.0, "%* does not"),
            ("100%", 1.0, "ends within"),
            ("%5", 1.0, "ends within"),
            ("%99999999999999999999d", 1.0, "more than 1000 characters"),
            ("%.5000f", 1.0, "5000 is more than"),
            ("%d", f64::NAN, "nan is not a whole number"),
        ] {
            let error = percent(format, value).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(format), "{format}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_format_is_filled_or_refused(format in "[%a-z0-9 .#+*()é-]{0,12}", value in any::<f64>()) {
            if let Ok(text) = percent(&format, value) {
                prop_assert!(text.len() < 5_000);
            }
        }
    }
}
