//! The two ways protocol 0 writes text on a line: Python 2's quoted `str`, and `unicode` with `\u` escapes.

/// The inside of `'…'` or `"…"`.
pub(super) fn unquote(line: &[u8]) -> Option<&[u8]> {
    match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => Some(inner),
        _ => None,
    }
}

/// Undoes the escapes of a quoted string.
pub(super) fn unescape_quoted(mut text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (&escape, rest) = text.split_first()?;
        text = rest;
        let plain = match escape {
            b'\\' | b'\'' | b'"' => escape,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let (digits, rest) = text.split_at_checked(2)?;
                text = rest;
                u8::try_from(hex(digits)?).ok()?
            }
            _ => return None,
        };
        out.push(plain);
    }
    Some(())
}

/// Undoes `\uXXXX` and `\UXXXXXXXX`; every other byte is a Latin-1 character. A lone half of a surrogate pair is written
/// as bytes that are not UTF-8, so that only the element with that name is rejected.
pub(super) fn unescape_unicode(mut text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut high: Option<u32> = None;
    while let Some((code, rest)) = next_code(text)? {
        text = rest;
        let code = match (high.take(), code) {
            (Some(high), 0xdc00..=0xdfff) => 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00),
            (Some(_), _) => {
                out.push(0xff);
                code
            }
            (None, _) => code,
        };
        match char::from_u32(code) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None if (0xd800..0xdc00).contains(&code) => high = Some(code),
            None => out.push(0xff),
        }
    }
    if high.is_some() {
        out.push(0xff);
    }
    Some(())
}

/// The next code point and what follows it; `Some(None)` at the end.
fn next_code(text: &[u8]) -> Option<Option<(u32, &[u8])>> {
    let digits = match text {
        [] => return Some(None),
        [b'\\', b'u', ..] => 4,
        [b'\\', b'U', ..] => 8,
        [byte, rest @ ..] => return Some(Some((u32::from(*byte), rest))),
    };
    let (code, rest) = text.get(2..)?.split_at_checked(digits)?;
    Some(Some((hex(code)?, rest)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |number, &digit| Some((number << 4) | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        unescape_quoted(text, &mut out).map(|()| out)
    }

    fn unicode(text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        unescape_unicode(text, &mut out).map(|()| out)
    }

    #[test]
    fn quotes_must_match() {
        assert_eq!(unquote(b"'a'"), Some(&b"a"[..]));
        assert_eq!(unquote(b"\"a'\""), Some(&b"a'"[..]));
        for bad in [&b""[..], b"'", b"a", b"'a\"", b"'a"] {
            assert_eq!(unquote(bad), None);
        }
    }

    #[test]
    fn quoted_escapes() {
        assert_eq!(quoted(br#"a\'b\\c\"\n\r\t\xc3\xa9"#), Some(b"a'b\\c\"\n\r\t\xc3\xa9".to_vec()));
        for bad in [&b"\\"[..], b"\\x", b"\\x1", b"\\xg0", b"\\q"] {
            assert_eq!(quoted(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn unicode_escapes() {
        assert_eq!(unicode(b"a\\u00e9\\U0001f600\xe9\\x"), Some("aé😀é\\x".as_bytes().to_vec()));
        assert_eq!(unicode(b"\\ud83d\\ude00"), Some("😀".as_bytes().to_vec()));
        for lone in [&b"\\ud83d"[..], b"\\ude00", b"\\ud83da", b"\\ud83d\\ud83d", b"\\U00110000"] {
            assert!(std::str::from_utf8(&unicode(lone).unwrap()).is_err(), "{lone:?}");
        }
        for bad in [&b"\\u"[..], b"\\u12", b"\\u12g4", b"\\U0001f60"] {
            assert_eq!(unicode(bad), None, "{bad:?}");
        }
    }
}
