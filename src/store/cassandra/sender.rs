//! Writing points: single-partition batches, many of them in flight, as many as the cluster takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use uuid::Uuid;

use super::rows::{AggregatedKey, AggregatedRow, RawRow, SlotKey, stored};
use super::schema::table_name;
use super::throttle::Throttle;
use super::{Cluster, ClusterError, Purpose};
use crate::store::{Column, StoreError};
use plumbago_model::{Aggregator, Partial, Stage};

/// Rows in one batch. More bring little, and make the cluster warn.
const BATCH_ROWS: usize = 30;
/// Tries of one batch before the whole parcel waits.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Sends the rows of this server.
pub struct Sender {
    cluster: Arc<Cluster>,
    throttle: Arc<Throttle>,
    /// Set when the server stops: failed batches are not tried again.
    stopping: Arc<AtomicBool>,
}

/// What became of the batches of one delivery.
#[derive(Default)]
struct Tally {
    failure: Mutex<Option<ClusterError>>,
    rows: AtomicU64,
}

impl Sender {
    /// At most `max_in_flight` batches at a time.
    pub fn new(cluster: Arc<Cluster>, max_in_flight: usize) -> Self {
        let throttle = Arc::new(Throttle::new(max_in_flight));
        Self { cluster, throttle, stopping: Arc::default() }
    }

    /// Batches that may be in flight now.
    pub fn in_flight_limit(&self) -> usize {
        self.throttle.limit()
    }

    /// Gives up what is being tried.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Begins a delivery of rows with one write time stamp, under one shard.
    pub fn begin(&self, shard: i16, timestamp_us: i64) -> Delivery<'_> {
        Delivery { sender: self, shard, timestamp_us, tally: Arc::default() }
    }
}

/// Rows on their way.
pub struct Delivery<'a> {
    sender: &'a Sender,
    shard: i16,
    timestamp_us: i64,
    tally: Arc<Tally>,
}

impl Delivery<'_> {
    /// Sends slots of a metric. Waits while too many batches are in flight; an error is that of any batch so far.
    pub fn put(
        &self,
        stage: Stage,
        metric: Uuid,
        method: Aggregator,
        column: &Column,
    ) -> Result<(), StoreError> {
        if let Some(error) = &*self.tally.failure.lock() {
            return Err(error.clone().into());
        }
        let keys: Vec<SlotKey> = column.times.iter().map(|&time| SlotKey::of(stage, time)).collect();
        let mut at = 0;
        for partition in keys.chunk_by(|a, b| a.time_start_ms == b.time_start_ms) {
            for batch in partition.chunks(BATCH_ROWS) {
                let slots = at..at + batch.len();
                at = slots.end;
                self.send(stage, rows(metric, method, self.shard, batch, column, slots));
            }
        }
        Ok(())
    }

    /// Deletes this server's rows of an aggregated stage, with the same time stamp.
    pub fn remove(&self, stage: Stage, metric: Uuid, times: &[u32]) -> Result<(), StoreError> {
        if let Some(error) = &*self.tally.failure.lock() {
            return Err(error.clone().into());
        }
        let keys: Vec<SlotKey> = times.iter().map(|&time| SlotKey::of(stage, time)).collect();
        for partition in keys.chunk_by(|a, b| a.time_start_ms == b.time_start_ms) {
            for batch in partition.chunks(BATCH_ROWS) {
                let key = |key: &SlotKey| (metric, key.time_start_ms, key.offset, self.shard);
                self.send(stage, Rows::Gone(batch.iter().map(key).collect()));
            }
        }
        Ok(())
    }

    /// Waits until all batches have arrived. Gives the number of rows.
    pub fn finish(self) -> Result<u64, StoreError> {
        self.sender.cluster.block_on(self.sender.throttle.quiet());
        match self.tally.failure.lock().take() {
            Some(error) => Err(error.into()),
            None => Ok(self.tally.rows.load(Ordering::Relaxed)),
        }
    }

    fn send(&self, stage: Stage, rows: Rows) {
        let Sender { cluster, throttle, stopping } = self.sender;
        let permit = cluster.block_on(throttle.acquire(cluster.creations()));
        let (cluster, throttle) = (Arc::clone(cluster), Arc::clone(throttle));
        let (stopping, tally) = (Arc::clone(stopping), Arc::clone(&self.tally));
        let timestamp_us = self.timestamp_us;
        self.sender.cluster.runtime().spawn(async move {
            let mut pause = FIRST_PAUSE;
            for attempt in 1..=TRIES {
                let error = match write(&cluster, stage, &rows, timestamp_us).await {
                    Ok(()) => {
                        throttle.went_well();
                        tally.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
                        break;
                    }
                    Err(error) => error,
                };
                throttle.went_badly();
                let over = tally.failure.lock().is_some() || stopping.load(Ordering::Relaxed);
                if attempt == TRIES || over || !error.is_retryable() {
                    tally.failure.lock().get_or_insert(error);
                    break;
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            drop(permit);
        });
    }
}

/// The rows of one batch, all in one partition.
enum Rows {
    Raw(Vec<RawRow>),
    Aggregated(Vec<AggregatedRow>),
    /// Rows of an aggregated stage that are to be deleted.
    Gone(Vec<AggregatedKey>),
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Rows::Raw(rows) => rows.len(),
            Rows::Aggregated(rows) => rows.len(),
            Rows::Gone(keys) => keys.len(),
        }
    }
}

