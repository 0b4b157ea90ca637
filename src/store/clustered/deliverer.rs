//! Delivering: parcel after parcel goes from the spool to the cluster, in order, until each has arrived.
//!
//! A stretch of time that somebody deletes is a matter of time stamps: what was cut before the deletion is older than it, whenever it
//! arrives. What was cut later is delivered only after the feed was followed up to the cut, so that this server has erased its own
//! part of what it had accepted by then ([`super::erasures`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use roaring::RoaringBitmap;
use uuid::Uuid;

use super::backoff::BackOff;
use super::outdated::Outdated;
use super::writer_number::WriterNumber;
use super::{Clustered, now_us};
use crate::store::cassandra::{Delivery, Sender};
use crate::store::embedded::Parcel;
use crate::store::{Column, StoreError};
use crate::telemetry::Telemetry;
use plumbago_model::{Aggregator, Stage, StageKind};

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

    /// Deletes this server's own rows of an aggregated stage.
    fn remove(&self, stage: Stage, metric: Uuid, times: &[u32]) -> Result<(), StoreError>;

    /// Waits until all have arrived. Gives the number of rows.
    fn finish(self: Box<Self>) -> Result<u64, StoreError>;
}

/// Learns what others deleted up to now.
pub(super) type Follow<'a> = &'a dyn Fn() -> Result<(), StoreError>;

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

    fn remove(&self, stage: Stage, metric: Uuid, times: &[u32]) -> Result<(), StoreError> {
        Delivery::remove(self, stage, metric, times)
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
    /// Deletions up to this moment are known, in microseconds since 1970.
    deletions_followed_us: AtomicI64,
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
        let (delivering, deletions_followed_us) = (Mutex::new(()), AtomicI64::new(0));
        Self { store, rows, number, telemetry, delivering, deletions_followed_us, backoff, outdated: None }
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
    pub(super) fn run_if_due(&self, follow: Follow<'_>) {
        if self.backoff.is_over() {
            self.run(follow);
        }
    }

    /// Delivers all there is, until something fails.
    pub(super) fn run(&self, follow: Follow<'_>) {
        loop {
            match self.follow_deletions(follow).and_then(|()| self.deliver_next()) {
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

    /// Learns what others deleted, unless that was done since the oldest parcel was cut.
    fn follow_deletions(&self, follow: Follow<'_>) -> Result<(), StoreError> {
        let oldest = self.store.spool.oldest();
        if oldest.is_some_and(|parcel| parcel.cut_at_us > self.deletions_followed_us.load(Ordering::Relaxed))
        {
            let began_us = now_us();
            follow()?;
            self.deletions_followed_us.store(began_us, Ordering::Relaxed);
        }
        Ok(())
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
        let rows = self.send_as(shard, parcel.cut_at_us, |delivery| {
            self.put_all(parcel, shard, delivery, &mut metrics)
        })?;
        self.store.spool.remove(parcel)?;
        self.store.erasures.delivered(parcel.cut, &self.store.local)?;
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
        shard: i16,
        delivery: &dyn RowDelivery,
        metrics: &mut RoaringBitmap,
    ) -> Result<(), StoreError> {
        let open = self.store.spool.open(parcel);
        let mut contents = open.contents();
        while let Some(content) = contents.read_next() {
            // A metric that was deleted meanwhile has no id, and its points are not missed.
            let Some(metric) = self.store.identities.get(content.metric) else { continue };
            metrics.insert(content.metric.0);
            // A parcel may take long, or the process stand still in the middle of it.
            if self.number.shard()? != shard {
                return Err(StoreError::Refused("the writer number is another one now".to_owned()));
            }
            let method = content.method.unwrap_or(Aggregator::Average);
            let stage = content.stage;
            let erased = self.store.erasures.since(parcel.cut, content.metric);
            if erased.is_empty() && !has_erased(content.column) {
                delivery.put(stage, metric, method, content.column)?;
                continue;
            }
            let is_left = |&time: &u32| !erased.iter().any(|stretch| stretch.takes(stage, time));
            let (there, gone) = parted(content.column, is_left);
            delivery.put(stage, metric, method, &there)?;
            if stage.kind == StageKind::Aggregated {
                delivery.remove(stage, metric, &gone)?;
            }
        }
        Ok(())
    }
}

/// Does a column have slots that were erased?
fn has_erased(column: &Column) -> bool {
    column.values.iter().any(|value| value.is_nan())
}

/// Of the slots that are left, those with a value, and the times of those that were erased.
fn parted(column: &Column, is_left: impl Fn(&u32) -> bool) -> (Column, Vec<u32>) {
    let (mut there, mut gone) = (Column::default(), Vec::new());
    for (at, &time) in column.times.iter().enumerate().filter(|(_, time)| is_left(time)) {
        if column.values[at].is_nan() {
            gone.push(time);
            continue;
        }
        there.times.push(time);
        there.values.push(column.values[at]);
        there.counts.extend(column.counts.get(at));
    }
    (there, gone)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::outdated::Batch;
    use super::super::testing::{FakeNumber, FakeRows, clustered, commit};
    use super::*;
    use plumbago_model::{MetricId, Stretch};

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
        deliverer.run(&|| Ok(()));
        assert!(deliverer.trouble().unwrap().contains("it is away"));
        assert_eq!(store.spool.points(), 3, "nothing leaves the spool");
        rows.is_away.store(false, Ordering::Relaxed);
        deliverer.run(&|| Ok(()));
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
        deliverer.run_if_due(&|| Ok(()));
        deliverer.run_if_due(&|| Ok(()));
        assert_eq!(rows.arrived.lock().len(), 1);
    }

    #[test]
    fn points_of_a_metric_that_was_deleted_are_not_delivered() {
        let (_dir, store) = clustered();
        commit(&store, 1, METRIC, 1.0);
        let rows = FakeRows::default();
        deliverer(&store, &rows, &FakeNumber::default()).run(&|| Ok(()));
        assert!(store.spool.is_empty() && rows.arrived.lock().is_empty());
    }

    #[test]
    fn a_directory_never_writes_under_another_number() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, 1.0);
        let (rows, number) = (FakeRows::default(), FakeNumber::default());
        let deliverer = deliverer(&store, &rows, &number);
        deliverer.run(&|| Ok(()));
        commit(&store, 2, METRIC, 2.0);
        number.shard.store(6, Ordering::Relaxed);
        deliverer.run(&|| Ok(()));
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
        deliverer.run(&|| Ok(()));
        assert_eq!(outdated.take(0, 10, Instant::now()), [], "it has not arrived");
        rows.is_away.store(false, Ordering::Relaxed);
        deliverer.run(&|| Ok(()));
        assert_eq!(outdated.take(0, 10, Instant::now()), [Batch { cut_us, metrics: vec![METRIC] }]);
        assert_eq!(store.spool.last_cut_us(), cut_us, "a cut is remembered when its parcel is gone");
    }

    /// Cuts slots of an aggregated stage: time and value, without a value for one that is erased.
    fn commit_hours(store: &Clustered, cut: u64, slots: &[(u32, Option<f64>)]) {
        let mut begun = store.points.begin().unwrap();
        let column = Column {
            times: slots.iter().map(|(time, _)| *time).collect(),
            values: slots.iter().map(|(_, value)| value.unwrap_or(f64::NAN)).collect(),
            counts: slots.iter().map(|(_, value)| u32::from(value.is_some())).collect(),
        };
        begun.put(hours(), METRIC, Aggregator::Sum, &column).unwrap();
        begun.commit(crate::store::Position { cut, ..Default::default() }).unwrap();
    }

    fn hours() -> Stage {
        "100*3600s_aggr".parse().unwrap()
    }

    #[test]
    fn what_was_erased_since_it_was_cut_is_not_delivered() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        // The first was cut before anybody deleted anything, and the second has an erased slot and a new value.
        commit_hours(&store, 1, &[(0, Some(1.0)), (3600, Some(2.0)), (7200, Some(3.0))]);
        let stretch = Stretch { from: 3600, until: 7300 };
        let erase = || {
            commit_hours(&store, 2, &[(3600, None), (7200, None)]);
            Ok(())
        };
        store.erasures.during(&store.local, &[METRIC], stretch, erase).unwrap();
        commit_hours(&store, 3, &[(3600, Some(5.0))]);
        let rows = FakeRows::default();
        deliverer(&store, &rows, &FakeNumber::default()).run(&|| Ok(()));
        let arrived: Vec<(u32, f64)> = rows.arrived.lock().iter().map(|row| (row.time, row.value)).collect();
        assert_eq!(arrived, [(0, 1.0), (7200, 3.0), (3600, 5.0)], "what came later stays");
        // Nothing is left of the slot at the edge; the deletion of the stretch does not reach it.
        let removed: Vec<(u32, bool)> =
            rows.removed.lock().iter().map(|row| (row.2, row.3 > rows.arrived.lock()[0].stamp_us)).collect();
        assert_eq!(removed, [(7200, true)]);
    }

    #[test]
    fn an_erased_point_is_not_delivered_as_a_value() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, f64::NAN);
        assert_eq!(store.spool.points(), 0, "it is not counted");
        let rows = FakeRows::default();
        deliverer(&store, &rows, &FakeNumber::default()).run(&|| Ok(()));
        assert!(rows.arrived.lock().is_empty() && rows.removed.lock().is_empty() && store.spool.is_empty());
    }

    #[test]
    fn deletions_are_known_before_what_was_cut_after_them_is_delivered() {
        let (_dir, store) = clustered();
        store.identities.add([(METRIC, "a")].into_iter());
        commit(&store, 1, METRIC, 1.0);
        let rows = FakeRows::default();
        let deliverer = deliverer(&store, &rows, &FakeNumber::default());
        deliverer.run(&|| Err(super::super::testing::away()));
        assert!(rows.arrived.lock().is_empty(), "nobody knows what was deleted");
        let times = std::cell::Cell::new(0);
        let follow = || {
            times.set(times.get() + 1);
            Ok(())
        };
        deliverer.run(&follow);
        assert_eq!((rows.arrived.lock().len(), times.get()), (1, 1));
        deliverer.run(&follow);
        assert_eq!(times.get(), 1, "there is nothing to deliver");
        commit(&store, 2, METRIC, 2.0);
        deliverer.run(&follow);
        assert_eq!((rows.arrived.lock().len(), times.get()), (2, 2));
    }
}
