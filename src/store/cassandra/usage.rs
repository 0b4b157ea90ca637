//! Counting: how many rows metrics have, and how large the tables are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use scylla::deserialize::row::DeserializeRow;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::response::query_result::QueryResult;
use scylla::statement::unprepared::Statement;
use uuid::Uuid;

use super::rows::SlotKey;
use super::schema::{POINTS_PER_PARTITION, table_name};
use super::{Cluster, ClusterError, Fault, Purpose, flight};
use plumbago_model::{Stage, StageKind};

/// Bytes of a row on disk before compression: key, value, timestamp, time to live. Cassandra does not report them by metric.
const RAW_ROW_BYTES: u64 = 25;
/// The same with a shard and a count.
const AGGREGATED_ROW_BYTES: u64 = 32;
/// Partitions should stay below this: larger ones make reads, compaction and repairs slow.
pub const LARGE_PARTITION: u64 = 100 << 20;

/// Bytes of a row of points before compression.
pub fn row_bytes(kind: StageKind) -> u64 {
    match kind {
        StageKind::Raw => RAW_ROW_BYTES,
        StageKind::Aggregated => AGGREGATED_ROW_BYTES,
    }
}

/// Bytes of a full partition of a stage before compression, with one writer.
pub fn partition_bytes(stage: Stage) -> u64 {
    POINTS_PER_PARTITION.min(stage.points.into()) * row_bytes(stage.kind)
}

/// Partitions that a metric has in a stage at most.
pub fn partitions(stage: Stage) -> u64 {
    // A stretch of so many slots need not begin with a partition.
    u64::from(stage.points).div_ceil(POINTS_PER_PARTITION) + 1
}

/// Partitions counted at a time.
const IN_FLIGHT: usize = 64;

/// What a metric has in a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Rows: of an aggregated stage one for each slot and writer.
    pub rows: u64,
    /// The first slot that has one.
    pub first: Option<u32>,
    /// The last slot that has one.
    pub last: Option<u32>,
}

impl TableSize {
    /// Bytes of one partition, on average.
    pub fn mean(self) -> u64 {
        self.bytes.checked_div(self.partitions).unwrap_or(0)
    }
}

impl Held {
    fn add(&mut self, other: Held) {
        self.rows += other.rows;
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
    }
}

/// How large a table is, by the nodes' own estimates, which they make every five minutes from what is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Partitions.
    pub partitions: u64,
    /// Bytes of one replica before compression.
    pub bytes: u64,
}

/// What metrics have in each of their stages, in the order asked for. The nodes count, a partition at a time.
pub fn held(
    cluster: &Arc<Cluster>,
    metrics: &[(Uuid, Vec<Stage>)],
    now: u32,
) -> Result<Vec<Vec<Held>>, ClusterError> {
    let mut counts: Vec<Vec<Held>> =
        metrics.iter().map(|(_, stages)| vec![Held::default(); stages.len()]).collect();
    let mut partitions = Vec::new();
    for (nth, (metric, stages)) in metrics.iter().enumerate() {
        for (level, &stage) in stages.iter().enumerate() {
            let starts = SlotKey::starts(stage, now).into_iter();
            partitions.extend(starts.map(|start| (nth, level, *metric, stage, start)));
        }
    }
    let shared = Arc::clone(cluster);
    let counted = cluster.block_on(flight::map(partitions, IN_FLIGHT, move |at| {
        let (cluster, (nth, level, metric, stage, start)) = (Arc::clone(&shared), at);
        async move { Ok((nth, level, count(&cluster, stage, metric, start).await?)) }
    }))?;
    for (nth, level, found) in counted {
        counts[nth][level].add(found);
    }
    Ok(counts)
}

async fn count(cluster: &Cluster, stage: Stage, metric: Uuid, start: i64) -> Result<Held, ClusterError> {
    let table = format!("{}.{}", cluster.settings().keyspace, table_name(stage));
    let text = format!(
        "SELECT COUNT(*), MIN(\"offset\"), MAX(\"offset\") FROM {table} WHERE metric = ? AND time_start_ms = ?"
    );
    let statement = cluster.prepare(Purpose::Background, &text).await?;
    let session = cluster.session().await?;
    let found = session.execute_unpaged(&statement, (metric, start)).await;
    let found = found.map_err(|error| ClusterError::of(format!("count points of {table}"), &error))?;
    let rows: Vec<(i64, Option<i16>, Option<i16>)> = listed(found)?;
    let (count, first, last) = rows.into_iter().next().unwrap_or_default();
    let time = |offset| SlotKey { time_start_ms: start, offset }.time(stage);
    Ok(Held { rows: count.unsigned_abs(), first: first.map(time), last: last.map(time) })
}

/// The tables of a keyspace.
pub fn tables(cluster: &Cluster, keyspace: &str) -> Result<BTreeSet<String>, ClusterError> {
    let text = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?";
    let found = cluster.block_on(cluster.run_once(Purpose::Metadata, text, (keyspace,)))?;
    Ok(listed::<(String,)>(found)?.into_iter().map(|(name,)| name).collect())
}

/// The sizes of the tables of a keyspace. Each node estimates the ranges it is the first replica of, so all are asked.
pub fn sizes(cluster: &Cluster, keyspace: &str) -> Result<BTreeMap<String, TableSize>, ClusterError> {
    let text = "SELECT table_name, partitions_count, mean_partition_size FROM system.size_estimates \
                WHERE keyspace_name = ?";
    cluster.block_on(async {
        let session = cluster.session().await?;
        let mut sizes: BTreeMap<String, TableSize> = BTreeMap::new();
        for node in session.get_cluster_state().get_nodes_info() {
            let node = NodeIdentifier::Node(Arc::clone(node));
            let mut statement = Statement::new(text);
            statement.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(node, None)));
            let found = session.query_unpaged(statement, (keyspace,)).await;
            let found = found.map_err(|error| ClusterError::of("ask a node for sizes", &error))?;
            for (table, partitions, mean) in listed::<(String, Option<i64>, Option<i64>)>(found)? {
                let size = sizes.entry(table).or_default();
                let partitions = partitions.unwrap_or(0).unsigned_abs();
                size.partitions += partitions;
                size.bytes += partitions.saturating_mul(mean.unwrap_or(0).unsigned_abs());
            }
        }
        Ok(sizes)
    })
}

fn listed<R>(result: QueryResult) -> Result<Vec<R>, ClusterError>
where
    R: for<'f, 'm> DeserializeRow<'f, 'm>,
{
    let unreadable = |error: &dyn std::fmt::Display| {
        ClusterError::new(Fault::Other, "read what the cluster counted", error.to_string())
    };
    let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
    let rows = result.rows::<R>().map_err(|error| unreadable(&error))?;
    rows.collect::<Result<_, _>>().map_err(|error| unreadable(&error))
}
