//! Making what is missing. Nothing is ever dropped or altered.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::compare::is_missing;
use super::{Item, Schema, create_keyspace, live};
use crate::store::cassandra::lease::Outcome;
use crate::store::cassandra::{Cluster, ClusterError, Fault, Purpose};

/// How a keyspace is replicated: Cassandra's own options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication(BTreeMap<String, String>);

impl Replication {
    /// `count` replicas in every data centre.
    pub fn everywhere(count: usize) -> Self {
        let options = [
            ("class".to_owned(), "NetworkTopologyStrategy".to_owned()),
            ("replication_factor".to_owned(), count.to_string()),
        ];
        Self(options.into())
    }

    /// Three replicas in every data centre, or as many as a smaller cluster has nodes.
    pub async fn suitable(cluster: &Cluster) -> Result<Self, ClusterError> {
        Ok(Self::everywhere(cluster.node_count().await?.clamp(1, 3)))
    }

    /// From JSON such as `{"class": "NetworkTopologyStrategy", "dc1": 3}`.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let example = "write something like {\"class\": \"NetworkTopologyStrategy\", \"dc1\": 3}";
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| format!("`{text}` is not JSON: {error}; {example}"))?;
        let mut options = BTreeMap::new();
        for (key, value) in object {
            let value = match value {
                serde_json::Value::String(text) => text,
                serde_json::Value::Number(number) => number.to_string(),
                other => return Err(format!("`{other}` is not a text or a number; {example}")),
            };
            options.insert(key, value);
        }
        if options.contains_key("class") {
            Ok(Self(options))
        } else {
            Err(format!("`class` is missing; {example}"))
        }
    }
}

/// Three replicas, as the examples in the documentation have it.
impl Default for Replication {
    fn default() -> Self {
        Self::everywhere(3)
    }
}

/// As a CQL map.
impl fmt::Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let options: Vec<String> =
            self.0.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value))).collect();
        write!(f, "{{{}}}", options.join(", "))
    }
}

/// How far it is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Items made.
    pub done: usize,
    /// Items that were missing.
    pub total: usize,
    /// What is being made now; `None` at the end.
    pub now: Option<String>,
}

/// A process that creates tables holds this row of `plumbago_writers` as a lock. No replica has this number.
const LOCK_REPLICA: i16 = -1;
/// After this time, another process takes the lock from a holder that died.
const LOCK_SECS: i32 = 60;
/// How long to wait for another holder.
const LOCK_PATIENCE: Duration = Duration::from_secs(600);

