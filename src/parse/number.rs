//! Numbers as Python's `float()` reads them, because carbon does.

use memchr::memchr;

/// A number: digits with an optional point and exponent, `inf`, `infinity` or `nan` in any case, all with an optional
/// sign. Underscores may separate digits.
pub(super) fn float(text: &[u8]) -> Option<f64> {
    match fast_float2::parse(text) {
        Ok(number) => Some(number),
        Err(_) if memchr(b'_', text).is_some() => fast_float2::parse(without_underscores(text)?).ok(),
        Err(_) => None,
    }
}

/// Digits only, if they fit: the usual timestamp.
pub(super) fn seconds(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 10 {
        return None;
    }
    digits(text)
}

/// The same for ten digits, which the compiler can unroll.
pub(super) fn ten_digits(text: &[u8; 10]) -> Option<u32> {
    digits(text)
}

/// At most ten digits, without a branch that depends on one.
#[inline(always)]
fn digits(text: &[u8]) -> Option<u32> {
    let mut number = 0_u64;
    let mut strays = false;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        strays |= digit > 9;
        number = number * 10 + u64::from(digit);
    }
    if strays { None } else { u32::try_from(number).ok() }
}

fn without_underscores(text: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if byte != b'_' {
            kept.push(byte);
            continue;
        }
        let digit_at = |i: Option<usize>| i.and_then(|i| text.get(i)).is_some_and(u8::is_ascii_digit);
        if !digit_at(at.checked_sub(1)) || !digit_at(at.checked_add(1)) {
            return None;
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_python_reads() {
        let good: &[(&str, f64)] = &[
            ("0", 0.0),
            ("-0", -0.0),
            ("+1", 1.0),
            ("42", 42.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("1E+3", 1000.0),
            ("-2.5e-1", -0.25),
            ("1_000", 1000.0),
            ("1_0.2_5e1_0", 10.25e10),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("INF", f64::INFINITY),
            ("1e999", f64::INFINITY),
            ("007", 7.0),
        ];
        for (text, number) in good {
            assert_eq!(float(text.as_bytes()).map(f64::to_bits), Some(number.to_bits()), "{text}");
        }
        assert!(float(b"nan").is_some_and(f64::is_nan) && float(b"-NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn refuses_what_python_refuses() {
        for text in [
            "", "+", "-", ".", "e5", "1e", "1e+", "0x10", "1_", "_1", "1__0", "1_.5", "1._5", "1e_5", "1,5",
            "12a", "N", "infin", "nanx", "1 2", "--1", "i_nf",
        ] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn seconds_are_digits_that_fit() {
        assert_eq!(seconds(b"0"), Some(0));
        assert_eq!(seconds(b"1700000000"), Some(1_700_000_000));
        assert_eq!(seconds(b"4294967295"), Some(u32::MAX));
        for text in ["", "4294967296", "9999999999", "17000000000", "1.5", "-1", "12a", " 1", "/1", ":1"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_float_survives_its_own_text(number in any::<f64>().prop_filter("finite", |n| n.is_finite())) {
            prop_assert_eq!(float(number.to_string().as_bytes()).map(f64::to_bits), Some(number.to_bits()));
        }
    }
}
