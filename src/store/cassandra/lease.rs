//! Writer numbers: no two servers write aggregates under the same one.
//!
//! A server stores its partial aggregates under its number, and writing one again replaces it. If two servers had the same
//! number, each would overwrite the other's part of a slot. So a number belongs to its server for longer than the longest slot
//! is open, even while that server is down: the row in `plumbago_writers` lives for [`KEEP_SECS`], and the server finds its
//! number again in a local file. Its server writes the row again and again while it lives, which distinguishes a dead owner from a
//! live one when a configuration asks for that number. How long ago that was, the cluster says by its own clock: those of two servers
//! may be far apart.
//!
//! Numbers are claimed with conditional inserts, so two servers never get the same one. A claim carries the server's random id,
//! which is on disk before it is used: if the answer is lost, the next attempt recognises the row as its own.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use scylla::response::query_result::QueryResult;
use scylla::value::{CqlTimestamp, CqlTimeuuid, CqlValue, Row};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Cluster, ClusterError, Fault, Purpose};
use crate::store::StoreError;

/// A number is reserved for a server that is down for this long: 35 days.
pub const KEEP_SECS: i32 = 35 * 86_400;
/// Numbers available to servers: 14 bits, except the last.
const WRITERS: i16 = COPY_WRITER;
/// The number for copies. No server may have it: it would treat the rows of a copy as its own.
pub(super) const COPY_WRITER: i16 = (1 << 14) - 1;

/// A writer number that is ours.
#[derive(Debug)]
pub struct Lease {
    table: String,
    replica: i16,
    writer: i16,
    owner: String,
}

/// A number and who has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Its replica.
    pub replica: i16,
    /// The number.
    pub writer: i16,
    /// Host and id of the server.
    pub owner: String,
    /// When the server was last seen, in milliseconds since 1970 by its own clock; `None` when it said that it stops.
    pub seen_ms: Option<i64>,
}

/// All numbers that are taken.
pub fn writers(cluster: &Cluster) -> Result<Vec<Writer>, ClusterError> {
    let keyspace = &cluster.settings().keyspace_metadata;
    let text = format!("SELECT replica, writer, owner, seen FROM {keyspace}.plumbago_writers");
    let result = cluster.block_on(cluster.run_once(Purpose::Metadata, &text, ()))?;
    let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
    type Row = (i16, i16, Option<String>, Option<CqlTimestamp>);
    let mut writers = Vec::new();
    for row in result.rows::<Row>().map_err(|error| unreadable(&error))? {
        let (replica, writer, owner, seen) = row.map_err(|error| unreadable(&error))?;
        let seen_ms = seen.map(|seen| seen.0).filter(|&ms| ms > 0);
        // A running `schema apply` holds a row that is not a writer's.
        if !(0..4).contains(&replica) {
            continue;
        }
        writers.push(Writer { replica, writer, owner: owner.unwrap_or_default(), seen_ms });
    }
    writers.sort_by_key(|writer| (writer.replica, writer.writer));
    Ok(writers)
}

/// What is kept on the local disk.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    owner: String,
    replica: i16,
    writer: Option<i16>,
}

/// The result of a conditional statement.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) applied: bool,
    /// Who holds the row, if it was not applied.
    pub(super) owner: Option<String>,
    seen: Option<i64>,
}

impl Lease {
    /// Takes a number for `replica`: `wanted`, or the one in `file`, or a free one. `name` tells people whose it is. An owner that has
    /// not renewed `wanted` for `dead_after` loses it.
    pub fn take(
        cluster: &Cluster,
        replica: u8,
        wanted: Option<u16>,
        file: &Path,
        name: &str,
        dead_after: Duration,
    ) -> Result<Self, StoreError> {
        let replica = i16::from(replica);
        let remembered = remember(file, replica, name)?;
        let mut lease = Self {
            table: format!("{}.plumbago_writers", cluster.settings().keyspace_metadata),
            replica,
            writer: 0,
            owner: remembered.owner,
        };
        let wanted = wanted.map(|number| i16::try_from(number).unwrap_or(i16::MAX));
        lease.writer = cluster.block_on(lease.choose(cluster, wanted, remembered.writer, dead_after))?;
        write(file, &Remembered { owner: lease.owner.clone(), replica, writer: Some(lease.writer) })?;
        Ok(lease)
    }

    /// The number, 0 to 16382.
    pub fn writer(&self) -> u16 {
        self.writer.unsigned_abs()
    }

    /// Replica and writer as stored in the tables.
    pub fn shard(&self) -> i16 {
        // Replicas 2 and 3 use the sign bit, as in BigGraphite.
        (self.replica << 14) | self.writer
    }

    /// Records that we are alive. [`Fault::Taken`] means that another server now has the number, and that we must not write
    /// under it any more.
    pub fn renew(&self, cluster: &Cluster) -> Result<(), StoreError> {
        let outcome = cluster.block_on(self.claim(cluster, self.writer))?;
        if outcome.applied { Ok(()) } else { Err(self.taken(self.writer, &outcome).into()) }
    }