fn rows(
    metric: Uuid,
    method: Aggregator,
    shard: i16,
    keys: &[SlotKey],
    column: &Column,
    slots: std::ops::Range<usize>,
) -> Rows {
    let values = keys.iter().zip(&column.values[slots.clone()]);
    match column.counts.get(slots) {
        Some(counts) if !column.counts.is_empty() => Rows::Aggregated(
            values
                .zip(counts)
                .map(|((key, &value), &count)| {
                    let (value, count) = stored(Partial { value, count }, method);
                    (metric, key.time_start_ms, key.offset, shard, value, count)
                })
                .collect(),
        ),
        _ => Rows::Raw(values.map(|(key, &value)| (metric, key.time_start_ms, key.offset, value)).collect()),
    }
}

async fn write(cluster: &Cluster, stage: Stage, rows: &Rows, timestamp_us: i64) -> Result<(), ClusterError> {
    let keyspace = &cluster.settings().keyspace;
    let table = table_name(stage);
    let text = match rows {
        Rows::Raw(_) => format!(
            "INSERT INTO {keyspace}.{table} (metric, time_start_ms, \"offset\", value) VALUES (?, ?, ?, ?)"
        ),
        Rows::Aggregated(_) => format!(
            "INSERT INTO {keyspace}.{table} (metric, time_start_ms, \"offset\", shard, value, count) \
             VALUES (?, ?, ?, ?, ?, ?)"
        ),
        Rows::Gone(_) => format!(
            "DELETE FROM {keyspace}.{table} \
             WHERE metric = ? AND time_start_ms = ? AND \"offset\" = ? AND shard = ?"
        ),
    };
    let statement = cluster.prepare(Purpose::Write, &text).await?;
    let session = cluster.session().await?;
    let sent = match rows {
        Rows::Raw(rows) => session.batch(&batch(cluster, &statement, rows.len(), timestamp_us), rows).await,
        Rows::Aggregated(rows) => {
            session.batch(&batch(cluster, &statement, rows.len(), timestamp_us), rows).await
        }
        Rows::Gone(keys) => session.batch(&batch(cluster, &statement, keys.len(), timestamp_us), keys).await,
    };
    sent.map(drop).map_err(|error| ClusterError::of(format!("write points to {keyspace}.{table}"), &error))
}

/// A batch goes to the node of its first row, and all rows are in one partition, so that is where they all belong.
fn batch(cluster: &Cluster, statement: &Arc<PreparedStatement>, rows: usize, timestamp_us: i64) -> Batch {
    let mut batch = Batch::new(BatchType::Unlogged);
    for _ in 0..rows {
        batch.append_statement(PreparedStatement::clone(statement));
    }
    batch.set_is_idempotent(true);
    batch.set_timestamp(Some(timestamp_us));
    batch.set_execution_profile_handle(Some(cluster.profile(Purpose::Write)));
    batch
}
