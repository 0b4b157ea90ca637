//! Delivering: parcel after parcel goes from the spool to the cluster, in order, until each has arrived.

use std::sync::Arc;

use parking_lot::Mutex;
use roaring::RoaringBitmap;
use uuid::Uuid;

use super::Clustered;
use super::backoff::BackOff;
use super::outdated::Outdated;
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
    /// Where to note which metrics were delivered, if somebody wants to know.
    outdated: Option<Arc<Outdated>>,
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
        Self { store, rows, number, telemetry, delivering: Mutex::new(()), backoff, outdated: None }
    }

    /// Notes the metrics of each parcel that has arrived: their running slots may be others now.
    pub(super) fn noting(self, outdated: Arc<Outdated>) -> Self {
        Self { outdated: Some(outdated), ..self }
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

    /// Does this server have a number to write under?
    pub(super) fn has_number(&self) -> bool {
        self.number.is_held()
    }

    /// Sends rows beside the parcels, with a write time stamp of their own. Gives their number.
    pub(super) fn send(
        &self,
        timestamp_us: i64,
        put: impl FnOnce(&dyn RowDelivery) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let _delivering = self.delivering.lock();
        let shard = self.number.shard()?;
        self.store.set_shard(shard)?;
        self.send_as(shard, timestamp_us, put)
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
        let mut metrics = RoaringBitmap::new();
        let rows =
            self.send_as(shard, parcel.cut_at_us, |delivery| self.put_all(parcel, delivery, &mut metrics))?;
        self.store.spool.remove(parcel)?;
        if let Some(outdated) = &self.outdated {
            outdated.note(parcel.cut_at_us, metrics);
        }
        Ok(Delivered { points: parcel.points, rows })
    }

    fn send_as(
        &self,
        shard: i16,
        timestamp_us: i64,
        put: impl FnOnce(&dyn RowDelivery) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let delivery = self.rows.begin(shard, timestamp_us);
        let put = put(&*delivery);
        // What is in flight ends first, so that nothing of this attempt arrives during the next.
        let rows = delivery.finish();
        put?;
        rows
    }

    /// Sends all that is in a parcel, and gives the metrics that are in it.
    fn put_all(
        &self,
        parcel: Parcel,
        delivery: &dyn RowDelivery,
        metrics: &mut RoaringBitmap,
    ) -> Result<(), StoreError> {
        let open = self.store.spool.open(parcel);
        let mut contents = open.contents();
        while let Some(content) = contents.read_next() {
            // A metric that was deleted meanwhile has no id, and its points are not missed.
            let Some(metric) = self.store.identities.get(content.metric) else { continue };
            let method = content.method.unwrap_or(Aggregator::Average);
            delivery.put(content.stage, metric, method, content.column)?;
            metrics.insert(content.metric.0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Instant;

    use super::super::outdated::Batch;
    use super::super::testing::{FakeNumber, FakeRows, clustered, commit};
    use super::*;
    use plumbago_model::MetricId;

    const METRIC: MetricId = MetricId(0);

    fn deliverer(store: &Arc<Clustered>, rows: &FakeRows, number: &FakeNumber) -> Deliverer {
        Deliverer::new(Arc::clone(store), Box::new(rows.clone()), Box::new(number.clone()), Arc::default())
    }

    #[test]
    fn parcels_arrive_in_order_and_a_failed_one_comes_again_before_the_next() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        (1..=3).for_each(|cut| commit(&store, cut, METRIC, cut as f64));
        let rows = FakeRows::default();
        let deliverer = deliverer(&store, &rows, &FakeNumber::default());
        rows.is_away.store(true, Ordering::Relaxed);
        deliverer.run();
        assert!(deliverer.trouble().unwrap().contains("it is away"));
        assert_eq!(store.spool.points(), 3, "nothing leaves the spool");
        rows.is_away.store(false, Ordering::Relaxed);
        deliverer.run();
        assert_eq!((deliverer.trouble(), store.spool.is_empty()), (None, true));
        assert_eq!(rows.values(), [1.0, 1.0, 2.0, 3.0]);
        let arrived = rows.arrived.lock();
        assert_eq!(arrived[0].stamp_us, arrived[1].stamp_us, "again with the same time stamp");
        assert!(arrived.is_sorted_by_key(|row| row.stamp_us));
    }

    #[test]
    fn it_rests_after_a_failure() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, 1.0);
        let rows = FakeRows::default();
        rows.is_away.store(true, Ordering::Relaxed);
        let deliverer = deliverer(&store, &rows, &FakeNumber::default());
        deliverer.run_if_due();
        deliverer.run_if_due();
        assert_eq!(rows.arrived.lock().len(), 1);
    }

    #[test]
    fn points_of_a_metric_that_was_deleted_are_not_delivered() {
        let (_dir, store) = clustered();
        commit(&store, 1, METRIC, 1.0);
        let rows = FakeRows::default();
        deliverer(&store, &rows, &FakeNumber::default()).run();
        assert!(store.spool.is_empty() && rows.arrived.lock().is_empty());
    }

    #[test]
    fn a_directory_never_writes_under_another_number() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, 1.0);
        let (rows, number) = (FakeRows::default(), FakeNumber::default());
        let deliverer = deliverer(&store, &rows, &number);
        deliverer.run();
        commit(&store, 2, METRIC, 2.0);
        number.shard.store(6, Ordering::Relaxed);
        deliverer.run();
        assert!(deliverer.trouble().unwrap().contains("cannot go on as replica 0 writer 6"));
        assert_eq!(store.spool.points(), 1);
        assert!(deliverer.send(7, |_| Ok(())).is_err(), "not beside the parcels either");
    }

    #[test]
    fn a_parcel_that_has_arrived_leaves_the_running_slots_of_its_metrics_outdated() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, 1.0);
        let (rows, outdated) = (FakeRows::default(), Arc::<Outdated>::default());
        let deliverer = deliverer(&store, &rows, &FakeNumber::default()).noting(Arc::clone(&outdated));
        let cut_us = store.spool.last_cut_us();
        rows.is_away.store(true, Ordering::Relaxed);
        deliverer.run();
        assert_eq!(outdated.take(0, 10, Instant::now()), [], "it has not arrived");
        rows.is_away.store(false, Ordering::Relaxed);
        deliverer.run();
        assert_eq!(outdated.take(0, 10, Instant::now()), [Batch { cut_us, metrics: vec![METRIC] }]);
        assert_eq!(store.spool.last_cut_us(), cut_us, "a cut is remembered when its parcel is gone");
    }
}
