//! Deletes the points of metrics: whole partitions, and of a partition that is only partly meant a range of its rows.

use std::sync::Arc;

use scylla::statement::prepared::PreparedStatement;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::rows::{SlotKey, last_offset};
use super::schema::table_name;
use super::{Cluster, ClusterError, Fault, Purpose};
use plumbago_model::{SlotRange, Stage, Stretch};

/// Deletions in flight.
const IN_FLIGHT: usize = 64;
/// How far in the future points may be.
const FUTURE_SECS: u32 = 86_400;

/// Deletes the points of metrics in all their stages, up to one partition after `now`: those that were written by `at_us`, in
/// microseconds since 1970, or all that there are. Safe to repeat.
pub fn erase(
    cluster: &Arc<Cluster>,
    metrics: &[(Uuid, Vec<Stage>)],
    now: u32,
    at_us: Option<i64>,
) -> Result<(), ClusterError> {
    let parts = |stage| SlotKey::starts(stage, now).into_iter().map(|start| (start, Rows::All)).collect();
    run_all(cluster, metrics, &parts, at_us).map(drop)
}

/// Deletes the rows of a stretch of time that were written by `at_us`, in microseconds since 1970, by any server. Slots that lie
/// only partly inside stay. Gives the number of deletions. Safe to repeat.
pub fn erase_stretch(
    cluster: &Arc<Cluster>,
    metrics: &[(Uuid, Vec<Stage>)],
    stretch: Stretch,
    now: u32,
    at_us: i64,
) -> Result<u64, ClusterError> {
    run_all(cluster, metrics, &|stage| parts(stage, stretch, now), Some(at_us))
}

/// Which rows of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    All,
    /// Those from the first offset to the last.
    Between(i16, i16),
}

/// What to delete of a stage: the starts of partitions, and which of their rows.
fn parts(stage: Stage, stretch: Stretch, now: u32) -> Vec<(i64, Rows)> {
    let Some((first, end)) = stretch.slots(stage) else { return Vec::new() };
    // Nothing is older than the retention. A partition that begins before is meant as a whole.
    let starts = SlotKey::starts(stage, now);
    let oldest = starts.first().map_or(0, |&start| SlotKey { time_start_ms: start, offset: 0 }.time(stage));
    let newest = now.saturating_add(FUTURE_SECS).saturating_add(stage.step_secs);
    let last = starts.last().map_or(newest, |&start| {
        SlotKey { time_start_ms: start, offset: last_offset() }.time(stage).saturating_add(stage.step_secs)
    });
    let slots = SlotRange::between(first.max(oldest), end.min(last), stage.step_secs);
    let rows = |(start, from, until): (i64, i16, i16)| {
        let until = until.min(last_offset());
        (start, if (from, until) == (0, last_offset()) { Rows::All } else { Rows::Between(from, until) })
    };
    SlotKey::partitions(stage, slots).into_iter().map(rows).collect()
}

/// Deletes parts of all these metrics. Gives the number of deletions.
fn run_all(
    cluster: &Arc<Cluster>,
    metrics: &[(Uuid, Vec<Stage>)],
    parts: &dyn Fn(Stage) -> Vec<(i64, Rows)>,
    at_us: Option<i64>,
) -> Result<u64, ClusterError> {
    cluster.block_on(async {
        let (mut tasks, mut number) = (JoinSet::new(), 0);
        for (metric, stages) in metrics {
            for &stage in stages {
                let statements = Statements::prepare(cluster, stage, at_us).await?;
                for (start, rows) in parts(stage) {
                    if tasks.len() >= IN_FLIGHT {
                        joined(tasks.join_next().await)?;
                    }
                    number += 1;
                    let (cluster, statements, metric) =
                        (Arc::clone(cluster), Arc::clone(&statements), *metric);
                    tasks.spawn(async move { run(&cluster, &statements, metric, start, rows).await });
                }
            }
        }
        while !tasks.is_empty() {
            joined(tasks.join_next().await)?;
        }
        Ok(number)
    })
}

/// How to delete from the table of a stage.
struct Statements {
    all: PreparedStatement,
    between: PreparedStatement,
}

impl Statements {
    async fn prepare(cluster: &Cluster, stage: Stage, at_us: Option<i64>) -> Result<Arc<Self>, ClusterError> {
        let table = format!("{}.{}", cluster.settings().keyspace, table_name(stage));
        let all = format!("DELETE FROM {table} WHERE metric = ? AND time_start_ms = ?");
        let between = format!("{all} AND \"offset\" >= ? AND \"offset\" <= ?");
        let dated = async |text: &str| {
            let mut statement = PreparedStatement::clone(&*cluster.prepare(Purpose::Background, text).await?);
            statement.set_timestamp(at_us);
            Ok::<_, ClusterError>(statement)
        };
        Ok(Arc::new(Self { all: dated(&all).await?, between: dated(&between).await? }))
    }
}

async fn run(
    cluster: &Cluster,
    statements: &Statements,
    metric: Uuid,
    start: i64,
    rows: Rows,
) -> Result<(), ClusterError> {
    let session = cluster.session().await?;
    let done = match rows {
        Rows::All => session.execute_unpaged(&statements.all, (metric, start)).await,
        Rows::Between(from, until) => {
            session.execute_unpaged(&statements.between, (metric, start, from, until)).await
        }
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A partition has 2000 slots of a minute: 120,000 s.
    const PARTITION: u32 = 120_000;
    const NOW: u32 = 10_000 * PARTITION;

    fn of_minutes(kind: &str, from: u32, until: u32) -> Vec<(i64, Rows)> {
        parts(format!("100000*60s_{kind}").parse().unwrap(), Stretch { from, until }, NOW)
    }

    fn start(partition: u32) -> i64 {
        i64::from(partition) * i64::from(PARTITION) * 1000
    }

    #[test]
    fn whole_partitions_go_and_the_edges_by_their_rows() {
        let parts = of_minutes("0", 9990 * PARTITION + 90, 9992 * PARTITION + 121);
        let expected = [
            (start(9990), Rows::Between(2, 1999)),
            (start(9991), Rows::All),
            (start(9992), Rows::Between(0, 2)),
        ];
        assert_eq!(parts, expected);
        assert_eq!(of_minutes("0", 9991 * PARTITION, 9992 * PARTITION), [(start(9991), Rows::All)]);
        // A slot of an aggregated stage that lies only partly inside stays.
        let parts = of_minutes("aggr", 9992 * PARTITION, 9992 * PARTITION + 121);
        assert_eq!(parts, [(start(9992), Rows::Between(0, 1))]);
        assert_eq!(of_minutes("aggr", 9992 * PARTITION + 1, 9992 * PARTITION + 119), []);
    }

    #[test]
    fn what_cannot_be_there_is_left_alone() {
        let parts = of_minutes("0", 0, u32::MAX);
        // The retention is fifty partitions long, and a day is less than one.
        assert_eq!(parts.len(), 52, "{parts:?}");
        assert_eq!((parts[0], parts[51]), ((start(9949), Rows::All), (start(10_000), Rows::All)));
        assert_eq!(of_minutes("0", 0, 9000 * PARTITION), []);
    }
}
