//! The key of a row: metric, start of the row, type of the values, tags.
//!
//! ```text
//! metric 00  row time, 8 bytes  [00 length type]  tags
//! ```
//!
//! The metric is UTF-8. The row time counts milliseconds since 1970, with its sign, from the highest byte on. The part in brackets is
//! missing in keys from before KairosDB had types: there the tags follow at once, and no tag begins with a zero byte.

use super::tags;

/// Ends the metric, and announces a type.
const ZERO: u8 = 0;

/// Which series a row belongs to, and which stretch of time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// The name of the metric.
    pub metric: String,
    /// When the row begins, in milliseconds since 1970.
    pub row_time: i64,
    /// KairosDB's name of the type of all values; `None` in keys from before there were types.
    pub data_type: Option<String>,
    /// The tags, as they stand in the key: sorted.
    pub tags: Vec<(String, String)>,
}

/// Bytes that are not the key of a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no zero byte.
    #[error("no zero byte ends the metric")]
    Metric,
    /// It ends within the row time.
    #[error("it ends within the row time, of which {0} of 8 bytes are there")]
    RowTime(usize),
    /// It ends within the type.
    #[error("it ends within the type")]
    DataType,
    /// It ends within a tag.
    #[error("it ends within a tag of `{0}`")]
    Tags(String),
    /// A part is not UTF-8.
    #[error("the {0} is not UTF-8")]
    Text(&'static str),
}

impl RowKey {
    /// Reads a key.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        let end = bytes.iter().position(|&byte| byte == ZERO).ok_or(KeyError::Metric)?;
        let (metric, rest) = (&bytes[..end], &bytes[end + 1..]);
        let Some((time, rest)) = rest.split_first_chunk::<8>() else {
            return Err(KeyError::RowTime(rest.len()));
        };
        let (data_type, rest) = match rest {
            [ZERO, rest @ ..] => {
                let (&length, rest) = rest.split_first().ok_or(KeyError::DataType)?;
                let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or(KeyError::DataType)?;
                (Some(text(name, "type")?.to_owned()), rest)
            }
            rest => (None, rest),
        };
        let rest = text(rest, "list of tags")?;
        Ok(Self {
            metric: text(metric, "metric")?.to_owned(),
            row_time: i64::from_be_bytes(*time),
            data_type,
            tags: tags::read(rest).ok_or_else(|| KeyError::Tags(rest.to_owned()))?,
        })
    }

    /// The key as KairosDB writes it. `None` for what no key can hold: a type whose name is longer than 255 bytes, a zero byte in the
    /// metric, or one before the first tag where no type is.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        if self.metric.as_bytes().contains(&ZERO) {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.metric.len() + 64);
        bytes.extend_from_slice(self.metric.as_bytes());
        bytes.push(ZERO);
        bytes.extend_from_slice(&self.row_time.to_be_bytes());
        if let Some(data_type) = &self.data_type {
            bytes.push(ZERO);
            bytes.push(u8::try_from(data_type.len()).ok()?);
            bytes.extend_from_slice(data_type.as_bytes());
        }
        let mut text = String::new();
        tags::write(&self.tags, &mut text);
        if self.data_type.is_none() && text.as_bytes().first() == Some(&ZERO) {
            return None;
        }
        bytes.extend_from_slice(text.as_bytes());
        Some(bytes)
    }
}

fn text<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, KeyError> {
    std::str::from_utf8(bytes).map_err(|_| KeyError::Text(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From KairosDB's own documents and an article about them: Temperature in Antalya at 1501672887988.
    const ANTALYA: &str =
        "54656d7065726174757265000000015d5d4b4400000b6b6169726f735f6c6f6e67636974793d416e74616c79613a";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn antalya() -> RowKey {
        RowKey {
            metric: "Temperature".to_owned(),
            row_time: 1_500_508_800_000,
            data_type: Some("kairos_long".to_owned()),
            tags: vec![("city".to_owned(), "Antalya".to_owned())],
        }
    }

    #[test]
    fn the_documented_example_reads_and_writes() {
        assert_eq!(RowKey::parse(&bytes(ANTALYA)).unwrap(), antalya());
        assert_eq!(antalya().bytes().unwrap(), bytes(ANTALYA));
    }

    #[test]
    fn a_key_without_a_type_is_of_the_time_before_types() {
        let old = RowKey { data_type: None, ..antalya() };
        let written = old.bytes().unwrap();
        assert!(written.ends_with(b"\x5d\x5d\x4b\x44\x00city=Antalya:"));
        assert_eq!(RowKey::parse(&written).unwrap(), old);
    }

    #[test]
    fn what_is_no_key_says_why() {
        let key = antalya().bytes().unwrap();
        let error = |bytes: &[u8]| RowKey::parse(bytes).unwrap_err().to_string();
        assert_eq!(error(b"Temperature"), "no zero byte ends the metric");
        assert_eq!(error(&key[..15]), "it ends within the row time, of which 3 of 8 bytes are there");
        assert_eq!(error(&key[..24]), "it ends within the type");
        assert_eq!(error(&key[..key.len() - 1]), "it ends within a tag of `city=Antalya`");
        assert_eq!(error(&[&b"\xff"[..], &key[11..]].concat()), "the metric is not UTF-8");
        let long = RowKey { data_type: Some("x".repeat(256)), ..antalya() };
        assert_eq!(long.bytes(), None);
        let torn = RowKey { metric: "a\0b".to_owned(), ..antalya() };
        let like_a_type =
            RowKey { tags: vec![("\0".to_owned(), String::new())], data_type: None, ..antalya() };
        assert_eq!((torn.bytes(), like_a_type.bytes()), (None, None));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            metric in "[^\u{0}]{0,12}",
            row_time: i64,
            data_type in proptest::option::of("[a-z_]{0,20}"),
            tags in proptest::collection::btree_map("[a-z:= é]{1,6}", "[a-z:= é]{0,6}", 0..4),
        ) {
            let tags = tags.into_iter().collect();
            let key = RowKey { metric, row_time, data_type, tags };
            prop_assert_eq!(RowKey::parse(&key.bytes().unwrap()), Ok(key));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = RowKey::parse(&bytes);
        }
    }
}
