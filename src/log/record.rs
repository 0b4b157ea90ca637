//! Records as bytes.
//!
//! A frame is `[length u32][crc32c u32][kind u8][payload]`, little-endian; length and checksum are over kind and payload.
//! Points are fixed-width so that a replay is one pass over memory.

#![deny(
    clippy::indexing_slicing,
    reason = "these bytes come from outside: nothing in them may make us panic"
)]

use plumbago_model::{MetricId, Point, Policy, PolicyId, count};

pub(super) const FRAME_HEADER: usize = 8;
/// No record is longer, so a greater length is damage.
pub(super) const MAX_RECORD: usize = 64 << 20;

const POINTS: u8 = 1;
const METRICS: u8 = 2;
const POLICIES: u8 = 3;
const DELETED: u8 = 4;
const RENAMED: u8 = 5;
const OWNED: u8 = 6;
const OPENED: u8 = 7;
const POINT_BYTES: usize = 16;
/// Points in one record. It stays far below [`MAX_RECORD`].
const RECORD_POINTS: usize = 1 << 18;

/// One decoded record.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Accepted points in order, with the time of acceptance, which decided the stage that took them.
    Points {
        /// Seconds since the epoch.
        accepted: u32,
        /// The points.
        points: Vec<(MetricId, Point)>,
    },
    /// Metrics seen for the first time.
    Metrics(Vec<(MetricId, PolicyId, String)>),
    /// Policies used for the first time.
    Policies(Vec<(PolicyId, Policy)>),
    /// Metrics that were deleted.
    Deleted(Vec<MetricId>),
    /// Metrics that have other names from here on.
    Renamed(Vec<(MetricId, String)>),
    /// Metrics that count for a quota because of who created them.
    Owned(Vec<(MetricId, String)>),
    /// The first record of a segment: whose it is.
    Opened(Origin),
}

/// Where a segment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The id of the store.
    pub store: u64,
    /// The number of the segment in its log.
    pub segment: u64,
}

/// Appends the points, as several frames if there are very many.
pub fn encode_points(points: &[(MetricId, Point)], accepted: u32, out: &mut Vec<u8>) {
    for batch in points.chunks(RECORD_POINTS) {
        out.reserve(FRAME_HEADER + 5 + batch.len() * POINT_BYTES);
        frame(POINTS, out, |out| {
            out.extend_from_slice(&accepted.to_le_bytes());
            for (id, point) in batch {
                let mut bytes = [0u8; POINT_BYTES];
                bytes[..4].copy_from_slice(&id.0.to_le_bytes());
                bytes[4..8].copy_from_slice(&point.timestamp.to_le_bytes());
                bytes[8..].copy_from_slice(&point.value.to_le_bytes());
                out.extend_from_slice(&bytes);
            }
        });
    }
}

/// Appends a frame of new metrics.
pub fn encode_metrics<'a>(
    metrics: impl IntoIterator<Item = (MetricId, PolicyId, &'a str)>,
    out: &mut Vec<u8>,
) {
    frame(METRICS, out, |out| {
        for (id, policy, name) in metrics {
            out.extend_from_slice(&id.0.to_le_bytes());
            out.extend_from_slice(&policy.0.to_le_bytes());
            push_text(name, out);
        }
    });
}

/// Appends a frame of new policies.
pub fn encode_policies(policies: &[(PolicyId, Policy)], out: &mut Vec<u8>) {
    frame(POLICIES, out, |out| {
        for (id, policy) in policies {
            out.extend_from_slice(&id.0.to_le_bytes());
            push_text(&policy.to_string(), out);
        }
    });
}

/// Appends a frame of deletions.
pub fn encode_deleted(metrics: &[MetricId], out: &mut Vec<u8>) {
    frame(DELETED, out, |out| {
        for id in metrics {
            out.extend_from_slice(&id.0.to_le_bytes());
        }
    });
}

/// Appends a frame of new names of known metrics.
pub fn encode_renamed(names: &[(MetricId, String)], out: &mut Vec<u8>) {
    frame(RENAMED, out, |out| {
        for (id, name) in names {
            out.extend_from_slice(&id.0.to_le_bytes());
            push_text(name, out);
        }
    });
}

/// Appends a frame of the quotas of new metrics.
pub fn encode_owned(quotas: &[(MetricId, String)], out: &mut Vec<u8>) {
    frame(OWNED, out, |out| {
        for (id, quota) in quotas {
            out.extend_from_slice(&id.0.to_le_bytes());
            push_text(quota, out);
        }
    });
}

/// Appends the frame that a segment begins with.
pub(super) fn encode_opened(origin: Origin, out: &mut Vec<u8>) {
    frame(OPENED, out, |out| {
        out.extend_from_slice(&origin.store.to_le_bytes());
        out.extend_from_slice(&origin.segment.to_le_bytes());
    });
}