    /// Records that we have stopped, so that another server can be configured to use this number. Until then it stays ours.
    pub fn release(&self, cluster: &Cluster) -> Result<(), StoreError> {
        Ok(cluster.block_on(async {
            let text = format!(
                "UPDATE {} USING TTL {KEEP_SECS} SET owner = ?, seen = 0 WHERE replica = ? AND writer = ? IF owner = ?",
                self.table
            );
            let values = (&self.owner, self.replica, self.writer, &self.owner);
            cluster.run_once(Purpose::Naming, &text, values).await.map(drop)
        })?)
    }

    async fn choose(
        &self,
        cluster: &Cluster,
        wanted: Option<i16>,
        remembered: Option<i16>,
        dead_after: Duration,
    ) -> Result<i16, ClusterError> {
        if let Some(writer) = wanted {
            return self.insist(cluster, writer, dead_after).await;
        }
        // The rows of the last run are under this number, and only under it can they be replaced.
        if let Some(writer) = remembered
            && self.claim(cluster, writer).await?.applied
        {
            return Ok(writer);
        }
        let used = self.used(cluster).await?;
        // Servers that start at the same time should not all try the same number.
        let start = i16::from_be_bytes([Uuid::new_v4().as_bytes()[0], Uuid::new_v4().as_bytes()[1]])
            .rem_euclid(WRITERS);
        for writer in (start..WRITERS).chain(0..start).filter(|writer| !used.contains(writer)) {
            if self.claim(cluster, writer).await?.applied {
                return Ok(writer);
            }
        }
        Err(ClusterError::new(Fault::Taken, "take a writer number", "all 16383 are taken")
            .hint(format!("numbers of servers that are gone for good can be deleted from {}", self.table)))
    }

    /// Takes exactly this number, even from a dead owner.
    async fn insist(
        &self,
        cluster: &Cluster,
        writer: i16,
        dead_after: Duration,
    ) -> Result<i16, ClusterError> {
        let outcome = self.claim(cluster, writer).await?;
        if outcome.applied {
            return Ok(writer);
        }
        let has_stopped = outcome.seen.unwrap_or(0) <= 0;
        if !has_stopped && self.silence(cluster, writer).await?.is_none_or(|silence| silence < dead_after) {
            return Err(self.taken(writer, &outcome));
        }
        // On the condition that the row is still as it was read: if its owner has come back meanwhile, `seen` differs, and the number
        // stays with it.
        let text = format!(
            "UPDATE {} USING TTL {KEEP_SECS} SET owner = ?, seen = ? WHERE replica = ? AND writer = ? IF owner = ? AND seen = ?",
            self.table
        );
        let now = CqlTimestamp(now_ms());
        let values = (&self.owner, now, self.replica, writer, &outcome.owner, outcome.seen.map(CqlTimestamp));
        let taken_over = Outcome::of(cluster.run_once(Purpose::Naming, &text, values).await?)?;
        if !taken_over.applied {
            return Err(self.taken(writer, &taken_over));
        }
        tracing::warn!(writer, owner = outcome.owner, "took over the writer number of a server that is gone");
        Ok(writer)
    }

    /// For how long the row was not written, by the clock of the cluster: conditional statements have its time, not that of the server
    /// that sends them. `None` if the row has gone.
    async fn silence(&self, cluster: &Cluster, writer: i16) -> Result<Option<Duration>, ClusterError> {
        let text =
            format!("SELECT now(), WRITETIME(seen) FROM {} WHERE replica = ? AND writer = ?", self.table);
        let result = cluster.run_once(Purpose::Naming, &text, (self.replica, writer)).await?;
        let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
        let row =
            result.maybe_first_row::<(CqlTimeuuid, Option<i64>)>().map_err(|error| unreadable(&error))?;
        let Some((now, Some(written_us))) = row else { return Ok(None) };
        let now = Uuid::from(now).get_timestamp().map(|stamp| stamp.to_unix()).unwrap_or_default();
        let now = Duration::new(now.0, now.1);
        Ok(Some(now.saturating_sub(Duration::from_micros(written_us.unsigned_abs()))))
    }

    /// Creates the row, or renews it if it is ours. If the answer to a claim was lost, the next attempt finds the row to be ours.
    async fn claim(&self, cluster: &Cluster, writer: i16) -> Result<Outcome, ClusterError> {
        let insert = format!(
            "INSERT INTO {} (replica, writer, owner, seen) VALUES (?, ?, ?, ?) IF NOT EXISTS USING TTL {KEEP_SECS}",
            self.table
        );
        let values = (self.replica, writer, &self.owner, CqlTimestamp(now_ms()));
        let outcome = Outcome::of(cluster.run_once(Purpose::Naming, &insert, values).await?)?;
        if outcome.applied || outcome.owner.as_ref() != Some(&self.owner) {
            return Ok(outcome);
        }
        let update = format!(
            "UPDATE {} USING TTL {KEEP_SECS} SET owner = ?, seen = ? WHERE replica = ? AND writer = ? IF owner = ?",
            self.table
        );
        let values = (&self.owner, CqlTimestamp(now_ms()), self.replica, writer, &self.owner);
        Outcome::of(cluster.run_once(Purpose::Naming, &update, values).await?)
    }

