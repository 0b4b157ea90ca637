//! JSON as programs write it: texts without escapes, numbers of usual length. Of anything else it says that it is not usual, so it
//! reads less than serde_json does, and what it reads means the same to both.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Digits of the longest integer that is read: it fits every type.
const DIGITS: usize = 18;

/// Reads one value, which has to be all that there is.
pub(super) fn read<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value, Unusual> {
    let mut usual = Usual { text, at: 0 };
    let value = usual.deserialize_any(visitor)?;
    usual.skip_blanks();
    if usual.at == text.len() { Ok(value) } else { Err(Unusual) }
}

/// The text goes on in a way that is not known here, or a visitor wanted no more.
#[derive(Debug)]
pub(super) struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not usual")
    }
}

impl std::error::Error for Unusual {}

impl serde::de::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A text, and how far it is read.
struct Usual<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Usual<'de> {
    fn rest(&self) -> &'de [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.rest().first() {
            self.at += 1;
        }
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Result<u8, Unusual> {
        self.skip_blanks();
        self.rest().first().copied().ok_or(Unusual)
    }

    fn take(&mut self, wanted: u8) -> Result<(), Unusual> {
        if self.peek()? != wanted {
            return Err(Unusual);
        }
        self.at += 1;
        Ok(())
    }

    /// Begins, or goes on with, the entries of something that ends with `close`. False at its end.
    fn goes_on(&mut self, close: u8, is_first: &mut bool) -> Result<bool, Unusual> {
        let next = self.peek()?;
        let is_first = std::mem::replace(is_first, false);
        match next {
            _ if next == close => self.at += 1,
            b',' if !is_first => {
                self.at += 1;
                // A comma is followed by an entry.
                return if self.peek()? == close { Err(Unusual) } else { Ok(true) };
            }
            _ => return if is_first { Ok(true) } else { Err(Unusual) },
        }
        Ok(false)
    }

    /// A text, from its first quote to its last.
    fn text(&mut self) -> Result<&'de str, Unusual> {
        self.take(b'"')?;
        let len = text_len(self.rest()).ok_or(Unusual)?;
        let text = self.text.get(self.at..self.at + len).ok_or(Unusual)?;
        self.at += len + 1;
        Ok(text)
    }

    fn literal(&mut self, wanted: &str) -> Result<(), Unusual> {
        if !self.rest().starts_with(wanted.as_bytes()) {
            return Err(Unusual);
        }
        self.at += wanted.len();
        Ok(())
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Unusual> {
        let rest = self.rest();
        let is_negative = rest.first() == Some(&b'-');
        let unsigned = rest.get(usize::from(is_negative)..).unwrap_or_default();
        let (integer, mut len) = digits(unsigned);
        let has_zeros = len > 1 && unsigned.first() == Some(&b'0');
        if len == 0 || len > DIGITS || has_zeros {
            return Err(Unusual);
        }
        match unsigned.get(len) {
            // The caller judges what follows a number.
            Some(b'.') => {
                let (_, decimals) = digits(unsigned.get(len + 1..).unwrap_or_default());
                len += 1 + decimals;
                if decimals == 0 || decimals > DIGITS || matches!(unsigned.get(len), Some(b'e' | b'E')) {
                    return Err(Unusual);
                }
            }
            Some(b'e' | b'E') => return Err(Unusual),
            // To serde_json a negative zero is no integer.
            _ if is_negative && integer > 0 => {
                self.at += 1 + len;
                return visitor.visit_i64(-integer);
            }
            _ if !is_negative => {
                self.at += len;
                return visitor.visit_u64(integer.unsigned_abs());
            }
            _ => return Err(Unusual),
        }
        let len = len + usize::from(is_negative);
        let number = fast_float2::parse(rest.get(..len).unwrap_or_default()).map_err(|_| Unusual)?;
        self.at += len;
        visitor.visit_f64(number)
    }
}

/// The digits that a text begins with: as a number, unless there are too many, and how many there are.
fn digits(text: &[u8]) -> (i64, usize) {
    let (mut number, mut len) = (0_i64, 0);
    while let Some(digit) = text.get(len).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        len += 1;
    }
    (number, len)
}

