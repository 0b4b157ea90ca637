//! Numbers as Python prints them: names and raw output must match Graphite's character for character.

/// The shortest text that reads back as the same float, as Python's `repr`: `1.0`, `0.1`, `1e-05`, `1e+16`, `nan`, `inf`.
pub fn repr(value: f64) -> String {
    let mut out = Vec::with_capacity(24);
    push_repr(&mut out, value);
    String::from_utf8(out).expect("digits are ASCII")
}

/// Appends [`repr`] of the value.
pub fn push_repr(out: &mut Vec<u8>, value: f64) {
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e16).contains(&magnitude) {
        // In this range ryu writes plain decimals, exactly as Python does.
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else if value.is_finite() {
        let text = format!("{value:e}");
        let (digits, exponent) = split_exponent(&text);
        push_scientific(out, digits, exponent);
    } else {
        let text = if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        out.extend_from_slice(text.as_bytes());
    }
}

/// Python's `%g`: six significant digits, no trailing zeros: `7`, `0.5`, `1e+06`, `40.4912`.
pub fn general(value: f64) -> String {
    general_digits(value, 6, false)
}

/// The same with so many significant digits, at least one; `keep_zeros` leaves trailing zeros where they are (`%#g`).
pub(crate) fn general_digits(value: f64, digits: usize, keep_zeros: bool) -> String {
    if !value.is_finite() {
        return repr(value);
    }
    let trimmed = |text: &str| (if keep_zeros { text } else { trim_zeros(text) }).to_owned();
    // The exponent after rounding decides the style, so round first.
    let precision = digits.max(1) - 1;
    let rounded = format!("{value:.precision$e}");
    let (mantissa, exponent) = split_exponent(&rounded);
    match usize::try_from(i64::from(exponent) + 4) {
        Ok(shift) if shift <= precision + 4 => trimmed(&format!("{value:.*}", precision + 4 - shift)),
        _ => {
            let mut out = Vec::with_capacity(16);
            push_scientific(&mut out, &trimmed(mantissa), exponent);
            String::from_utf8(out).expect("digits are ASCII")
        }
    }
}

/// Rounds to `places` decimals, halves to even on the binary value, as Python's `round`.
pub fn round_to(value: f64, places: usize) -> f64 {
    const POWERS: [f64; 10] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    if !value.is_finite() {
        return value;
    }
    if let Some(power) = POWERS.get(places) {
        let scaled = value * power;
        let whole = scaled.round_ties_even();
        // One multiplication is off by half a unit in the last place at most. Further than that from a tie the whole
        // number is the right one, and dividing it by a power of ten gives the float nearest to the decimal.
        let to_tie = 0.5 - (scaled - whole).abs();
        if scaled.abs() < 4e15 && to_tie > scaled.abs() * f64::EPSILON {
            return whole / power;
        }
    }
    // Rust prints the exact decimal expansion rounded half to even, which is what Python's round does too.
    format!("{value:.places$}").parse().unwrap_or(value)
}

/// The same for places before the point too: a place of -2 rounds to hundreds.
pub fn round_to_place(value: f64, place: i64) -> f64 {
    match place {
        // More decimals than any float has.
        324.. => value,
        0..=323 => round_to(value, place as usize),
        -308..0 => round_to_multiple(value, 10_f64.powi(-place as i32)),
        _ => value * 0.0,
    }
}

/// The remainder of two floats is exact, so halves are known for sure; they go to the even multiple.
fn round_to_multiple(value: f64, unit: f64) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let rest = value % unit;
    let below = value - rest;
    let odd = (below / unit) % 2.0 != 0.0;
    let up = rest.abs() * 2.0 > unit || (rest.abs() * 2.0 == unit && odd);
    if up { below + unit.copysign(value) } else { below }
}

/// Python's `%d` of a float: its whole part, all digits of it.
pub fn whole(value: f64) -> String {
    // Adding zero makes a zero of minus zero.
    format!("{:.0}", value.trunc() + 0.0)
}

/// Rust's scientific form: mantissa and exponent.
fn split_exponent(text: &str) -> (&str, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

/// Python writes the exponent's sign and at least two digits.
fn push_scientific(out: &mut Vec<u8>, digits: &str, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    out.extend_from_slice(format!("{digits}e{sign}{:02}", exponent.abs()).as_bytes());
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Expected texts are CPython's own.
    #[test]
    fn repr_is_pythons() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (0.00001234, "1.234e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.2345e22, "1.2345e+22"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (42.41432179999999, "42.41432179999999"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn general_is_percent_g() {
        for (value, text) in [
            (7.0, "7"),
            (-3.25, "-3.25"),
            (0.0, "0"),
            (-0.0, "-0"),
            (40.49123456, "40.4912"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (100000.0, "100000"),
            (999999.5, "1e+06"),
            (999999.4, "999999"),
            (1234567.0, "1.23457e+06"),
            (1e100, "1e+100"),
            (0.000123456789, "0.000123457"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn rounding_goes_half_to_even_on_the_binary_value() {
        assert_eq!(round_to(0.5, 0), 0.0);
        assert_eq!(round_to(1.5, 0), 2.0);
        assert_eq!(round_to(2.675, 2), 2.67);
        assert_eq!(round_to(1.0000005, 6), 1.000001); // stored just above the half
        assert_eq!(round_to(0.0000015, 6), 2e-6);
        assert!(round_to(f64::NAN, 6).is_nan());
    }

    #[test]
    fn rounding_before_the_point() {
        for (value, place, expected) in [
            (1234.5, -2, 1200.0),
            (1250.0, -2, 1200.0),
            (1350.0, -2, 1400.0),
            (-1250.1, -2, -1300.0),
            (51.0, -2, 100.0),
            (1.5, 400, 1.5),
            (1.5, -400, 0.0),
            (2.675, 2, 2.67),
        ] {
            assert_eq!(round_to_place(value, place), expected, "{value} {place}");
        }
        assert!(round_to_place(f64::NAN, -1).is_nan());
        assert_eq!(round_to_place(f64::INFINITY, -1), f64::INFINITY);
    }

    #[test]
    fn whole_is_percent_d() {
        for (value, text) in [(7.9, "7"), (-0.5, "0"), (-3.7, "-3"), (1e20, "100000000000000000000")] {
            assert_eq!(whole(value), text);
        }
    }

    proptest! {
        #[test]
        fn repr_reads_back(value in any::<f64>().prop_filter("number", |v| !v.is_nan())) {
            prop_assert_eq!(repr(value).parse::<f64>().unwrap(), value);
        }

        #[test]
        fn rounding_fast_and_slow_agree(value in prop_oneof![-1e6_f64..1e6, -1e-3_f64..1e-3, -1e20_f64..1e20],
                                        places in 0_usize..10, half in any::<bool>()) {
            let value = if half { (value * 10.0).trunc() / 10.0 + 0.05 } else { value };
            prop_assert_eq!(round_to(value, places), format!("{value:.places$}").parse::<f64>().unwrap());
        }

        #[test]
        fn general_is_close(value in -1e12_f64..1e12) {
            let back: f64 = general(value).parse().unwrap();
            prop_assert!((back - value).abs() <= value.abs() * 1e-5);
        }
    }
}
