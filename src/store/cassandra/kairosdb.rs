//! KairosDB's tables, as they are: read for an import, and never written.
//!
//! What keys, column names and values mean is not known here. There are three generations of indexes. Up to 1.1 a partition of
//! `row_key_index` lists the keys of all rows of a metric. From 1.2 on `row_key_time_index` lists when rows of a metric begin, and
//! `row_keys` which rows begin then. A keyspace that was upgraded has both, and needs both.

use std::collections::{BTreeSet, HashMap};

use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::SerializeRow;
use scylla::value::{CqlTimestamp, CqlValue};

use super::{Cluster, ClusterError, Fault, Purpose, Settings, tables};

/// Rows per page: keys are short, and a value and its column name take a dozen bytes.
const PAGE: i32 = 5000;

/// The key of the names of all metrics in `string_index`.
const METRIC_NAMES: &[u8] = b"metric_names";

/// The value of `table_name` in the indexes.
const DATA_POINTS: &str = "data_points";

/// The tags of a series.
pub type Tags = HashMap<String, String>;

/// A keyspace of KairosDB.
pub struct KairosTables {
    cluster: Cluster,
    keyspace: String,
    tables: BTreeSet<String>,
}

impl KairosTables {
    /// Connects, and looks which tables there are.
    pub fn open(settings: Settings) -> Result<Self, ClusterError> {
        let (keyspace, nodes) = (settings.keyspace.clone(), settings.nodes.join(", "));
        let cluster = Cluster::connect(settings)?;
        let tables = tables(&cluster, &keyspace)?;
        if !tables.contains(DATA_POINTS) {
            let detail = match tables.is_empty() {
                true => format!("the cluster at {nodes} has no keyspace {keyspace}"),
                false => format!("keyspace {keyspace} has no table {DATA_POINTS}"),
            };
            let error = ClusterError::new(Fault::Schema, "read KairosDB's tables", detail);
            return Err(error.hint("name KairosDB's nodes with --nodes and its keyspace with --keyspace"));
        }
        Ok(Self { cluster, keyspace, tables })
    }

    fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// A setting that KairosDB 1.3 keeps of its cluster, such as `row_time_unit`.
    pub fn settings(&self) -> Result<HashMap<String, String>, ClusterError> {
        let mut settings = HashMap::new();
        if self.has("spec") {
            let text = "name, value FROM {k}.spec WHERE spec_type = ?";
            self.rows(text, &("cluster_config",), |page| {
                for row in page.rows::<(String, Option<String>)>()? {
                    let (name, value) = row?;
                    settings.extend(value.map(|value| (name, value)));
                }
                Ok(())
            })?;
        }
        Ok(settings)
    }

    /// The names of all metrics, by each of the indexes that there are.
    pub fn metrics(&self) -> Result<BTreeSet<String>, ClusterError> {
        let mut names = BTreeSet::new();
        if self.has("string_index") {
            self.rows("column1 FROM {k}.string_index WHERE key = ?", &(METRIC_NAMES,), |page| {
                // A blob in some versions.
                for row in page.rows::<(CqlValue,)>()? {
                    match row?.0 {
                        CqlValue::Text(name) | CqlValue::Ascii(name) => names.insert(name),
                        CqlValue::Blob(name) => names.insert(String::from_utf8_lossy(&name).into_owned()),
                        _ => false,
                    };
                }
                Ok(())
            })?;
        }
        if self.has("row_key_time_index") {
            self.rows("DISTINCT metric FROM {k}.row_key_time_index", &(), |page| {
                for row in page.rows::<(String,)>()? {
                    names.insert(row?.0);
                }
                Ok(())
            })?;
        }
        if self.has("row_key_index") {
            self.rows("DISTINCT key FROM {k}.row_key_index", &(), |page| {
                for row in page.rows::<(&[u8],)>()? {
                    names.insert(String::from_utf8_lossy(row?.0).into_owned());
                }
                Ok(())
            })?;
        }
        Ok(names)
    }

