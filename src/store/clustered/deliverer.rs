//! Delivering: parcel after parcel goes from the spool to the cluster, in order, until each has arrived.

use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use super::Clustered;
use super::backoff::BackOff;
use super::writer_number::WriterNumber;
use crate::store::cassandra::{Delivery, Sender};
use crate::store::embedded::Parcel;
use crate::store::{Column, StoreError};
use crate::telemetry::Telemetry;
use plumbago_model::{Aggregator, Stage};

/// Writes rows to the cluster.
pub trait RowWriter: Send + Sync {
    /// Begins a delivery of rows with one write time stamp, under one shard.
    fn begin(&self, shard: i16, timestamp_us: i64) -> Box<dyn RowDelivery + '_>;

    /// Gives up what is being tried.
    fn stop(&self);
}

/// Rows on their way.
pub trait RowDelivery {
    /// Sends slots of a metric; an error is that of any slots so far.
    fn put(&self, stage: Stage, metric: Uuid, method: Aggregator, column: &Column) -> Result<(), StoreError>;

    /// Waits until all have arrived. Gives the number of rows.
    fn finish(self: Box<Self>) -> Result<u64, StoreError>;
}

impl RowWriter for Sender {
    fn begin(&self, shard: i16, timestamp_us: i64) -> Box<dyn RowDelivery + '_> {
        Box::new(Sender::begin(self, shard, timestamp_us))
    }

    fn stop(&self) {
        Sender::stop(self);
    }
}

impl RowDelivery for Delivery<'_> {
    fn put(&self, stage: Stage, metric: Uuid, method: Aggregator, column: &Column) -> Result<(), StoreError> {
        Delivery::put(self, stage, metric, method, column)
    }

    fn finish(self: Box<Self>) -> Result<u64, StoreError> {
        Delivery::finish(*self)
    }
}

/// What was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Points of stage 0.
    pub points: u64,
    /// Rows, those of aggregated stages included.
    pub rows: u64,
}

/// See the module documentation.
pub struct Deliverer {
    store: Arc<Clustered>,
    rows: Box<dyn RowWriter>,
    number: Box<dyn WriterNumber>,
    telemetry: Arc<Telemetry>,
    /// One parcel at a time: delivering one twice does no harm, but counts it twice.
    delivering: Mutex<()>,
    backoff: BackOff,
}

impl Deliverer {
    /// Delivers what is in the spool of a store.
    pub fn new(
        store: Arc<Clustered>,
        rows: Box<dyn RowWriter>,
        number: Box<dyn WriterNumber>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        let backoff = BackOff::new(
            "points do not arrive in the cluster; they wait on disk",
            "points arrive in the cluster again",
        );
        Self { store, rows, number, telemetry, delivering: Mutex::new(()), backoff }
    }

