//! The statements, and running them.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

use scylla::deserialize::row::DeserializeRow;
use scylla::deserialize::value::MapIterator;
use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use uuid::Uuid;

use super::config::Configs;
use super::{IN_FLIGHT, Names, flight};
use crate::store::cassandra::schema::{COMPONENTS, Indexes};
use crate::store::cassandra::{ClusterError, Fault, Purpose};
use plumbago_model::Policy;

/// Rows per request, when they are selected by name.
pub(super) const KEYS_AT_ONCE: usize = 20;

/// Name, id and config of a metric.
pub(super) type MetadataRow<'f> = (&'f str, Option<Uuid>, Option<MapIterator<'f, 'f, &'f str, &'f str>>);

/// A table with a row for each name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Metrics,
    Directories,
    Metadata,
}

impl Table {
    pub(super) fn name(self) -> &'static str {
        match self {
            Table::Metrics => "metrics",
            Table::Directories => "directories",
            Table::Metadata => "metrics_metadata",
        }
    }
}

/// The texts of statements, built once. Each is prepared when it is first run.
#[derive(Debug)]
pub(super) struct Statements {
    keyspace: String,
    insert_metric: Vec<String>,
    insert_directory: Vec<String>,
    pub(super) insert_metadata: String,
    pub(super) select_metadata: String,
    pub(super) select_record: String,
    pub(super) insert_feed: String,
    pub(super) select_feed: String,
    pub(super) select_created: String,
    pub(super) update_config: String,
    pub(super) touch_updated: String,
    pub(super) touch_read: String,
    pub(super) select_directory: String,
    pub(super) delete_directory: String,
    pub(super) select_updated: String,
    pub(super) delete_expired: String,
    pub(super) select_ghost: String,
    pub(super) delete_ghost: String,
}

impl Statements {
    pub(super) fn new(keyspace: &str, indexes: Indexes) -> Self {
        let k = keyspace;
        // SPARSE indexes of SASI answer a range alone; SAI does too.
        let filtering = if indexes == Indexes::Sai { "" } else { " ALLOW FILTERING" };
        Self {
            keyspace: k.to_owned(),
            insert_metric: inserts(k, Table::Metrics),
            insert_directory: inserts(k, Table::Directories),
            insert_metadata: format!(
                "INSERT INTO {k}.metrics_metadata (name, created_on, updated_on, id, config) \
                 VALUES (?, now(), now(), ?, ?)"
            ),
            select_metadata: format!("SELECT name, id, config FROM {k}.metrics_metadata WHERE name IN ?"),
            select_record: format!(
                "SELECT name, config, created_on, updated_on, read_on FROM {k}.metrics_metadata WHERE name IN ?"
            ),
            insert_feed: format!(
                "INSERT INTO {k}.plumbago_created (minute, at, name, kind) VALUES (?, ?, ?, ?)"
            ),
            select_feed: format!(
                "SELECT at, name, kind FROM {k}.plumbago_created WHERE minute = ? AND at >= minTimeuuid(?)"
            ),
            select_created: format!(
                "SELECT name, id, config FROM {k}.metrics_metadata WHERE created_on > maxTimeuuid(?){filtering}"
            ),
            update_config: format!(
                "UPDATE {k}.metrics_metadata SET config = ?, updated_on = now() WHERE name = ? IF EXISTS"
            ),
            touch_updated: format!(
                "UPDATE {k}.metrics_metadata SET updated_on = now() WHERE name = ? IF EXISTS"
            ),
            touch_read: format!("UPDATE {k}.metrics_metadata SET read_on = now() WHERE name = ? IF EXISTS"),
            select_directory: format!("SELECT WRITETIME(parent) FROM {k}.directories WHERE name = ?"),
            delete_directory: format!("DELETE FROM {k}.directories USING TIMESTAMP ? WHERE name = ?"),
            delete_expired: format!("DELETE FROM {k}.metrics_metadata WHERE name = ? IF updated_on = ?"),
            select_ghost: format!(
                "SELECT WRITETIME(created_on), WRITETIME(updated_on), WRITETIME(read_on) \
                 FROM {k}.metrics_metadata WHERE name = ?"
            ),
            delete_ghost: format!("DELETE FROM {k}.metrics_metadata USING TIMESTAMP ? WHERE name = ?"),
            select_updated: format!("SELECT created_on, updated_on FROM {k}.metrics_metadata WHERE name = ?"),
        }
    }

    /// Inserts a row of `metrics` or `directories` with this many bound values.
    pub(super) fn insert(&self, table: Table, values: usize) -> &str {
        let list = if table == Table::Metrics { &self.insert_metric } else { &self.insert_directory };
        // Name, parent, one component, end marker are the fewest.
        list.get(values.saturating_sub(4)).or(list.last()).map_or("", String::as_str)
    }

    pub(super) fn delete(&self, table: Table) -> String {
        format!("DELETE FROM {}.{} WHERE name = ?", self.keyspace, table.name())
    }

    /// Which of these names have a row?
    fn present(&self, table: Table) -> String {
        format!("SELECT name FROM {}.{} WHERE name IN ?", self.keyspace, table.name())
    }

    /// Is anything in a directory?
    pub(super) fn child(&self, table: Table) -> String {
        format!("SELECT name FROM {}.{} WHERE parent = ? LIMIT 1", self.keyspace, table.name())
    }

    /// The names of a table for which `clauses` hold.
    pub(super) fn select_names(&self, table: Table, clauses: &str) -> String {
        format!("SELECT name FROM {}.{}{clauses}", self.keyspace, table.name())
    }

    /// Columns of a table between two tokens.
    pub(super) fn scan(&self, table: Table, columns: &str) -> String {
        format!(
            "SELECT {columns} FROM {}.{} WHERE token(name) > ? AND token(name) <= ?",
            self.keyspace,
            table.name()
        )
    }
}

