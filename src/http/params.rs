//! Request parameters: the query string and the form body, read as one list of pairs.

use super::error::Failure;

/// All parameters of a request in the order they were given, those of the body last.
#[derive(Debug, Default)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
}

impl Params {
    /// Adds the pairs of an `a=b&c=d` text.
    pub(super) fn extend(&mut self, encoded: &[u8]) {
        for pair in encoded.split(|&b| b == b'&').filter(|pair| !pair.is_empty()) {
            let cut = memchr::memchr(b'=', pair);
            let (key, value) = cut.map_or((pair, &[][..]), |at| (&pair[..at], &pair[at + 1..]));
            self.pairs.push((decode(key), decode(value)));
        }
    }

    /// Adds a pair that needs no decoding.
    pub(super) fn push(&mut self, name: String, value: String) {
        self.pairs.push((name, value));
    }

    /// The last value given for `name`: a body wins over the query string.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of `name`, or of `name[]` when there is none.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let list = |wanted: &str| -> Vec<&str> {
            self.pairs.iter().filter(|(key, _)| key == wanted).map(|(_, value)| value.as_str()).collect()
        };
        let plain = list(name);
        if plain.is_empty() { list(&format!("{name}[]")) } else { plain }
    }

    /// All pairs.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The pairs whose key is `name[key]`, as `(key, value)`.
    pub(super) fn keyed<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.pairs.iter().filter_map(move |(key, value)| {
            let key = key.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
            Some((key, value.as_str()))
        })
    }

    /// A whole number, `default` when it is not given.
    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64, Failure> {
        self.get(name).map_or(Ok(default), |text| {
            text.trim().parse().map_err(|_| {
                Failure::Invalid(format!("parameter `{name}` must be a whole number, not `{text}`"))
            })
        })
    }

    /// Is the number given and not 0?
    pub(super) fn switch(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.int(name, 0)? != 0)
    }
}

/// Percent-decoding that never fails: Grafana's browser mode sends queries unescaped, so a `%` without two hex digits
/// stands for itself, and bytes that are not UTF-8 become replacement characters.
fn decode(text: &[u8]) -> String {
    if memchr::memchr2(b'%', b'+', text).is_none() {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    rest = after;
                }
                _ => out.push(b'%'),
            },
            (byte, _) => out.push(*byte),
        }
    }
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|n| n as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn params(query: &str, body: &str) -> Params {
        let mut params = Params::default();
        params.extend(query.as_bytes());
        params.extend(body.as_bytes());
        params
    }

    #[test]
    fn escapes_are_decoded_and_stray_percents_stay() {
        for (text, decoded) in [
            ("a.b.*", "a.b.*"),
            ("a+b%20c", "a b c"),
            ("%7Ba%2cb%7d", "{a,b}"),
            ("100%", "100%"),
            ("100%2", "100%2"),
            ("%zz%41", "%zzA"),
            ("%%41", "%A"),
            ("gr%C3%BC%C3%9fe", "grüße"),
            ("grüße", "grüße"),
            ("%ff", "\u{fffd}"),
            ("a;b=c", "a;b=c"),
        ] {
            assert_eq!(decode(text.as_bytes()), decoded, "{text}");
        }
    }

    #[test]
    fn the_body_wins_and_lists_join() {
        let p = params("target=a&from=1&flag", "target=b&from=2&&x==y");
        assert_eq!(p.get("from"), Some("2"));
        assert_eq!(p.all("target"), ["a", "b"]);
        assert_eq!(p.get("flag"), Some(""));
        assert_eq!(p.get("x"), Some("=y"));
        assert_eq!(p.get("none"), None);
    }

    #[test]
    fn bracket_lists_count_when_the_plain_name_is_absent() {
        assert_eq!(params("target[]=a&target%5B%5D=b", "").all("target"), ["a", "b"]);
        assert_eq!(params("target[]=a&target=b", "").all("target"), ["b"]);
        let p = params("template[host]=web1&template[dc]=x", "");
        assert_eq!(p.keyed("template").collect::<Vec<_>>(), [("host", "web1"), ("dc", "x")]);
    }

    #[test]
    fn numbers_are_checked() {
        let p = params("a=1&b=x&c=0", "");
        assert!(p.switch("a").unwrap() && !p.switch("c").unwrap() && !p.switch("d").unwrap());
        assert!(p.int("b", 0).unwrap_err().to_string().contains("`x`"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut params = Params::default();
            params.extend(&bytes);
        }

        #[test]
        fn what_was_escaped_comes_back(text in "\\PC{0,20}") {
            let escaped: String = text.bytes().map(|b| format!("%{b:02X}")).collect();
            prop_assert_eq!(decode(escaped.as_bytes()), text);
        }
    }
}
