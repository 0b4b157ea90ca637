//! Writing points: single-partition batches, many of them in flight, as many as the cluster takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::rows::{AggregatedRow, Place, RawRow, stored};
use super::schema::table_name;
use super::{Cluster, ClusterError, Purpose};
use crate::store::{Column, StoreError};
use plumbago_model::{Aggregator, Partial, Stage, StageKind};

/// Rows in one batch. More bring little, and make the cluster warn.
const BATCH_ROWS: usize = 30;
/// Batches in flight when nothing is known of the cluster yet.
const FIRST_IN_FLIGHT: usize = 32;
const LEAST_IN_FLIGHT: usize = 4;
/// And while metrics are created: what both ask of the cluster goes to the names then, without which no other server finds
/// the points. Batches that are full still bring tens of thousands of points a second.
const BESIDE_NAMES: usize = 4;
/// After so many batches went well one more may be in flight.
const GROW_AFTER: u64 = 64;
/// Tries of one batch before the whole parcel waits.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Sends the rows of this server.
pub struct Sender {
    cluster: Arc<Cluster>,
    throttle: Arc<Throttle>,
    /// Set when the server stops: nobody waits for tries any more.
    stopping: Arc<AtomicBool>,
}

/// What one delivery came to, filled in by its batches.
#[derive(Default)]
struct Delivery {
    failure: Mutex<Option<ClusterError>>,
    rows: AtomicU64,
}

impl Sender {
    /// At most `max_in_flight` batches at a time.
    pub fn new(cluster: Arc<Cluster>, max_in_flight: usize) -> Self {
        let throttle = Arc::new(Throttle::new(max_in_flight.max(LEAST_IN_FLIGHT)));
        Self { cluster, throttle, stopping: Arc::default() }
    }

    /// Batches that may be in flight now.
    pub fn in_flight_limit(&self) -> usize {
        self.throttle.limit.load(Ordering::Relaxed)
    }

    /// Gives up what is being tried.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Begins a delivery of rows with one write time stamp, under one shard.
    pub fn begin(&self, shard: i16, timestamp_us: i64) -> Shipment<'_> {
        Shipment { sender: self, shard, timestamp_us, delivery: Arc::default() }
    }
}

/// Rows on their way.
pub struct Shipment<'a> {
    sender: &'a Sender,
    shard: i16,
    timestamp_us: i64,
    delivery: Arc<Delivery>,
}