    /// When rows of a metric begin, in milliseconds since 1970, ascending.
    pub fn row_times(&self, metric: &str) -> Result<Vec<i64>, ClusterError> {
        let mut times = Vec::new();
        if self.has("row_key_time_index") {
            let text = "row_time FROM {k}.row_key_time_index WHERE metric = ? AND table_name = ?";
            self.rows(text, &(metric, DATA_POINTS), |page| {
                for row in page.rows::<(CqlTimestamp,)>()? {
                    times.push(row?.0.0);
                }
                Ok(())
            })?;
        }
        times.sort_unstable();
        Ok(times)
    }

    /// Type and tags of the rows of a metric that begin at a time.
    pub fn rows_at(
        &self,
        metric: &str,
        row_time: i64,
        visit: &mut dyn FnMut(String, Tags),
    ) -> Result<(), ClusterError> {
        if !self.has("row_keys") {
            return Ok(());
        }
        let text = "data_type, tags FROM {k}.row_keys WHERE metric = ? AND table_name = ? AND row_time = ?";
        self.rows(text, &(metric, DATA_POINTS, CqlTimestamp(row_time)), |page| {
            for row in page.rows::<(Option<String>, Option<Tags>)>()? {
                // A partition without rows still has its static column.
                if let (Some(data_type), tags) = row? {
                    visit(data_type, tags.unwrap_or_default());
                }
            }
            Ok(())
        })
    }

    /// The keys of the rows of a metric that the index of 1.1 lists.
    pub fn old_keys(&self, metric: &str, visit: &mut dyn FnMut(&[u8])) -> Result<(), ClusterError> {
        if !self.has("row_key_index") {
            return Ok(());
        }
        self.rows("column1 FROM {k}.row_key_index WHERE key = ?", &(metric.as_bytes(),), |page| {
            for row in page.rows::<(&[u8],)>()? {
                visit(row?.0);
            }
            Ok(())
        })
    }

    /// Column names and values of a row, from the first to the last of these names, ascending.
    pub fn points(
        &self,
        key: &[u8],
        (first, last): ([u8; 4], [u8; 4]),
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), ClusterError> {
        let text = "column1, value FROM {k}.data_points WHERE key = ? AND column1 >= ? AND column1 <= ?";
        self.rows(text, &(key, &first[..], &last[..]), |page| {
            for row in page.rows::<(&[u8], Option<&[u8]>)>()? {
                let (column, value) = row?;
                visit(column, value.unwrap_or_default());
            }
            Ok(())
        })
    }

    /// Visits the pages of `SELECT <text>`; `{k}` is the keyspace.
    fn rows(
        &self,
        text: &str,
        values: &(impl SerializeRow + Sync),
        mut visit: impl FnMut(&QueryRowsResult) -> Result<(), Unreadable>,
    ) -> Result<(), ClusterError> {
        let text = format!("SELECT {}", text.replace("{k}", &format!("\"{}\"", self.keyspace)));
        let action = || format!("run `{text}`");
        self.cluster.block_on(async {
            let mut statement = (*self.cluster.prepare(Purpose::Background, &text).await?).clone();
            statement.set_page_size(PAGE);
            let session = self.cluster.session().await?;
            let mut state = PagingState::start();
            loop {
                let found = session.execute_single_page(&statement, values, state).await;
                let (page, next) = found.map_err(|error| ClusterError::of(action(), &error))?;
                let page = page.into_rows_result().map_err(Unreadable::from);
                page.and_then(|page| visit(&page))
                    .map_err(|Unreadable(why)| ClusterError::new(Fault::Schema, action(), why).hint(""))?;
                match next {
                    PagingStateResponse::HasMorePages { state: more } => state = more,
                    PagingStateResponse::NoMorePages => return Ok(()),
                }
            }
        })
    }
}

/// A column that is not of the type that KairosDB gives it.
struct Unreadable(String);

impl<E: std::error::Error> From<E> for Unreadable {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