/// How many bytes there are before the closing quote, if there is one and nothing before it is escaped or a control character. Looks at
/// eight bytes at a time.
fn text_len(text: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let bytes = u64::from_le_bytes(*chunk);
        // The high bit of each byte that is zero, or less than a blank. The lowest of them is right, and no other matters.
        let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & HIGHS;
        let quotes = zeros(bytes ^ (ONES * u64::from(b'"')));
        let slashes = zeros(bytes ^ (ONES * u64::from(b'\\')));
        let controls = bytes.wrapping_sub(ONES * 0x20) & !bytes & HIGHS;
        let found = quotes | slashes | controls;
        if found != 0 {
            let first = found.trailing_zeros();
            return (quotes >> first & 1 == 1).then_some(at + first as usize / 8);
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
    (rest.get(end) == Some(&b'"')).then_some(at + end)
}

impl<'de> Deserializer<'de> for &mut Usual<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        match self.peek()? {
            b'"' => visitor.visit_borrowed_str(self.text()?),
            b'-' | b'0'..=b'9' => self.number(visitor),
            b'{' => {
                self.at += 1;
                visitor.visit_map(Entries { usual: self, close: b'}', is_first: true, is_over: false })
            }
            b'[' => {
                self.at += 1;
                visitor.visit_seq(Entries { usual: self, close: b']', is_first: true, is_over: false })
            }
            b't' => self.literal("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.literal("false").and_then(|()| visitor.visit_bool(false)),
            b'n' => self.literal("null").and_then(|()| visitor.visit_unit()),
            _ => Err(Unusual),
        }
    }

    /// What nobody wants may be nested without end.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        match self.peek()? {
            b'{' | b'[' => Err(Unusual),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier
    }
}

/// What is in an object or a list.
struct Entries<'u, 'de> {
    usual: &'u mut Usual<'de>,
    close: u8,
    is_first: bool,
    is_over: bool,
}

impl Entries<'_, '_> {
    fn goes_on(&mut self) -> Result<bool, Unusual> {
        if !self.is_over {
            self.is_over = !self.usual.goes_on(self.close, &mut self.is_first)?;
        }
        Ok(!self.is_over)
    }
}

impl<'de> SeqAccess<'de> for Entries<'_, 'de> {
    type Error = Unusual;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Unusual> {
        if self.goes_on()? { seed.deserialize(&mut *self.usual).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Unusual;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Unusual> {
        if !self.goes_on()? {
            return Ok(None);
        }
        let key = BorrowedStrDeserializer::new(self.usual.text()?);
        self.usual.take(b':')?;
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Unusual> {
        seed.deserialize(&mut *self.usual)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    struct Tree;

    impl<'de> Visitor<'de> for Tree {
        type Value = Value;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
            Value::deserialize(serde::de::value::MapAccessDeserializer::new(map))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Value, A::Error> {
            Value::deserialize(serde::de::value::SeqAccessDeserializer::new(list))
        }
    }

    fn read_usual(text: &str) -> Option<Value> {
        read(text, Tree).ok()
    }

    #[test]
    fn usual_text_is_read_and_all_else_is_not() {
        for text in [
            r#"[{"name":"m","timestamp":1600000000000,"value":12.5,"tags":{"a":"b","ü":"名"}}]"#,
            " { \"a\" : [ 0 , -1, 0.25, -0.0, true , false, null, [], {} ] }\r\n",
            r#"["123456789012345678","1234567","12345678",""]"#,
        ] {
            assert_eq!(read_usual(text), Some(serde_json::from_str(text).unwrap()), "{text}");
        }
        for text in [
            "",
            "[",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[01]",
            "[-]",
            "[1.]",
            "[.5]",
            "[1e5]",
            "[1.5E1]",
            "[-0]",
            "[1234567890123456789]",
            "[\"a\\n\"]",
            "[\"a\nbcdefghi\"]",
            "[\"1234567\u{1f}\"]",
            "[\"abc]",
            "[nul]",
            "[tru]",
            "[]]",
            "[] x",
            "{\"a\":1 \"b\":2}",
            "[+1]",
            "[\"a\"\"b\"]",
        ] {
            assert_eq!(read_usual(text), None, "{text}");
        }
    }

    proptest! {
        /// Whatever it reads means the same to serde_json.
        #[test]
        fn what_is_read_is_json(text in "[\\[{][\\]}{,: \"0-3a\\\\.e\\[-]{0,12}[\\]}]", long in "\\PC{0,20}") {
            for text in [&*text, &format!("[\"{long}\",\"{text}\"]"), &format!("{{\"{long}\":{text}}}")] {
                if let Some(value) = read_usual(text) {
                    prop_assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{}", text);
                }
            }
        }

        #[test]
        fn numbers_are_the_same(number in "-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,20})?") {
            let text = format!("[{number}]");
            if let Some(value) = read_usual(&text) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
