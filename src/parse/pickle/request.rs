//! Carbon's cache queries: a dictionary with a `type`, and what that type needs.

use std::collections::HashSet;

use super::heap::{Heap, Value};
use super::{PickleError, machine};

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// `cache-query`: the points of one metric.
    Points(String),
    /// `cache-query-bulk`: the points of several.
    PointsOf(Vec<String>),
    /// `get-metadata`: the value of a metric's key.
    Get {
        /// Of which metric.
        metric: String,
        /// Carbon knows only `aggregationMethod`.
        key: String,
    },
    /// `set-metadata`: change it.
    Set {
        /// Of which metric.
        metric: String,
        /// Which.
        key: String,
    },
    /// A type that carbon does not have either.
    Unknown(String),
    /// The type is known, but something it needs is missing or not a string.
    Incomplete {
        /// The type.
        kind: String,
        /// What is missing.
        missing: &'static str,
    },
}

impl Request {
    /// Reads one whole frame, without its length.
    pub fn read(frame: &[u8]) -> Result<Self, PickleError> {
        let (heap, result) = machine::run(frame)?;
        let Value::Dictionary(items) = result else { return Err(PickleError::NotADictionary) };
        let entries = Entries { heap: &heap, items };
        let kind = entries.text("type").unwrap_or_default();
        Ok(entries.request(&kind).unwrap_or_else(|missing| Request::Incomplete { kind, missing }))
    }
}

/// A dictionary whose keys are texts.
struct Entries<'h> {
    heap: &'h Heap<'h>,
    items: u32,
}

impl Entries<'_> {
    fn request(&self, kind: &str) -> Result<Request, &'static str> {
        let metric = || self.text("metric").ok_or("metric");
        let key = || self.text("key").ok_or("key");
        Ok(match kind {
            "cache-query" => Request::Points(metric()?),
            "cache-query-bulk" => Request::PointsOf(self.texts("metrics").ok_or("metrics")?),
            "get-metadata" => Request::Get { metric: metric()?, key: key()? },
            "set-metadata" => Request::Set { metric: metric()?, key: key()? },
            other => Request::Unknown(other.to_owned()),
        })
    }

    /// The value of a key; of several the last, as in Python.
    fn get(&self, key: &str) -> Option<Value> {
        let mut items = self.heap.items(self.items);
        let mut found = None;
        while let (Some(name), Some(value)) = (items.next(), items.next()) {
            if self.heap.text(name) == Some(key.as_bytes()) {
                found = Some(value);
            }
        }
        found
    }

    fn text(&self, key: &str) -> Option<String> {
        self.utf8(self.get(key)?)
    }

    /// The strings of a list, each place of the frame once: a few bytes can repeat a long string many times.
    fn texts(&self, key: &str) -> Option<Vec<String>> {
        let Value::Sequence(list) = self.get(key)? else { return None };
        let mut seen = HashSet::new();
        let mut texts = Vec::new();
        for item in self.heap.items(list) {
            let place = match item {
                Value::Text { at, len } => (false, at, len),
                Value::Unescaped { at, len } => (true, at, len),
                _ => return None,
            };
            if seen.insert(place) {
                texts.push(self.utf8(item)?);
            }
        }
        Some(texts)
    }

    fn utf8(&self, value: Value) -> Option<String> {
        Some(std::str::from_utf8(self.heap.text(value)?).ok()?.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<u8> {
        let mut opcodes = vec![0x8c, text.len() as u8];
        opcodes.extend_from_slice(text.as_bytes());
        opcodes
    }

    /// As Python pickles a dictionary of several entries.
    fn dictionary(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut frame = vec![0x80, 4, b'}', 0x94, b'('];
        for (key, value) in entries {
            frame.extend(text(key));
            frame.extend(value);
        }
        frame.extend(b"u.");
        frame
    }

    fn read(entries: &[(&str, Vec<u8>)]) -> Request {
        Request::read(&dictionary(entries)).unwrap()
    }

    #[test]
    fn every_type_is_read() {
        let one = read(&[("type", text("cache-query")), ("metric", text("a.b"))]);
        assert_eq!(one, Request::Points("a.b".to_owned()));
        let list = [b"](".to_vec(), text("a"), text("b"), b"e".to_vec()].concat();
        let many = read(&[("metrics", list), ("type", text("cache-query-bulk"))]);
        assert_eq!(many, Request::PointsOf(vec!["a".to_owned(), "b".to_owned()]));
        let get = read(&[("type", text("get-metadata")), ("metric", text("a")), ("key", text("k"))]);
        assert_eq!(get, Request::Get { metric: "a".to_owned(), key: "k".to_owned() });
        let set = read(&[("type", text("set-metadata")), ("metric", text("a")), ("key", text("k"))]);
        assert_eq!(set, Request::Set { metric: "a".to_owned(), key: "k".to_owned() });
    }

    #[test]
    fn the_opcodes_of_old_protocols_make_the_same() {
        // Protocol 0: an empty dictionary, then one entry at a time.
        let old = b"(dS'type'\nS'cache-query'\nsS'metric'\nS'a.b'\ns.";
        assert_eq!(Request::read(old), Ok(Request::Points("a.b".to_owned())));
        let from_mark = b"(S'type'\nS'cache-query'\nS'metric'\nS'a'\nd.";
        assert_eq!(Request::read(from_mark), Ok(Request::Points("a".to_owned())));
    }

    #[test]
    fn a_name_that_is_repeated_by_reference_is_asked_for_once() {
        let list =
            [b"](".to_vec(), text("long"), b"q\x07".to_vec(), b"h\x07".repeat(50), b"e".to_vec()].concat();
        let many = read(&[("type", text("cache-query-bulk")), ("metrics", list)]);
        assert_eq!(many, Request::PointsOf(vec!["long".to_owned()]));
    }

    #[test]
    fn an_invalid_request_is_reported() {
        assert_eq!(read(&[("type", text("reboot"))]), Request::Unknown("reboot".to_owned()));
        assert_eq!(read(&[]), Request::Unknown(String::new()));
        let incomplete = Request::Incomplete { kind: "cache-query".to_owned(), missing: "metric" };
        assert_eq!(read(&[("type", text("cache-query"))]), incomplete);
        assert_eq!(read(&[("type", text("cache-query")), ("metric", b"K\x01".to_vec())]), incomplete);
        assert_eq!(Request::read(b"]."), Err(PickleError::NotADictionary));
        assert!(matches!(Request::read(b"}(K\x01u."), Err(PickleError::Malformed { .. })), "half an entry");
        assert!(matches!(Request::read(b"](K\x01K\x02u."), Err(PickleError::Malformed { .. })), "a list");
        assert!(
            matches!(Request::read(b"K\x01K\x02s."), Err(PickleError::Malformed { .. })),
            "nothing to set in"
        );
    }
}