impl Shipment<'_> {
    /// Sends slots of a metric. Waits while too many batches are in flight; an error is that of any batch so far.
    pub fn put(
        &self,
        stage: Stage,
        metric: Uuid,
        method: Aggregator,
        column: &Column,
    ) -> Result<(), StoreError> {
        if let Some(error) = &*self.delivery.failure.lock() {
            return Err(error.clone().into());
        }
        let places: Vec<Place> = column.times.iter().map(|&time| Place::of(stage, time)).collect();
        let mut at = 0;
        for partition in places.chunk_by(|a, b| a.time_start_ms == b.time_start_ms) {
            for batch in partition.chunks(BATCH_ROWS) {
                let slots = at..at + batch.len();
                at = slots.end;
                self.send(stage, rows(metric, method, self.shard, batch, column, slots));
            }
        }
        Ok(())
    }

    /// Waits until all batches have arrived. Gives the number of rows.
    pub fn finish(self) -> Result<u64, StoreError> {
        self.sender.cluster.block_on(self.sender.throttle.quiet());
        match self.delivery.failure.lock().take() {
            Some(error) => Err(error.into()),
            None => Ok(self.delivery.rows.load(Ordering::Relaxed)),
        }
    }

    fn send(&self, stage: Stage, rows: Rows) {
        let Sender { cluster, throttle, stopping } = self.sender;
        let permit = cluster.block_on(throttle.acquire(cluster));
        let (cluster, throttle) = (Arc::clone(cluster), Arc::clone(throttle));
        let (stopping, delivery) = (Arc::clone(stopping), Arc::clone(&self.delivery));
        let timestamp_us = self.timestamp_us;
        self.sender.cluster.runtime().spawn(async move {
            let mut pause = FIRST_PAUSE;
            for attempt in 1..=TRIES {
                let error = match write(&cluster, stage, &rows, timestamp_us).await {
                    Ok(()) => {
                        throttle.went_well();
                        delivery.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
                        break;
                    }
                    Err(error) => error,
                };
                throttle.went_badly();
                let over = delivery.failure.lock().is_some() || stopping.load(Ordering::Relaxed);
                if attempt == TRIES || over || !error.is_retryable() {
                    delivery.failure.lock().get_or_insert(error);
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
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Rows::Raw(rows) => rows.len(),
            Rows::Aggregated(rows) => rows.len(),
        }
    }
}

fn rows(
    metric: Uuid,
    method: Aggregator,
    shard: i16,
    places: &[Place],
    column: &Column,
    slots: std::ops::Range<usize>,
) -> Rows {
    let values = places.iter().zip(&column.values[slots.clone()]);
    match column.counts.get(slots) {
        Some(counts) if !column.counts.is_empty() => Rows::Aggregated(
            values
                .zip(counts)
                .map(|((place, &value), &count)| {
                    let (value, count) = stored(Partial { value, count }, method);
                    (metric, place.time_start_ms, place.offset, shard, value, count)
                })
                .collect(),
        ),
        _ => Rows::Raw(
            values.map(|(place, &value)| (metric, place.time_start_ms, place.offset, value)).collect(),
        ),
    }
}

async fn write(cluster: &Cluster, stage: Stage, rows: &Rows, timestamp_us: i64) -> Result<(), ClusterError> {
    let keyspace = &cluster.settings().keyspace;
    let table = table_name(stage);
    let text = match stage.kind {
        StageKind::Raw => format!(
            "INSERT INTO {keyspace}.{table} (metric, time_start_ms, \"offset\", value) VALUES (?, ?, ?, ?)"
        ),
        StageKind::Aggregated => format!(
            "INSERT INTO {keyspace}.{table} (metric, time_start_ms, \"offset\", shard, value, count) \
             VALUES (?, ?, ?, ?, ?, ?)"
        ),
    };
    let statement = cluster.prepare(Purpose::Write, &text).await?;
    let session = cluster.session().await?;
    let sent = match rows {
        Rows::Raw(rows) => session.batch(&batch(cluster, &statement, rows.len(), timestamp_us), rows).await,
        Rows::Aggregated(rows) => {
            session.batch(&batch(cluster, &statement, rows.len(), timestamp_us), rows).await
        }
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

/// How many batches may be in flight: one more after a good run, half as many after a failure.
struct Throttle {
    permits: Arc<Semaphore>,
    limit: AtomicUsize,
    most: usize,
    good: AtomicU64,
}

impl Throttle {
    fn new(most: usize) -> Self {
        let first = FIRST_IN_FLIGHT.min(most);
        Self {
            permits: Arc::new(Semaphore::new(first)),
            limit: AtomicUsize::new(first),
            most,
            good: AtomicU64::new(0),
        }
    }

    async fn acquire(&self, cluster: &Cluster) -> tokio::sync::OwnedSemaphorePermit {
        while cluster.is_naming() && self.in_flight() >= BESIDE_NAMES {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed")
    }

    fn in_flight(&self) -> usize {
        self.limit.load(Ordering::Relaxed).saturating_sub(self.permits.available_permits())
    }

    fn went_well(&self) {
        if self.good.fetch_add(1, Ordering::Relaxed) % GROW_AFTER == GROW_AFTER - 1
            && self.limit.load(Ordering::Relaxed) < self.most
        {
            self.limit.fetch_add(1, Ordering::Relaxed);
            self.permits.add_permits(1);
        }
    }

    fn went_badly(&self) {
        let limit = self.limit.load(Ordering::Relaxed);
        let wanted = (limit / 2).max(LEAST_IN_FLIGHT);
        // Those in flight keep their permits: only free ones can go, the others go when they fail in their turn.
        let gone = self.permits.forget_permits(limit.saturating_sub(wanted));
        self.limit.fetch_sub(gone, Ordering::Relaxed);
    }

    /// Waits until nothing is in flight.
    async fn quiet(&self) {
        while self.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