/// A statement for each number of components, so that no row mentions columns that it does not have.
fn inserts(keyspace: &str, table: Table) -> Vec<String> {
    let mut columns = "name, parent, component_0".to_owned();
    let mut marks = "?, ?, ?".to_owned();
    let statements = (1..COMPONENTS).map(|component| {
        columns.push_str(&format!(", component_{component}"));
        marks.push_str(", ?");
        format!("INSERT INTO {keyspace}.{} ({columns}) VALUES ({marks})", table.name())
    });
    statements.collect()
}

impl Names {
    /// Runs a statement about names whose rows, if any, are not needed.
    pub(super) async fn write(&self, text: &str, values: impl SerializeRow) -> Result<(), ClusterError> {
        let statement = self.shared.cluster.prepare(Purpose::Naming, text).await?;
        let session = self.shared.cluster.session().await?;
        session
            .execute_unpaged(&statement, values)
            .await
            .map_err(|error| ClusterError::of(run(text), &error))?;
        Ok(())
    }

    /// Runs a statement that returns a few rows.
    pub(super) async fn read(
        &self,
        text: &str,
        values: impl SerializeRow,
    ) -> Result<QueryRowsResult, ClusterError> {
        let statement = self.shared.cluster.prepare(Purpose::Metadata, text).await?;
        let session = self.shared.cluster.session().await?;
        let result =
            session.execute_unpaged(&statement, values).await.map_err(|e| ClusterError::of(run(text), &e))?;
        result.into_rows_result().map_err(|error| unreadable(text, &error))
    }

    /// Is there a row of this name?
    pub(super) async fn exists(&self, table: Table, name: &str) -> Result<bool, ClusterError> {
        let page = self.read(&self.statements().present(table), (vec![name],)).await?;
        Ok(page.rows_num() > 0)
    }

    /// Is there a metric of this name, with an id and a config?
    pub(super) async fn has_metadata(&self, name: &str) -> Result<bool, ClusterError> {
        let page = self.read(&self.statements().select_metadata, (vec![name],)).await?;
        let row = rows::<MetadataRow<'_>>(&page)?.next().transpose()?;
        Ok(matches!(row, Some((_, Some(_), Some(_)))))
    }

    /// Which of these names have a row?
    pub(super) async fn present(
        &self,
        table: Table,
        wanted: &[String],
    ) -> Result<HashSet<String>, ClusterError> {
        let (names, text) = (self.clone(), Arc::new(self.statements().present(table)));
        let lists = wanted.chunks(KEYS_AT_ONCE).map(<[String]>::to_vec).collect();
        let found = flight::map(lists, IN_FLIGHT, move |list| {
            let (names, text) = (names.clone(), text.clone());
            async move {
                let page = names.read(&text, (list,)).await?;
                rows::<(String,)>(&page)?.map(|row| Ok(row?.0)).collect::<Result<Vec<_>, _>>()
            }
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    /// The policies of those of these metrics that exist; `default` supplies what a config lacks. A row
    /// without id or config is what a late touch leaves of a deleted metric, and does not count.
    pub(super) async fn policies(
        &self,
        wanted: &[String],
        default: &Arc<Policy>,
    ) -> Result<HashMap<String, Arc<Policy>>, ClusterError> {
        let (names, default) = (self.clone(), default.clone());
        let lists = wanted.chunks(KEYS_AT_ONCE).map(<[String]>::to_vec).collect();
        let found = flight::map(lists, IN_FLIGHT, move |list| {
            let (names, mut configs) = (names.clone(), Configs::new(default.clone()));
            async move {
                let page = names.read(&names.statements().select_metadata, (list,)).await?;
                let mut found = Vec::new();
                for row in rows::<MetadataRow<'_>>(&page)? {
                    if let (name, Some(_), Some(config)) = row? {
                        found.push((name.to_owned(), configs.decode(config.filter_map(Result::ok))));
                    }
                }
                Ok(found)
            }
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    /// Visits every row of a statement, a page at a time. `visit` says whether to continue.
    pub(super) async fn pages(
        &self,
        statement: &PreparedStatement,
        values: &(impl SerializeRow + Sync),
        mut visit: impl FnMut(QueryRowsResult) -> Result<bool, ClusterError>,
    ) -> Result<(), ClusterError> {
        let session = self.shared.cluster.session().await?;
        let text = statement.get_statement();
        let mut state = PagingState::start();
        loop {
            let (page, next) = session
                .execute_single_page(statement, values, state)
                .await
                .map_err(|error| ClusterError::of(run(text), &error))?;
            let rows = page.into_rows_result().map_err(|error| unreadable(text, &error))?;
            if !visit(rows)? {
                return Ok(());
            }
            match next {
                PagingStateResponse::HasMorePages { state: more } => state = more,
                PagingStateResponse::NoMorePages => return Ok(()),
            }
        }
    }
}

/// The rows of a page. A row that cannot be read is an error: we selected the columns by name.
pub(super) fn rows<'frame, R: DeserializeRow<'frame, 'frame>>(
    page: &'frame QueryRowsResult,
) -> Result<impl Iterator<Item = Result<R, ClusterError>>, ClusterError> {
    let rows = page.rows::<R>().map_err(|error| unreadable("names", &error))?;
    Ok(rows.map(|row| row.map_err(|error| unreadable("names", &error))))
}

fn run(text: &str) -> String {
    format!("run `{text}`")
}

pub(super) fn unreadable(what: &str, error: &dyn Display) -> ClusterError {
    ClusterError::new(Fault::Schema, format!("read the result of `{what}`"), error.to_string())
}