/// Makes what is missing, and gives the number of things made, the table for the lock not counted. Keyspaces are made only with a `replication`. Several
/// servers may do this at once: the first one makes everything, and the others wait for it.
pub fn apply(
    cluster: &Cluster,
    schema: &Schema,
    replication: Option<&Replication>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<usize, ClusterError> {
    cluster.block_on(make_missing(cluster, schema, replication, progress))
}

/// [`apply`] for those who may have to give it up halfway: what was made stays, and the lock runs out by itself.
pub async fn make_missing(
    cluster: &Cluster,
    schema: &Schema,
    replication: Option<&Replication>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<usize, ClusterError> {
    keyspaces(cluster, schema, replication).await?;
    if missing(cluster, schema).await?.is_empty() {
        // The server that made the tables may have died before the rows were in them.
        schema.write_layout(cluster).await?;
        return Ok(0);
    }
    let lock = Lock::take(cluster, schema, progress).await?;
    let made = make(cluster, schema, &lock, progress).await;
    lock.release().await;
    made
}

async fn keyspaces(
    cluster: &Cluster,
    schema: &Schema,
    replication: Option<&Replication>,
) -> Result<(), ClusterError> {
    for keyspace in schema.keyspaces() {
        if live::keyspace(cluster, keyspace).await?.is_some() {
            continue;
        }
        let Some(replication) = replication else {
            let statement = create_keyspace(keyspace, &Replication::default());
            let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
            return Err(ClusterError::new(
                Fault::Schema,
                "make the tables",
                format!("keyspace {keyspace} does not exist"),
            )
            .hint(format!(
                "make it with the replication you want, such as: {statement} Or call schema apply --create-keyspaces"
            )));
        };
        cluster.run_once(Purpose::Background, &create_keyspace(keyspace, replication), ()).await?;
    }
    Ok(())
}

async fn missing(cluster: &Cluster, schema: &Schema) -> Result<Vec<Item>, ClusterError> {
    let mut live = BTreeMap::new();
    for name in schema.keyspaces() {
        live.insert(name.to_owned(), live::keyspace(cluster, name).await?);
    }
    Ok(schema.items().into_iter().filter(|item| is_missing(item, &live)).collect())
}

async fn make(
    cluster: &Cluster,
    schema: &Schema,
    lock: &Lock<'_>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<usize, ClusterError> {
    // Another server may have made them while we waited.
    let items = missing(cluster, schema).await?;
    let total = items.len();
    let mut renewed = Instant::now();
    for (done, item) in items.iter().enumerate() {
        progress(&Progress { done, total, now: Some(item.title()) });
        if renewed.elapsed().as_secs() > u64::from(LOCK_SECS.unsigned_abs()) / 4 {
            lock.renew().await?;
            renewed = Instant::now();
        }
        // The driver waits for all nodes to agree after each of them.
        cluster.run_once(Purpose::Background, &item.cql, ()).await.map_err(|error| explain(error, item))?;
    }
    let session = cluster.session().await?;
    session
        .await_schema_agreement()
        .await
        .map_err(|error| ClusterError::of("wait until all nodes have the new tables", &error))?;
    schema.write_layout(cluster).await?;
    progress(&Progress { done: total, total, now: None });
    Ok(total)
}

fn explain(mut error: ClusterError, item: &Item) -> ClusterError {
    error.action = format!("make {}", item.title());
    let refused = error.detail.to_ascii_lowercase();
    if refused.contains("sasi") && refused.contains("disabled") {
        return error.hint(
            "set sasi_indexes_enabled: true in cassandra.yaml of every node, or store.cassandra.index to \"memory\", which \
             needs no indexes, or to \"sai\"",
        );
    }
    if refused.contains("storageattachedindex") {
        return error.hint(
            "these indexes need Cassandra 5.0; with an older one set store.cassandra.index to \"memory\" or \"sasi\"",
        );
    }
    if error.fault == Fault::Schema { error.hint("") } else { error }
}

/// The right to make tables. Cassandra does not bear two nodes making one table at the same time.
struct Lock<'a> {
    cluster: &'a Cluster,
    table: String,
    owner: String,
}

impl<'a> Lock<'a> {
    async fn take(
        cluster: &'a Cluster,
        schema: &Schema,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Self, ClusterError> {
        let item = schema.lock_table();
        cluster.run_once(Purpose::Background, &item.cql, ()).await.map_err(|error| explain(error, &item))?;
        let lock = Self {
            cluster,
            table: format!("{}.{}", item.keyspace, item.table),
            owner: format!("schema apply {}", Uuid::new_v4()),
        };
        let began = Instant::now();
        while !lock.try_take().await? {
            if began.elapsed() > LOCK_PATIENCE {
                return Err(ClusterError::new(
                    Fault::Taken,
                    "make the tables",
                    "another server has been making tables for ten minutes",
                )
                .hint("look at that server, then try again"));
            }
            let now = Some("waiting for another server that makes tables".to_owned());
            progress(&Progress { done: 0, total: 0, now });
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(lock)
    }

    async fn try_take(&self) -> Result<bool, ClusterError> {
        let insert = format!(
            "INSERT INTO {} (replica, writer, owner) VALUES ({LOCK_REPLICA}, 0, ?) IF NOT EXISTS USING TTL {LOCK_SECS}",
            self.table
        );
        let result = self.cluster.run_once(Purpose::Background, &insert, (&self.owner,)).await?;
        let outcome = Outcome::of(result)?;
        // An answer may be lost, and the row is ours all the same.
        Ok(outcome.applied || outcome.owner.as_ref() == Some(&self.owner))
    }

    async fn renew(&self) -> Result<(), ClusterError> {
        let update = format!(
            "UPDATE {} USING TTL {LOCK_SECS} SET owner = ? WHERE replica = {LOCK_REPLICA} AND writer = 0 IF owner = ?",
            self.table
        );
        let result = self.cluster.run_once(Purpose::Background, &update, (&self.owner, &self.owner)).await?;
        if Outcome::of(result)?.applied {
            return Ok(());
        }
        // It ran out while one statement took too long. Going on alone is safe only if nobody took it.
        if self.try_take().await? { Ok(()) } else { Err(self.lost()) }
    }

    fn lost(&self) -> ClusterError {
        ClusterError::new(Fault::Taken, "make the tables", "another server began to make them too")
            .hint("call schema apply again; it goes on where it stopped")
    }

    /// If this fails the lock runs out by itself.
    async fn release(&self) {
        let delete =
            format!("DELETE FROM {} WHERE replica = {LOCK_REPLICA} AND writer = 0 IF owner = ?", self.table);
        if let Err(error) = self.cluster.run_once(Purpose::Background, &delete, (&self.owner,)).await {
            tracing::warn!(%error, "the lock on the schema could not be given back; it ends in a minute");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_is_read_from_json_and_written_as_cql() {
        let read = |text: &str| Replication::from_json(text).map(|r| r.to_string());
        assert_eq!(
            read(r#"{"class": "NetworkTopologyStrategy", "dc1": 3}"#).unwrap(),
            "{'class': 'NetworkTopologyStrategy', 'dc1': '3'}"
        );
        assert!(read("3").unwrap_err().contains("not JSON"));
        assert!(read(r#"{"dc1": 3}"#).unwrap_err().contains("`class` is missing"));
        assert_eq!(read(r#"{"class": "it's"}"#).unwrap(), "{'class': 'it''s'}");
    }
}
