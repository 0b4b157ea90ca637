//! A page of memory that points are written into as text before it goes to the document.
//!
//! A dashboard asks for a hundred thousand points at a time, and formatting them is most of the work of a render. Every
//! piece of a point is written here in pieces of a fixed size, of which only the used part counts: the processor does
//! that in a move or two, where appending texts of any length is a call each. What stands between two values is one such piece.

/// Bytes of a page. It stays in the first-level cache.
const PAGE_BYTES: usize = 4096;
/// More than the longest point takes: brackets, a value of 24 bytes, a stamp of 20, and what is not used of the last piece.
const POINT_BYTES: usize = 64;

/// `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// See the module documentation.
pub(super) struct Page<'a> {
    out: &'a mut Vec<u8>,
    bytes: [u8; PAGE_BYTES],
    at: usize,
    /// All of the last stamp but its last four digits, which stay the same for a long while.
    high: i64,
    /// What follows a value with such a stamp, `,1795130000],[`, with zero bytes in the place of the four digits.
    behind: u128,
    behind_len: usize,
    /// Where the four digits are, in bits.
    digits_at: u32,
}

/// What ends a point and begins the next one.
const BETWEEN: &[u8; 3] = b"],[";

impl<'a> Page<'a> {
    /// An empty page before `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, bytes: [0; PAGE_BYTES], at: 0, high: 0, behind: 0, behind_len: 0, digits_at: 0 }
    }

    /// Writes `value,stamp],[`.
    pub(super) fn push_point(&mut self, value: f64, stamp: i64) {
        if self.at > PAGE_BYTES - POINT_BYTES {
            self.flush();
        }
        self.push_value(value);
        self.push_stamp(stamp);
    }

    /// Moves what was written to the document.
    pub(super) fn flush(&mut self) {
        self.out.extend_from_slice(&self.bytes[..self.at]);
        self.at = 0;
    }

    fn put<const N: usize>(&mut self, piece: [u8; N], used: usize) {
        self.bytes[self.at..self.at + N].copy_from_slice(&piece);
        self.at += used;
    }

    fn put_text(&mut self, text: &[u8]) {
        self.bytes[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    /// A value in the fewest digits: `null`, `1.0`, `1e-7`; infinities as numbers too large for a double, since JSON has
    /// no word for them.
    fn push_value(&mut self, value: f64) {
        if self.push_thousandths(value) {
            return;
        }
        let whole = value as i64;
        if value.is_nan() {
            self.put(*b"null", 4);
        } else if value.is_infinite() {
            self.put_text(if value > 0.0 { b"1e9999" } else { b"-1e9999" });
        } else if whole as f64 == value && whole != 0 && whole.unsigned_abs() < 1 << 53 {
            self.put_text(itoa::Buffer::new().format(whole).as_bytes());
            self.put(*b".0", 2);
        } else {
            // Faster than the printer behind Python's spelling, from which it differs in small numbers only: `1e-7` for
            // `1e-07`. No number is longer than what is left, so there is nothing to fail on.
            let mut rest = &mut self.bytes[self.at..];
            let before = rest.len();
            let _ = serde_json::to_writer(&mut rest, &value);
            self.at += before - rest.len();
        }
    }

    /// Writes a value of at most three decimals and fifteen digits, as counters and most gauges are. Two such decimals
    /// never share a double, so the digits that divide back to the value are the fewest there are.
    fn push_thousandths(&mut self, value: f64) -> bool {
        // The cast takes the fraction off; of anything that is not a number or too large it makes something that fails
        // the test.
        let scaled = (value * 1000.0 + 0.5_f64.copysign(value)) as i64;
        if scaled as f64 / 1000.0 != value || scaled.unsigned_abs() >= 1_000_000_000_000_000 || scaled == 0 {
            return false;
        }
        self.put([b'-'], usize::from(scaled < 0));
        let (whole, part) = (scaled.unsigned_abs() / 1000, (scaled.unsigned_abs() % 1000) as usize);
        let ([tens, ones], last) = (PAIRS[part / 10], b'0' + (part % 10) as u8);
        let fraction = u32::from_le_bytes([b'.', tens, ones, last]);
        let used = 2 + usize::from(part % 100 != 0) + usize::from(!part.is_multiple_of(10));
        if whole < 10_000 {
            let (digits, len) = up_to_four_digits(whole as usize);
            let text = u64::from(digits) | u64::from(fraction) << (8 * len);
            self.put(text.to_le_bytes(), len + used);
        } else {
            self.push_whole(whole);
            self.put(fraction.to_le_bytes(), used);
        }
        true
    }

    fn push_whole(&mut self, number: u64) {
        if number >= 10_000 {
            self.push_whole(number / 10_000);
            self.put(four_digits((number % 10_000) as usize), 4);
            return;
        }
        let (digits, len) = up_to_four_digits(number as usize);
        self.put(digits.to_le_bytes(), len);
    }

    /// The end of a point: a stamp, and what is around it.
    fn push_stamp(&mut self, stamp: i64) {
        let high = stamp / 10_000;
        // Seven digits before the last four are more years than anybody has data for; longer ones and those of less than five digits
        // are written plainly.
        if !(10_000..100_000_000_000).contains(&stamp) {
            self.put([b','], 1);
            self.put_text(itoa::Buffer::new().format(stamp).as_bytes());
            self.put(*BETWEEN, BETWEEN.len());
            return;
        }
        if high != self.high {
            self.know(high);
        }
        let digits = u32::from_le_bytes(four_digits((stamp % 10_000) as usize));
        let behind = self.behind | u128::from(digits) << self.digits_at;
        self.put(behind.to_le_bytes(), self.behind_len);
    }

    /// Prepares what follows values whose stamps begin like this.
    fn know(&mut self, high: i64) {
        let mut digits = itoa::Buffer::new();
        let text = digits.format(high).as_bytes();
        let mut behind = [0; 16];
        behind[0] = b',';
        behind[1..=text.len()].copy_from_slice(text);
        let end = 1 + text.len() + 4;
        behind[end..end + BETWEEN.len()].copy_from_slice(BETWEEN);
        self.high = high;
        self.behind = u128::from_le_bytes(behind);
        self.behind_len = end + BETWEEN.len();
        self.digits_at = 8 * (1 + text.len() as u32);
    }
}

/// The digits of a number below 10,000, the first in the lowest byte, and how many there are.
fn up_to_four_digits(number: usize) -> (u32, usize) {
    let leading = usize::from(number < 10) + usize::from(number < 100) + usize::from(number < 1000);
    (u32::from_le_bytes(four_digits(number)) >> (8 * leading), 4 - leading)
}

/// Appends a single number; infinity is written as `infinity` says.
pub(super) fn push_number(out: &mut Vec<u8>, value: f64, infinity: &[u8]) {
    if value.is_infinite() {
        out.extend_from_slice(if value < 0.0 { b"-" } else { b"" });
        out.extend_from_slice(infinity);
    } else if value.is_nan() {
        out.extend_from_slice(b"null");
    } else {
        crate::python::number::push_repr(out, value);
    }
}

fn four_digits(number: usize) -> [u8; 4] {
    let ([a, b], [c, d]) = (PAIRS[number / 100 % 100], PAIRS[number % 100]);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64, stamp: i64) -> String {
        let mut out = Vec::new();
        let mut page = Page::new(&mut out);
        page.push_point(value, stamp);
        page.flush();
        String::from_utf8(out).unwrap()
    }

    fn value_text(value: f64) -> String {
        text(value, 7).strip_suffix(",7],[").unwrap().to_owned()
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
            (-0.001, "-0.001"),
            (20.05, "20.05"),
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
        let mut out = Vec::new();
        let mut page = Page::new(&mut out);
        let stamps = [
            -5,
            0,
            7,
            9_999,
            10_000,
            10_001,
            1_799_999_999,
            1_800_000_000,
            1_800_000_060,
            99_999_999_999,
            100_000_000_000,
            99,
            i64::MAX,
            i64::MIN,
        ];
        for stamp in stamps {
            page.push_point(1.0, stamp);
        }
        page.flush();
        let expected: String = stamps.iter().map(|stamp| format!("1.0,{stamp}],[")).collect();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_page_is_passed_on_when_it_is_full() {
        let mut out = Vec::new();
        let mut page = Page::new(&mut out);
        for _ in 0..1000 {
            page.push_point(-1.234_567_890_123_456_7e-300, i64::MIN);
        }
        page.flush();
        assert_eq!(out, format!("-1.2345678901234568e-300,{}],[", i64::MIN).repeat(1000).as_bytes());
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

        #[test]
        fn numbers_read_back(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let back: f64 = value_text(value).parse().unwrap();
            prop_assert_eq!(back.to_bits(), value.to_bits());
        }

        #[test]
        fn whole_numbers_take_the_short_way_to_the_same_text(
            number in prop_oneof![-10_000_i64..10_000, -(1_i64 << 54)..1 << 54],
        ) {
            prop_assert_eq!(value_text(number as f64), crate::python::number::repr(number as f64));
        }
    }
}