/// Could a record be of this kind and length?
pub(super) fn is_plausible(kind: u8, length: usize) -> bool {
    match kind {
        POINTS => length >= 5 && (length - 5).is_multiple_of(POINT_BYTES),
        METRICS..=OWNED => true,
        OPENED => length == 17,
        _ => false,
    }
}

#[expect(clippy::indexing_slicing, reason = "it writes only within what it has just appended")]
fn frame(kind: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER]);
    out.push(kind);
    body(out);
    let (header, content) = out[start..].split_at_mut(FRAME_HEADER);
    header[..4].copy_from_slice(&(content.len() as u32).to_le_bytes());
    header[4..].copy_from_slice(&crc32c::crc32c(content).to_le_bytes());
}

/// Names are limited far below this. A longer text would be truncated, not lost.
fn push_text(text: &str, out: &mut Vec<u8>) {
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(text.as_bytes().get(..usize::from(len)).unwrap_or_default());
}

/// Decodes the content of a frame whose checksum was right.
pub(super) fn decode(content: &[u8]) -> Result<Record, String> {
    let (&kind, payload) = content.split_first().ok_or("an empty record")?;
    let mut reader = Reader(payload);
    match kind {
        POINTS => decode_points(reader.u32()?, reader.0),
        METRICS => {
            reader.all(|r| Ok((MetricId(r.u32()?), PolicyId(r.u32()?), r.text()?))).map(Record::Metrics)
        }
        POLICIES => reader.all(|r| Ok((PolicyId(r.u32()?), r.text()?.parse()?))).map(Record::Policies),
        DELETED => reader.all(|r| Ok(MetricId(r.u32()?))).map(Record::Deleted),
        RENAMED => reader.all(|r| Ok((MetricId(r.u32()?), r.text()?))).map(Record::Renamed),
        OWNED => reader.all(|r| Ok((MetricId(r.u32()?), r.text()?))).map(Record::Owned),
        OPENED => Ok(Record::Opened(Origin { store: reader.u64()?, segment: reader.u64()? })),
        other => Err(format!("record kind {other} is unknown")),
    }
}

fn decode_points(accepted: u32, payload: &[u8]) -> Result<Record, String> {
    let (points, rest) = payload.as_chunks::<POINT_BYTES>();
    if !rest.is_empty() {
        return Err(format!("{} after the last point", count(rest.len(), "byte")));
    }
    let point = |bytes: &[u8; POINT_BYTES]| {
        let bits = u128::from_le_bytes(*bytes);
        let value = f64::from_bits((bits >> 64) as u64);
        (MetricId(bits as u32), Point { timestamp: (bits >> 32) as u32, value })
    };
    Ok(Record::Points { accepted, points: points.iter().map(point).collect() })
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, n: usize) -> Result<&[u8], String> {
        let (head, rest) = self.0.split_at_checked(n).ok_or("the record ends early")?;
        self.0 = rest;
        Ok(head)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(self.take(4)?.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(self.take(8)?.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn text(&mut self) -> Result<String, String> {
        let len = self.take(2)?.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
        String::from_utf8(self.take(len)?.to_vec()).map_err(|e| format!("a text is not UTF-8: {e}"))
    }

    fn all<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut items = Vec::new();
        while !self.0.is_empty() {
            items.push(one(self)?);
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: &[u8]) -> &[u8] {
        &bytes[FRAME_HEADER..]
    }

    #[test]
    fn every_kind_round_trips() {
        let mut out = Vec::new();
        let points = vec![
            (MetricId(7), Point { timestamp: 60, value: -0.5 }),
            (MetricId(u32::MAX), Point { timestamp: u32::MAX, value: f64::INFINITY }),
        ];
        encode_points(&points, 99, &mut out);
        assert_eq!(decode(content(&out)), Ok(Record::Points { accepted: 99, points }));

        out.clear();
        encode_metrics([(MetricId(1), PolicyId(2), "a.b"), (MetricId(2), PolicyId(2), "ü")], &mut out);
        let want = vec![(MetricId(1), PolicyId(2), "a.b".into()), (MetricId(2), PolicyId(2), "ü".into())];
        assert_eq!(decode(content(&out)), Ok(Record::Metrics(want)));

        out.clear();
        let policy: Policy = "6*10s:60*60s|max|0.25".parse().unwrap();
        encode_policies(&[(PolicyId(3), policy.clone())], &mut out);
        assert_eq!(decode(content(&out)), Ok(Record::Policies(vec![(PolicyId(3), policy)])));

        out.clear();
        encode_deleted(&[MetricId(9)], &mut out);
        assert_eq!(decode(content(&out)), Ok(Record::Deleted(vec![MetricId(9)])));

        out.clear();
        let names = vec![(MetricId(3), "ü.b".to_owned()), (MetricId(1), "c;d=e".to_owned())];
        encode_renamed(&names, &mut out);
        assert_eq!(decode(content(&out)), Ok(Record::Renamed(names.clone())));

        out.clear();
        encode_owned(&names, &mut out);
        assert_eq!(decode(content(&out)), Ok(Record::Owned(names)));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
