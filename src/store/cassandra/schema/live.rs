//! What the cluster has, from its own tables.

use std::collections::{BTreeMap, HashMap};

use scylla::deserialize::row::DeserializeRow;

use super::template::Column;
use crate::store::cassandra::{Cluster, ClusterError, Fault, Purpose};

/// A keyspace as it is.
#[derive(Debug, Default)]
pub(super) struct Keyspace {
    pub(super) tables: BTreeMap<String, Table>,
}

/// A table as it is.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) comment: String,
    pub(super) ttl_secs: i32,
    pub(super) gc_grace_secs: i32,
    pub(super) flush_period_ms: i32,
    pub(super) compaction: HashMap<String, String>,
    pub(super) columns: BTreeMap<String, Column>,
    pub(super) indexes: Vec<Index>,
}

/// An index as it is.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) column: String,
    pub(super) class: String,
}

/// Name, comment, time to live, time of grace, flush period, compaction.
type TableRow = (String, Option<String>, Option<i32>, Option<i32>, Option<i32>, Option<Options>);
/// Table, name, options.
type IndexRow = (String, String, Option<Options>);
type Options = HashMap<String, String>;

/// The keyspace, or `None` if there is none of that name.
pub(super) async fn keyspace(cluster: &Cluster, name: &str) -> Result<Option<Keyspace>, ClusterError> {
    let found: Vec<(String,)> = rows(cluster, name, "keyspace_name FROM system_schema.keyspaces").await?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut keyspace = Keyspace::default();
    let tables: Vec<TableRow> = rows(
        cluster,
        name,
        "table_name, comment, default_time_to_live, gc_grace_seconds, \
         memtable_flush_period_in_ms, compaction FROM system_schema.tables",
    )
    .await?;
    for (table, comment, ttl, gc_grace, flush_period, compaction) in tables {
        let table = keyspace.tables.entry(table).or_default();
        table.comment = comment.unwrap_or_default();
        table.ttl_secs = ttl.unwrap_or_default();
        table.gc_grace_secs = gc_grace.unwrap_or_default();
        table.flush_period_ms = flush_period.unwrap_or_default();
        table.compaction = compaction.unwrap_or_default();
    }
    let columns: Vec<(String, String, String, String, i32)> =
        rows(cluster, name, "table_name, column_name, kind, type, position FROM system_schema.columns")
            .await?;
    for (table, name, role, kind, position) in columns {
        let role = match role.as_str() {
            "partition_key" => "partition_key",
            "clustering" => "clustering",
            "static" => "static",
            _ => "regular",
        };
        let table = keyspace.tables.entry(table).or_default();
        table.columns.insert(name.clone(), Column { name, kind, role, position });
    }
    let indexes: Vec<IndexRow> =
        rows(cluster, name, "table_name, index_name, options FROM system_schema.indexes").await?;
    for (table, name, options) in indexes {
        let mut options = options.unwrap_or_default();
        let mut take = |key| options.remove(key).unwrap_or_default();
        let (column, class) = (take("target").replace('"', ""), take("class_name"));
        keyspace.tables.entry(table).or_default().indexes.push(Index { name, column, class });
    }
    Ok(Some(keyspace))
}

/// Is there an index on a column of a table?
pub(in crate::store::cassandra) async fn has_index(
    cluster: &Cluster,
    keyspace: &str,
    table: &str,
    column: &str,
) -> Result<bool, ClusterError> {
    let found: Vec<IndexRow> =
        rows(cluster, keyspace, "table_name, index_name, options FROM system_schema.indexes").await?;
    let targets = |options: Option<Options>| options.and_then(|mut options| options.remove("target"));
    let is_it = |target: String| target.replace('"', "") == column;
    Ok(found.into_iter().any(|(of, _, options)| of == table && targets(options).is_some_and(is_it)))
}

/// `SELECT <what> WHERE keyspace_name = <keyspace>`
async fn rows<R>(cluster: &Cluster, keyspace: &str, what: &str) -> Result<Vec<R>, ClusterError>
where
    R: for<'f, 'm> DeserializeRow<'f, 'm>,
{
    let unreadable = |error: &dyn std::fmt::Display| {
        ClusterError::new(Fault::Other, "read the cluster's schema", error.to_string())
    };
    let text = format!("SELECT {what} WHERE keyspace_name = ?");
    let result = cluster.run_once(Purpose::Metadata, &text, (keyspace,)).await?;
    let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
    let rows = result.rows::<R>().map_err(|error| unreadable(&error))?;
    rows.collect::<Result<_, _>>().map_err(|error| unreadable(&error))
}
