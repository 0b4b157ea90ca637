//! Reads points: one query per metric and partition, in parallel.

use std::sync::Arc;

use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::prepared::PreparedStatement;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::rows::{SlotKey, replica_of};
use super::schema::table_name;
use super::{Cluster, ClusterError, Fault, Purpose};
use crate::store::StoreError;
use plumbago_model::{Aggregator, Partial, SlotRange, Stage, StageKind, Window};

/// Replicas that the bits of a shard can distinguish.
pub(super) const REPLICAS: usize = 4;
/// Aggregates younger than this may lack another writer's part: BigGraphite's wait in memory for up to ten minutes.
pub const UNSETTLED_SECS: u32 = 20 * 60;
/// Rows per page: a partition of a raw stage fits.
const PAGE_ROWS: i32 = 5000;

/// A metric to read, and this server's own part of it.
pub struct Wanted<'a> {
    /// Its id in the tables.
    pub metric: Uuid,
    /// How its partials are combined.
    pub method: Aggregator,
    /// For an aggregated stage: what this server wrote, or will write, under its own shard.
    pub own: Option<&'a Window>,
}

/// Reads the slots of all writers.
pub struct Fetcher {
    cluster: Arc<Cluster>,
    queries: Arc<Semaphore>,
}

impl Fetcher {
    /// At most `max_queries` at a time, over all readers.
    pub fn new(cluster: Arc<Cluster>, max_queries: usize) -> Self {
        Self { cluster, queries: Arc::new(Semaphore::new(max_queries.max(1))) }
    }

