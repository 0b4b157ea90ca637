//! Which series there are, and which rows each of them has.
//!
//! The indexes list rows, by metric and by time; an import needs all rows of a series together. So the rows of a metric are gathered
//! first. A metric with very many rows is gone through several times, each time for another share of its series: what is in memory at
//! once stays the same. Rows are counted beforehand, for these shares and for the progress.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::Result;

use crate::kairosdb::row::{Layout, RowKey};
use crate::store::cassandra::{KairosTables, Tags};

/// Rows that are gathered at once.
const MOST_ROWS: u64 = 500_000;

/// A series and where its points are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) metric: String,
    pub(super) tags: Vec<(String, String)>,
    /// By time, each once.
    pub(super) rows: Vec<Row>,
}

/// A row of `data_points`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) row_time: i64,
    pub(super) data_type: Option<String>,
    pub(super) key: Vec<u8>,
}

/// `metric{key="value"}`
impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags: Vec<String> = self.tags.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
        write!(f, "{}{{{}}}", self.metric, tags.join(","))
    }
}

/// The rows of series by their tags.
type RowsByTags = BTreeMap<Vec<(String, String)>, Vec<Row>>;

/// The metrics to import, with the number of rows that their indexes list.
pub(super) struct Listing<'a> {
    tables: &'a KairosTables,
    layout: Layout,
    /// In milliseconds.
    window: (i64, i64),
    metrics: Vec<(String, u64)>,
}

/// What listing found beside series.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) metrics: u64,
    /// Rows that are in both indexes, and keys that cannot be read.
    pub(super) passed_over: u64,
    /// Keys that cannot be read, in hexadecimal digits, and why.
    pub(super) unreadable: Vec<(String, String)>,
}

/// Every so-manieth series.
#[derive(Clone, Copy)]
struct Share {
    nth: u64,
    of: u64,
}

impl Share {
    fn has(self, tags: &[(String, String)]) -> bool {
        let mut hasher = DefaultHasher::new();
        tags.hash(&mut hasher);
        hasher.finish() % self.of == self.nth
    }
}

impl<'a> Listing<'a> {
    /// Counts the rows of these metrics in a time of seconds.
    pub(super) fn new(
        tables: &'a KairosTables,
        layout: Layout,
        (from, until): (u32, u32),
        names: BTreeSet<String>,
    ) -> Result<Self> {
        let window = (i64::from(from) * 1000, i64::from(until) * 1000);
        let mut listing = Self { tables, layout, window, metrics: Vec::with_capacity(names.len()) };
        for name in names {
            let mut rows = 0;
            listing.index_rows(&name, &mut |_| rows += 1)?;
            listing.metrics.push((name, rows));
        }
        Ok(listing)
    }

    /// How many metrics there are.
    pub(super) fn metrics(&self) -> u64 {
        self.metrics.len() as u64
    }

    /// How many rows the indexes list.
    pub(super) fn rows(&self) -> u64 {
        self.metrics.iter().map(|(_, rows)| rows).sum()
    }

    /// Visits every series with all of its rows, until the visitor has enough.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(Series) -> Result<bool>) -> Result<Listed> {
        let mut listed = Listed::default();
        for (metric, rows) in &self.metrics {
            listed.metrics += 1;
            let of = rows.div_ceil(MOST_ROWS).max(1);
            for nth in 0..of {
                for (tags, rows) in self.gather(metric, Share { nth, of }, &mut listed)? {
                    if !visit(Series { metric: metric.clone(), tags, rows })? {
                        return Ok(listed);
                    }
                }
            }
        }
        Ok(listed)
    }

    /// The rows of some series of a metric.
    fn gather(&self, metric: &str, share: Share, listed: &mut Listed) -> Result<RowsByTags> {
        let mut series = RowsByTags::new();
        self.index_rows(metric, &mut |entry| match entry.key() {
            Ok((mut key, bytes)) => {
                key.tags.sort_unstable();
                if share.has(&key.tags) {
                    let row = Row { row_time: key.row_time, data_type: key.data_type, key: bytes };
                    series.entry(key.tags).or_default().push(row);
                }
            }
            Err((bytes, why)) if share.nth == 0 => {
                listed.passed_over += 1;
                listed.unreadable.push((hex(&bytes), why));
            }
            Err(_) => {}
        })?;
        for rows in series.values_mut() {
            let all = rows.len();
            rows.sort_unstable();
            rows.dedup();
            listed.passed_over += (all - rows.len()) as u64;
        }
        Ok(series)
    }

    /// Visits what both indexes say of a metric. A row that is in both comes twice.
    fn index_rows(&self, metric: &str, visit: &mut dyn FnMut(Entry<'_>)) -> Result<()> {
        for row_time in self.tables.row_times(metric)? {
            if self.is_inside(row_time) {
                self.tables.rows_at(metric, row_time, &mut |data_type, tags| {
                    visit(Entry::New { metric, row_time, data_type, tags });
                })?;
            }
        }
        self.tables.old_keys(metric, &mut |key| {
            let parsed = RowKey::parse(key).map_err(|error| error.to_string());
            if parsed.as_ref().map_or(true, |key| self.is_inside(key.row_time)) {
                visit(Entry::Old(key, parsed));
            }
        })?;
        Ok(())
    }

    fn is_inside(&self, row_time: i64) -> bool {
        self.layout.slice(row_time, self.window.0, self.window.1).is_some()
    }
}

/// A row as an index lists it.
enum Entry<'a> {
    /// `row_keys` has its parts.
    New { metric: &'a str, row_time: i64, data_type: String, tags: Tags },
    /// `row_key_index` has its key.
    Old(&'a [u8], Result<RowKey, String>),
}

impl Entry<'_> {
    /// The key and its bytes; or the bytes that are no key, and why.
    fn key(self) -> Result<(RowKey, Vec<u8>), (Vec<u8>, String)> {
        match self {
            Entry::Old(bytes, Ok(key)) => Ok((key, bytes.to_vec())),
            Entry::Old(bytes, Err(why)) => Err((bytes.to_vec(), why)),
            Entry::New { metric, row_time, data_type, tags } => {
                let tags = tags.into_iter().collect();
                let key = RowKey { metric: metric.to_owned(), row_time, data_type: Some(data_type), tags };
                let bytes = key.bytes();
                bytes.map(|bytes| (key, bytes)).ok_or_else(|| {
                    (metric.as_bytes().to_vec(), "the index names a row that no key can have".to_owned())
                })
            }
        }
    }
}

/// Bytes as digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
