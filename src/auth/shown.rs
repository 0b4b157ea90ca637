//! What a request shows: the header `Authorization` with `Bearer TOKEN`, or `Basic` with a name and a password in base64, or the cookie
//! of a session.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use super::Offer;

/// The name of the cookie that a login on the page gives to the browser.
pub const SESSION_COOKIE: &str = "plumbago_session";

/// The session in a header `Cookie`.
pub fn session(cookies: &str) -> Option<&str> {
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == SESSION_COOKIE).map(|(_, id)| id)
}

/// What the header `Authorization` says; nothing if it cannot be read.
pub fn authorization(value: &str) -> Option<Offer> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return (!rest.is_empty()).then(|| Offer::Token(rest.to_owned()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(decode(rest)?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some(Offer::Password(name.to_owned(), password.to_owned()))
}

/// The bytes of a text in base64.
fn decode(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(bare.len() * 3 / 4);
    for group in bare.chunks(4) {
        let mut bits = 0_u32;
        for &symbol in group {
            bits = bits << 6 | value(symbol)?;
        }
        let bytes = (bits << (6 * (4 - group.len()))).to_be_bytes();
        match group.len() {
            1 => return None,
            len => out.extend_from_slice(bytes.get(1..len)?),
        }
    }
    Some(out)
}

fn value(symbol: u8) -> Option<u32> {
    Some(u32::from(match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test may fail this way")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_passwords_and_tokens_are_read() {
        let password =
            |name: &str, password: &str| Some(Offer::Password(name.to_owned(), password.to_owned()));
        assert!(authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") == password("Aladdin", "open sesame"));
        assert!(authorization("basic YTpiOmM=") == password("a", "b:c"));
        assert!(authorization("Basic Og==") == password("", ""));
        assert!(authorization("Bearer plumbago_1") == Some(Offer::Token("plumbago_1".to_owned())));
        for wrong in [
            "",
            "Basic",
            "Basic ",
            "Basic !",
            "Basic YQ==",
            "Basic YTpi=YTpi",
            "Bearer ",
            "Digest a=b",
            "Basic /w==",
        ] {
            assert!(authorization(wrong).is_none(), "{wrong}");
        }
    }

    /// As others write it.
    fn encode(bytes: &[u8]) -> String {
        const SYMBOLS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for group in bytes.chunks(3) {
            let mut word = [0; 4];
            word[1..=group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(word);
            for nth in 0..4 {
                let symbol = SYMBOLS[(bits >> (18 - 6 * nth) & 63) as usize];
                out.push(if nth <= group.len() { char::from(symbol) } else { '=' });
            }
        }
        out
    }

    proptest! {
        #[test]
        fn base64_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_header_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = (authorization(&text), session(&text));
            let _ = authorization(&format!("Basic {text}"));
        }
    }
}
