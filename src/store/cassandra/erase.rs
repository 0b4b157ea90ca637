//! Deletes the points of metrics, whole partitions at a time.

use std::sync::Arc;

use scylla::statement::prepared::PreparedStatement;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::rows::SlotKey;
use super::schema::table_name;
use super::{Cluster, ClusterError, Fault, Purpose};
use plumbago_model::Stage;

/// Deletions in flight.
const IN_FLIGHT: usize = 64;

/// Deletes the points of metrics in all their stages, up to one partition after `now`. Safe to repeat.
pub fn erase(cluster: &Arc<Cluster>, metrics: &[(Uuid, Vec<Stage>)], now: u32) -> Result<(), ClusterError> {
    cluster.block_on(async {
        let mut tasks = JoinSet::new();
        for (metric, stages) in metrics {
            for &stage in stages {
                let statement = prepare(cluster, stage).await?;
                for start in SlotKey::starts(stage, now) {
                    if tasks.len() >= IN_FLIGHT {
                        joined(tasks.join_next().await)?;
                    }
                    let (cluster, statement, metric) = (Arc::clone(cluster), Arc::clone(&statement), *metric);
                    tasks.spawn(async move { run(&cluster, &statement, metric, start).await });
                }
            }
        }
        while !tasks.is_empty() {
            joined(tasks.join_next().await)?;
        }
        Ok(())
    })
}

async fn prepare(cluster: &Cluster, stage: Stage) -> Result<Arc<PreparedStatement>, ClusterError> {
    let table = format!("{}.{}", cluster.settings().keyspace, table_name(stage));
    let text = format!("DELETE FROM {table} WHERE metric = ? AND time_start_ms = ?");
    cluster.prepare(Purpose::Background, &text).await
}

async fn run(
    cluster: &Cluster,
    statement: &PreparedStatement,
    metric: Uuid,
    start: i64,
) -> Result<(), ClusterError> {
    let session = cluster.session().await?;
    let done = session.execute_unpaged(statement, (metric, start)).await;
    done.map(drop).map_err(|error| ClusterError::of("delete points", &error))
}

fn joined(
    done: Option<Result<Result<(), ClusterError>, tokio::task::JoinError>>,
) -> Result<(), ClusterError> {
    match done {
        Some(Ok(result)) => result,
        Some(Err(error)) => Err(ClusterError::new(Fault::Other, "delete points", error.to_string())),
        None => Ok(()),
    }
}
