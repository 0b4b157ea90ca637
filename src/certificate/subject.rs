//! The name in a certificate.

/// Tags of the values in a certificate that are looked at (X.690).
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
/// `[0]`, around the version.
const VERSION: u8 = 0xa0;
/// UTF8String, PrintableString and IA5String: texts that are UTF-8 as they are.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];

/// 2.5.4.3: the common name.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// The common name of the subject of a certificate in DER; of several the last, which is the most specific.
pub fn common_name(certificate: &[u8]) -> Option<String> {
    let mut outer = Der(certificate);
    let mut body = Der(Der(outer.take(SEQUENCE)?).take(SEQUENCE)?);
    if body.0.first() == Some(&VERSION) {
        body.next()?;
    }
    // Serial number, algorithm, issuer and validity stand before the subject.
    for _ in 0..4 {
        body.next()?;
    }
    let mut subject = Der(body.take(SEQUENCE)?);
    let mut found = None;
    while let Some(part) = subject.take(SET) {
        let mut part = Der(part);
        while let Some(pair) = part.take(SEQUENCE) {
            let mut pair = Der(pair);
            if pair.take(OBJECT) != Some(COMMON_NAME) {
                continue;
            }
            let (kind, text) = pair.next()?;
            found = TEXTS.contains(&kind).then(|| std::str::from_utf8(text).ok()).flatten().or(found);
        }
    }
    found.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Values one after the other, each with a tag and a length before it.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x0f))?;
                (bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The next value, if it is of this kind.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        (self.0.first() == Some(&tag)).then(|| self.next()).flatten().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::pem;

    #[test]
    fn the_name_of_a_certificate_is_found() {
        let fixture = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name);
            common_name(&pem::certificates(&path).unwrap()[0])
        };
        // As `openssl x509 -subject` prints them.
        assert_eq!(fixture("ca.pem").as_deref(), Some("test authority"));
        assert_eq!(fixture("stranger.pem").as_deref(), Some("stranger"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_have_no_name(bytes: Vec<u8>) {
            let _ = common_name(&bytes);
        }
    }
}