    /// One window per metric. Rows of `own_shard` are skipped: this server's own blocks are more current.
    pub fn read(
        &self,
        stage: Stage,
        wanted: &[Wanted<'_>],
        range: SlotRange,
        own_shard: Option<i16>,
    ) -> Result<Vec<Window>, StoreError> {
        let rows = self.rows(stage, wanted, range)?;
        let windows = wanted.iter().zip(rows);
        Ok(windows.map(|(one, rows)| assemble(stage, one, rows, range, own_shard)).collect())
    }

    /// An aggregated stage of one metric, each replica for itself.
    pub(super) fn read_replicas(
        &self,
        stage: Stage,
        (metric, method): (Uuid, Aggregator),
        range: SlotRange,
    ) -> Result<[Option<Window>; REPLICAS], StoreError> {
        let rows = self.rows(stage, &[Wanted { metric, method, own: None }], range)?;
        Ok(by_replica(method, rows.into_iter().flatten().collect(), range, None))
    }

    /// The rows of each metric, in no order.
    fn rows(
        &self,
        stage: Stage,
        wanted: &[Wanted<'_>],
        range: SlotRange,
    ) -> Result<Vec<Vec<Slot>>, ClusterError> {
        let partitions = SlotKey::partitions(stage, range);
        let read = async {
            let statements = Statements::prepare(&self.cluster, stage, wanted).await?;
            let mut tasks = tokio::task::JoinSet::new();
            for (nth, one) in wanted.iter().enumerate().filter(|(_, one)| !one.metric.is_nil()) {
                for &(start, from, until) in &partitions {
                    let (cluster, queries) = (Arc::clone(&self.cluster), Arc::clone(&self.queries));
                    let (statement, metric) = (statements.of(one.method), one.metric);
                    tasks.spawn(async move {
                        let _permit = queries.acquire().await;
                        let key = (metric, start, from, until);
                        (nth, query(&cluster, stage, &statement, key).await)
                    });
                }
            }
            let mut rows: Vec<Vec<Slot>> = wanted.iter().map(|_| Vec::new()).collect();
            while let Some(done) = tasks.join_next().await {
                let panicked = |error: tokio::task::JoinError| {
                    ClusterError::new(Fault::Other, "read points", error.to_string())
                };
                let (nth, found) = done.map_err(panicked)?;
                rows[nth].extend(found?);
            }
            Ok::<_, ClusterError>(rows)
        };
        // The tasks must start on the runtime that drives the connections.
        self.cluster.block_on(read)
    }
}

/// A row as it was found.
struct Slot {
    time: u32,
    shard: i16,
    partial: Partial,
    written_us: i64,
}

struct Statements {
    usual: Arc<PreparedStatement>,
    /// Also reads when a row was written: that decides between the last values of several writers.
    dated: Option<Arc<PreparedStatement>>,
}

impl Statements {
    async fn prepare(cluster: &Cluster, stage: Stage, wanted: &[Wanted<'_>]) -> Result<Self, ClusterError> {
        let table = format!("{}.{}", cluster.settings().keyspace, table_name(stage));
        let columns = match stage.kind {
            StageKind::Raw => "\"offset\", value",
            StageKind::Aggregated => "\"offset\", shard, value, count",
        };
        let text = |columns: &str| {
            format!(
                "SELECT {columns} FROM {table} \
                 WHERE metric = ? AND time_start_ms = ? AND \"offset\" >= ? AND \"offset\" <= ?"
            )
        };
        let usual = cluster.prepare(Purpose::Read, &text(columns)).await?;
        let is_dated = |one: &Wanted<'_>| one.method == Aggregator::Last;
        let dated = if stage.kind == StageKind::Aggregated && wanted.iter().any(is_dated) {
            let columns = format!("{columns}, WRITETIME(value)");
            Some(cluster.prepare(Purpose::Read, &text(&columns)).await?)
        } else {
            None
        };
        Ok(Self { usual, dated })
    }

    fn of(&self, method: Aggregator) -> Arc<PreparedStatement> {
        match &self.dated {
            Some(dated) if method == Aggregator::Last => Arc::clone(dated),
            _ => Arc::clone(&self.usual),
        }
    }
}

/// All rows of a partition between two offsets. A row without a value, or with a count of zero, is ignored.
async fn query(
    cluster: &Cluster,
    stage: Stage,
    statement: &PreparedStatement,
    key: (Uuid, i64, i16, i16),
) -> Result<Vec<Slot>, ClusterError> {
    let action = || format!("read points from {}.{}", cluster.settings().keyspace, table_name(stage));
    let unreadable =
        |error: &dyn std::fmt::Display| ClusterError::new(Fault::Other, action(), error.to_string());
    let session = cluster.session().await?;
    let mut statement = statement.clone();
    statement.set_page_size(PAGE_ROWS);
    let columns = statement.get_current_result_set_col_specs().get().len();
    let time_of = |offset: i16| SlotKey { time_start_ms: key.1, offset }.time(stage);
    let (mut slots, mut state) = (Vec::new(), PagingState::start());
    loop {
        let (page, next) = session
            .execute_single_page(&statement, key, state)
            .await
            .map_err(|error| ClusterError::of(action(), &error))?;
        let page = page.into_rows_result().map_err(|error| unreadable(&error))?;
        match columns {
            2 => {
                for row in page.rows::<(i16, Option<f64>)>().map_err(|error| unreadable(&error))? {
                    let (offset, value) = row.map_err(|error| unreadable(&error))?;
                    let Some(value) = value else { continue };
                    let partial = Partial { value, count: 1 };
                    slots.push(Slot { time: time_of(offset), shard: 0, partial, written_us: 0 });
                }
            }
            4 => {
                let rows = page.rows::<(i16, i16, Option<f64>, Option<i16>)>();
                for row in rows.map_err(|error| unreadable(&error))? {
                    let (offset, shard, value, count) = row.map_err(|error| unreadable(&error))?;
                    slots.extend(slot(time_of(offset), shard, value, count, None));
                }
            }
            _ => {
                let rows = page.rows::<(i16, i16, Option<f64>, Option<i16>, Option<i64>)>();
                for row in rows.map_err(|error| unreadable(&error))? {
                    let (offset, shard, value, count, written) = row.map_err(|error| unreadable(&error))?;
                    slots.extend(slot(time_of(offset), shard, value, count, written));
                }
            }
        }
        match next {
            PagingStateResponse::HasMorePages { state: more } => state = more,
            PagingStateResponse::NoMorePages => return Ok(slots),
        }
    }
}

fn slot(time: u32, shard: i16, value: Option<f64>, count: Option<i16>, written: Option<i64>) -> Option<Slot> {
    let count = u32::try_from(count?).ok().filter(|&count| count > 0)?;
    Some(Slot { time, shard, partial: Partial { value: value?, count }, written_us: written.unwrap_or(0) })
}

/// Combines the rows of all writers: those of one replica add up, and the replica with the highest count wins.
fn assemble(
    stage: Stage,
    wanted: &Wanted<'_>,
    rows: Vec<Slot>,
    range: SlotRange,
    own_shard: Option<i16>,
) -> Window {
    if stage.kind == StageKind::Raw {
        let mut window = Window::empty(range, false);
        for row in rows {
            if let Some(at) = range.position(row.time) {
                window.values[at] = row.partial.value;
            }
        }
        return window;
    }
    let mut replicas = by_replica(wanted.method, rows, range, own_shard);
    if let Some(own) = wanted.own {
        let replica =
            replicas[own_shard.map_or(0, replica_of)].get_or_insert_with(|| Window::empty(range, true));
        for at in 0..range.len {
            replica.set(at, wanted.method.merge(replica.partial(at), own.partial(at)));
        }
    }
    fullest(replicas, range)
}

/// Adds up the rows of each replica's writers, except those of one shard.
fn by_replica(
    method: Aggregator,
    mut rows: Vec<Slot>,
    range: SlotRange,
    without: Option<i16>,
) -> [Option<Window>; REPLICAS] {
    rows.sort_by_key(|row| row.written_us);
    let mut replicas: [Option<Window>; REPLICAS] = [const { None }; REPLICAS];
    for row in rows.iter().filter(|row| Some(row.shard) != without) {
        let replica = replicas[replica_of(row.shard)].get_or_insert_with(|| Window::empty(range, true));
        if let Some(at) = range.position(row.time) {
            replica.set(at, method.merge(replica.partial(at), row.partial));
        }
    }
    replicas
}

fn fullest(replicas: [Option<Window>; REPLICAS], range: SlotRange) -> Window {
    let mut windows = replicas.into_iter().flatten();
    let mut best = windows.next().unwrap_or_else(|| Window::empty(range, true));
    for other in windows {
        for at in 0..range.len {
            if other.partial(at).count() > best.partial(at).count() {
                best.set(at, other.partial(at));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGE: &str = "48*3600s_aggr";
    const RANGE: SlotRange = SlotRange { start: 0, step: 3600, len: 2 };

    fn row(time: u32, shard: i16, value: f64, count: u32, written_us: i64) -> Slot {
        Slot { time, shard, partial: Partial { value, count }, written_us }
    }

    fn sums(method: Aggregator, own: Option<&Window>, rows: Vec<Slot>) -> Vec<(f64, u32)> {
        let wanted = Wanted { metric: Uuid::nil(), method, own };
        let window = assemble(STAGE.parse().unwrap(), &wanted, rows, RANGE, Some(7));
        (0..RANGE.len).map(|at| window.partial(at)).map(|p| (p.value, p.count())).collect()
    }

    #[test]
    fn writers_of_a_replica_add_up_and_the_fullest_replica_counts() {
        let rows = || {
            vec![
                row(0, 1, 10.0, 4, 0),
                row(0, 2, 5.0, 1, 0),
                row(0, 1 << 14, 100.0, 4, 0),
                row(0, 7, 99.0, 9, 0),
            ]
        };
        assert_eq!(sums(Aggregator::Sum, None, rows())[0], (15.0, 5));
        let mut own = Window::empty(RANGE, true);
        own.set(0, Partial { value: 1.0, count: 2 });
        assert_eq!(
            sums(Aggregator::Sum, Some(&own), rows())[0],
            (16.0, 7),
            "instead of what stands under our shard"
        );
    }

    #[test]
    fn of_last_values_the_latest_written_stays() {
        let rows = vec![row(3600, 1, 10.0, 4, 20), row(3600, 2, 5.0, 1, 10)];
        assert_eq!(sums(Aggregator::Last, None, rows)[1], (10.0, 5));
    }

    #[test]
    fn rows_that_say_nothing_are_left_out() {
        assert!(slot(0, 0, Some(1.0), Some(0), None).is_none());
        assert!(slot(0, 0, None, Some(1), None).is_none());
        assert!(slot(0, 0, Some(1.0), None, None).is_none());
        assert!(slot(0, 0, Some(1.0), Some(-3), None).is_none());
    }
}