    async fn used(&self, cluster: &Cluster) -> Result<HashSet<i16>, ClusterError> {
        let text = format!("SELECT writer FROM {} WHERE replica = ?", self.table);
        let result = cluster.run_once(Purpose::Metadata, &text, (self.replica,)).await?;
        let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
        let rows = result.rows::<(i16,)>().map_err(|error| unreadable(&error))?;
        rows.map(|row| row.map(|(writer,)| writer))
            .collect::<Result<_, _>>()
            .map_err(|error| unreadable(&error))
    }

    fn taken(&self, writer: i16, outcome: &Outcome) -> ClusterError {
        let owner = outcome.owner.as_deref().unwrap_or("another server");
        ClusterError::new(
            Fault::Taken,
            format!("take writer number {writer} of replica {}", self.replica),
            format!("`{owner}` holds it and is alive"),
        )
        .hint("give each server a number of its own in store.cassandra.writer, or set it to \"auto\"")
    }
}

impl Outcome {
    /// Reads what Cassandra says about a conditional statement: whether it was applied, or else the existing row.
    pub(super) fn of(result: QueryResult) -> Result<Self, ClusterError> {
        let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
        let names: Vec<String> = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
        let row = result.first_row::<Row>().map_err(|error| unreadable(&error))?;
        let mut outcome = Self { applied: false, owner: None, seen: None };
        for (name, value) in names.iter().zip(row.columns) {
            match (name.as_str(), value) {
                ("[applied]", Some(CqlValue::Boolean(applied))) => outcome.applied = applied,
                ("owner", Some(CqlValue::Text(owner))) => outcome.owner = Some(owner),
                ("seen", Some(CqlValue::Timestamp(CqlTimestamp(at)))) => outcome.seen = Some(at),
                _ => {}
            }
        }
        Ok(outcome)
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> ClusterError {
    ClusterError::new(Fault::Other, "read plumbago_writers", error.to_string())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Our identity from the file, or a new one. A new one is on disk before it is used, so that a claim can be recognised after a
/// crash.
fn remember(file: &Path, replica: i16, name: &str) -> Result<Remembered, StoreError> {
    match std::fs::read(file) {
        Ok(bytes) => {
            let known: Remembered = serde_json::from_slice(&bytes).map_err(|error| StoreError::Damaged {
                path: file.to_owned(),
                detail: format!("{error}; remove it to take another writer number"),
            })?;
            // Each replica has its own set of numbers.
            let writer = known.writer.filter(|_| known.replica == replica);
            Ok(Remembered { writer, replica, ..known })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let new = Remembered { owner: format!("{name} {}", Uuid::new_v4()), replica, writer: None };
            write(file, &new)?;
            Ok(new)
        }
        Err(source) => Err(StoreError::Io { action: "read", path: file.to_owned(), source }),
    }
}

/// Replaces the whole file: a crash leaves either the old one or the new one.
fn write(file: &Path, remembered: &Remembered) -> Result<(), StoreError> {
    let part: PathBuf = file.with_extension("part");
    let failed = |action, source| StoreError::Io { action, path: part.clone(), source };
    let text = serde_json::to_vec(remembered).map_err(|error| failed("write", error.into()))?;
    std::fs::write(&part, text).map_err(|source| failed("write", source))?;
    std::fs::File::open(&part).and_then(|f| f.sync_all()).map_err(|source| failed("sync", source))?;
    std::fs::rename(&part, file).map_err(|source| failed("rename", source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_two_bits_of_replica_and_fourteen_of_writer() {
        let shard =
            |replica, writer| Lease { table: String::new(), replica, writer, owner: String::new() }.shard();
        assert_eq!(shard(0, 5), 5);
        assert_eq!(shard(1, 5), 16_389);
        assert_eq!(shard(2, 0), i16::MIN);
        assert_eq!(shard(3, 16_383), -1);
    }

    #[test]
    fn an_owner_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("writer.json");
        let first = remember(&file, 0, "here").unwrap();
        assert!(first.owner.starts_with("here "));
        write(&file, &Remembered { writer: Some(9), ..first }).unwrap();
        let again = remember(&file, 0, "elsewhere").unwrap();
        assert!(again.owner.starts_with("here "));
        assert_eq!(again.writer, Some(9));
        assert_eq!(remember(&file, 1, "here").unwrap().writer, None);
        std::fs::write(&file, "x").unwrap();
        assert!(matches!(remember(&file, 0, "here"), Err(StoreError::Damaged { .. })));
    }
}