    /// What keeps points from arriving, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.backoff.trouble()
    }

    /// Delivers what is due, unless it is too soon after a failure.
    pub(super) fn run_if_due(&self) {
        if self.backoff.is_over() {
            self.run();
        }
    }

    /// Delivers all there is, until something fails.
    pub(super) fn run(&self) {
        loop {
            match self.deliver_next() {
                Ok(None) => return,
                Ok(Some(Delivered { points, rows })) => {
                    self.telemetry.points_delivered.add(points);
                    self.telemetry.rows_delivered.add(rows);
                    self.backoff.succeeded();
                }
                Err(error) => {
                    self.backoff.failed(&error);
                    return;
                }
            }
        }
    }

    /// Stops trying: the server stops, and what is left is delivered after the next start.
    pub(super) fn stop(&self) {
        self.rows.stop();
    }

    /// Tells the other servers that this one is gone.
    pub(super) fn release(&self) {
        self.number.release();
    }

    /// Delivers the oldest parcel; `None` when there is none. After an error it is still in the spool, and delivering it
    /// again changes nothing that has arrived.
    pub fn deliver_next(&self) -> Result<Option<Delivered>, StoreError> {
        if self.store.spool.is_empty() && !self.number.is_held() {
            return Ok(None);
        }
        let _delivering = self.delivering.lock();
        let shard = self.number.shard()?;
        self.store.set_shard(shard)?;
        match self.store.spool.oldest() {
            Some(parcel) => self.deliver(parcel, shard).map(Some),
            None => Ok(None),
        }
    }

    fn deliver(&self, parcel: Parcel, shard: i16) -> Result<Delivered, StoreError> {
        let delivery = self.rows.begin(shard, parcel.cut_at_us);
        let put = self.put_all(parcel, &*delivery);
        // What is in flight ends first, so that nothing of this attempt arrives during the next.
        let rows = delivery.finish();
        put?;
        let rows = rows?;
        self.store.spool.remove(parcel)?;
        Ok(Delivered { points: parcel.points, rows })
    }

    fn put_all(&self, parcel: Parcel, delivery: &dyn RowDelivery) -> Result<(), StoreError> {
        let open = self.store.spool.open(parcel);
        let mut contents = open.contents();
        while let Some(content) = contents.read_next() {
            // A metric that was deleted meanwhile has no id, and its points are not missed.
            let Some(metric) = self.store.identities.get(content.metric) else { continue };
            let method = content.method.unwrap_or(Aggregator::Average);
            delivery.put(content.stage, metric, method, content.column)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::testing::{away, clustered, policy};
    use super::*;
    use crate::store::Position;
    use plumbago_model::MetricId;

    /// Values with the time stamp of their parcel, in the order in which they came.
    type Arrived = Arc<Mutex<Vec<(i64, Vec<f64>)>>>;

    #[derive(Default, Clone)]
    struct FakeRows {
        arrived: Arrived,
        is_away: Arc<AtomicBool>,
    }

    struct FakeDelivery<'a>(&'a FakeRows, i64);

    impl RowWriter for FakeRows {
        fn begin(&self, _: i16, timestamp_us: i64) -> Box<dyn RowDelivery + '_> {
            Box::new(FakeDelivery(self, timestamp_us))
        }

        fn stop(&self) {}
    }

    impl RowDelivery for FakeDelivery<'_> {
        fn put(&self, _: Stage, _: Uuid, _: Aggregator, column: &Column) -> Result<(), StoreError> {
            self.0.arrived.lock().push((self.1, column.values.clone()));
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<u64, StoreError> {
            if self.0.is_away.load(Ordering::Relaxed) { Err(away()) } else { Ok(1) }
        }
    }

    /// The number 5, or the one that the test says the cluster gives.
    struct FakeNumber(Arc<Mutex<i16>>);

    impl WriterNumber for FakeNumber {
        fn is_held(&self) -> bool {
            false
        }

        fn shard(&self) -> Result<i16, StoreError> {
            Ok(*self.0.lock())
        }

        fn release(&self) {}
    }

    fn commit(store: &Clustered, cut: u64, value: f64) {
        let stage = policy().retention.stages()[0];
        let mut begun = store.points.begin().unwrap();
        let column = Column { times: vec![60 * cut as u32], values: vec![value], counts: Vec::new() };
        begun.put(stage, MetricId(0), Aggregator::Sum, &column).unwrap();
        begun.commit(Position { cut, ..Position::default() }).unwrap();
    }

    fn deliverer(store: &Arc<Clustered>, rows: &FakeRows, shard: &Arc<Mutex<i16>>) -> Deliverer {
        let number = Box::new(FakeNumber(Arc::clone(shard)));
        Deliverer::new(Arc::clone(store), Box::new(rows.clone()), number, Arc::default())
    }

    #[test]
    fn parcels_arrive_in_order_and_a_failed_one_comes_again_before_the_next() {
        let (_dir, store) = clustered();
        store.identities.add([(MetricId(0), "a")].into_iter());
        (1..=3).for_each(|cut| commit(&store, cut, cut as f64));
        let rows = FakeRows::default();
        let deliverer = deliverer(&store, &rows, &Arc::new(Mutex::new(5)));
        rows.is_away.store(true, Ordering::Relaxed);
        deliverer.run();
        assert!(deliverer.trouble().unwrap().contains("it is away"));
        assert_eq!(store.spool.points(), 3, "nothing leaves the spool");
        rows.is_away.store(false, Ordering::Relaxed);
        deliverer.run();
        assert_eq!((deliverer.trouble(), store.spool.is_empty()), (None, true));
        let arrived = rows.arrived.lock();
        let values: Vec<f64> = arrived.iter().flat_map(|(_, values)| values.clone()).collect();
        assert_eq!(values, [1.0, 1.0, 2.0, 3.0]);
        assert_eq!(arrived[0].0, arrived[1].0, "again with the same time stamp");
        assert!(arrived.is_sorted_by_key(|(stamp, _)| *stamp));
    }

    #[test]
    fn it_rests_after_a_failure() {
        let (_dir, store) = clustered();
        store.identities.add([(MetricId(0), "a")].into_iter());
        commit(&store, 1, 1.0);
        let rows = FakeRows::default();
        rows.is_away.store(true, Ordering::Relaxed);
        let deliverer = deliverer(&store, &rows, &Arc::new(Mutex::new(5)));
        deliverer.run_if_due();
        deliverer.run_if_due();
        assert_eq!(rows.arrived.lock().len(), 1);
    }

    #[test]
    fn points_of_a_metric_that_was_deleted_are_not_delivered() {
        let (_dir, store) = clustered();
        commit(&store, 1, 1.0);
        let rows = FakeRows::default();
        deliverer(&store, &rows, &Arc::new(Mutex::new(5))).run();
        assert!(store.spool.is_empty() && rows.arrived.lock().is_empty());
    }

    #[test]
    fn a_directory_never_writes_under_another_number() {
        let (_dir, store) = clustered();
        store.identities.add([(MetricId(0), "a")].into_iter());
        commit(&store, 1, 1.0);
        let (rows, shard) = (FakeRows::default(), Arc::new(Mutex::new(5)));
        let deliverer = deliverer(&store, &rows, &shard);
        deliverer.run();
        commit(&store, 2, 2.0);
        *shard.lock() = 6;
        deliverer.run();
        assert!(deliverer.trouble().unwrap().contains("cannot go on as replica 0 writer 6"));
        assert_eq!(store.spool.points(), 1);
    }
}
