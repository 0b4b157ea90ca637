//! Memos, shared by all servers of a cluster: the table `plumbago_memos`. A keeper has one partition.

use std::sync::Arc;

use scylla::deserialize::row::DeserializeRow;
use scylla::serialize::row::SerializeRow;

use super::{Cluster, ClusterError, Fault, Purpose};
use crate::store::{MemoStore, StoreError};
use plumbago_model::MemoPlace;

/// The memos of a cluster.
#[derive(Debug)]
pub struct Memos {
    cluster: Arc<Cluster>,
    statements: Statements,
}

#[derive(Debug)]
struct Statements {
    read: String,
    count: String,
    write: String,
    remove: String,
    service_keys: String,
    keys: String,
}

impl Memos {
    /// The memos of a cluster, which need not be reachable yet.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let table = format!("{}.plumbago_memos", cluster.settings().keyspace_metadata);
        let place = "keeper = ? AND service = ? AND service_key = ? AND key = ?";
        let statements = Statements {
            read: format!("SELECT value FROM {table} WHERE {place}"),
            count: format!("SELECT COUNT(*) FROM {table} WHERE keeper = ?"),
            write: format!(
                "INSERT INTO {table} (keeper, service, service_key, key, value) VALUES (?, ?, ?, ?, ?)"
            ),
            remove: format!("DELETE FROM {table} WHERE {place}"),
            service_keys: format!(
                "SELECT service_key FROM {table} WHERE keeper = ? AND service = ? GROUP BY service, service_key"
            ),
            keys: format!("SELECT key FROM {table} WHERE keeper = ? AND service = ? AND service_key = ?"),
        };
        Self { cluster, statements }
    }

    /// All rows of a statement.
    async fn rows<R>(&self, text: &str, values: impl SerializeRow + Sync) -> Result<Vec<R>, ClusterError>
    where
        R: for<'f, 'm> DeserializeRow<'f, 'm>,
    {
        let statement = self.cluster.prepare(Purpose::Metadata, text).await?;
        let session = self.cluster.session().await?;
        let result = session.execute_unpaged(&statement, values).await;
        let result = result.map_err(|error| ClusterError::of("read metadata of clients", &error))?;
        let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
        let rows = result.rows::<R>().map_err(|error| unreadable(&error))?;
        rows.collect::<Result<_, _>>().map_err(|error| unreadable(&error))
    }

    async fn change(&self, text: &str, values: impl SerializeRow + Sync) -> Result<(), ClusterError> {
        let statement = self.cluster.prepare(Purpose::Naming, text).await?;
        let session = self.cluster.session().await?;
        let done = session.execute_unpaged(&statement, values).await;
        done.map_err(|error| ClusterError::of("change metadata of clients", &error))?;
        Ok(())
    }

    /// Is there room for one more? Servers do not coordinate, so that a few may be too many if several write at once.
    async fn has_room(&self, place: MemoPlace<'_>, most: usize) -> Result<bool, ClusterError> {
        if !self.rows::<(String,)>(&self.statements.read, key(place)).await?.is_empty() {
            return Ok(true);
        }
        let counts = self.rows::<(i64,)>(&self.statements.count, (place.keeper,)).await?;
        let count = counts.first().map_or(0, |(count,)| *count);
        Ok(usize::try_from(count).unwrap_or(usize::MAX) < most)
    }
}

impl MemoStore for Memos {
    fn read(&self, place: MemoPlace<'_>) -> Result<Option<String>, StoreError> {
        let rows = self.cluster.block_on(self.rows::<(String,)>(&self.statements.read, key(place)))?;
        Ok(rows.into_iter().next().map(|(text,)| text))
    }

    fn write(&self, place: MemoPlace<'_>, text: &str, most: usize) -> Result<bool, StoreError> {
        let (keeper, service, service_key, key) = key(place);
        let values = (keeper, service, service_key, key, text);
        self.cluster.block_on(async {
            let has_room = self.has_room(place, most).await?;
            if has_room {
                self.change(&self.statements.write, values).await?;
            }
            Ok(has_room)
        })
    }

    fn remove(&self, place: MemoPlace<'_>) -> Result<(), StoreError> {
        Ok(self.cluster.block_on(self.change(&self.statements.remove, key(place)))?)
    }

    fn service_keys(&self, keeper: &str, service: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.rows::<(String,)>(&self.statements.service_keys, (keeper, service));
        Ok(self.cluster.block_on(rows)?.into_iter().map(|(key,)| key).collect())
    }

    fn keys(&self, keeper: &str, service: &str, service_key: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.rows::<(String,)>(&self.statements.keys, (keeper, service, service_key));
        Ok(self.cluster.block_on(rows)?.into_iter().map(|(key,)| key).collect())
    }
}

fn key(place: MemoPlace<'_>) -> (&str, &str, &str, &str) {
    (place.keeper, place.service, place.service_key, place.key)
}

fn unreadable(error: &dyn std::fmt::Display) -> ClusterError {
    ClusterError::new(Fault::Schema, "read plumbago_memos", error.to_string())
}
