//! What of the spool was deleted by a stretch of time since it was cut.
//!
//! A parcel is delivered as it was cut, with the time stamp of the cut. If somebody deletes a stretch of time, a parcel that was cut
//! after that may still have points from before: they were in memory at that moment. So from the beginning of an erasure until
//! everything that was cut before its end is delivered, slots inside are left out of every parcel. The data directory remembers it.

use std::fmt::Write as _;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use super::notes::Notes;
use crate::store::StoreError;
use crate::store::embedded::Embedded;
use plumbago_model::{MetricId, Stretch};

/// See the module documentation.
pub(super) struct Erasures {
    list: Mutex<Vec<Erasure>>,
}

struct Erasure {
    stretch: Stretch,
    metrics: RoaringBitmap,
    /// The last cut that may have something of it; `None` while the erasure is under way.
    last_cut: Option<u64>,
}

impl Erasures {
    /// As the directory remembers them. One that a crash interrupted counts for all that was cut before.
    pub(super) fn open(local: &Embedded) -> Result<Self, StoreError> {
        let newest = local.points.snapshot().position().cut;
        let text = Notes(local).erasures()?.unwrap_or_default();
        let mut list: Vec<Erasure> = text.lines().filter_map(Erasure::parse).collect();
        list.iter_mut().for_each(|erasure| _ = erasure.last_cut.get_or_insert(newest));
        Ok(Self { list: Mutex::new(list) })
    }

    /// Runs the erasure of these metrics' own slots on this machine.
    pub(super) fn during<R>(
        &self,
        local: &Embedded,
        metrics: &[MetricId],
        stretch: Stretch,
        erase: impl FnOnce() -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let metrics: RoaringBitmap = metrics.iter().map(|id| id.0).collect();
        {
            let mut list = self.list.lock();
            list.push(Erasure { stretch, metrics: metrics.clone(), last_cut: None });
            save(&list, local)?;
        }
        let erased = erase();
        let cut = local.points.snapshot().position().cut;
        let mut list = self.list.lock();
        let is_this = |erasure: &Erasure| {
            erasure.last_cut.is_none() && erasure.stretch == stretch && erasure.metrics == metrics
        };
        if let Some(at) = list.iter().position(is_this) {
            // After an error it is done again, and until then everything is delivered as it was.
            if erased.is_ok() { list[at].last_cut = Some(cut) } else { _ = list.remove(at) }
        }
        save(&list, local)?;
        erased
    }

    /// The stretches that a metric lost since a cut.
    pub(super) fn since(&self, cut: u64, metric: MetricId) -> Vec<Stretch> {
        let list = self.list.lock();
        let is_meant = |erasure: &&Erasure| {
            erasure.last_cut.is_none_or(|last| cut <= last) && erasure.metrics.contains(metric.0)
        };
        list.iter().filter(is_meant).map(|erasure| erasure.stretch).collect()
    }

    /// Is a metric being deleted at this moment, with all of its time?
    pub(super) fn takes_all_of(&self, metric: MetricId) -> bool {
        let is_meant = |erasure: &Erasure| {
            erasure.last_cut.is_none()
                && erasure.stretch == Stretch::ALL
                && erasure.metrics.contains(metric.0)
        };
        self.list.lock().iter().any(is_meant)
    }

    /// A parcel has arrived, and so have all before it.
    pub(super) fn delivered(&self, cut: u64, local: &Embedded) -> Result<(), StoreError> {
        let mut list = self.list.lock();
        let before = list.len();
        list.retain(|erasure| erasure.last_cut.is_none_or(|last| last > cut));
        if list.len() < before { save(&list, local) } else { Ok(()) }
    }
}

fn save(list: &[Erasure], local: &Embedded) -> Result<(), StoreError> {
    Notes(local).set_erasures(&list.iter().map(|erasure| erasure.to_line() + "\n").collect::<String>())
}

impl Erasure {
    /// `LAST_CUT FROM UNTIL IDS`, with `-` for a cut that is not known yet and ids as `1-5,9`.
    fn to_line(&self) -> String {
        let cut = self.last_cut.map_or_else(|| "-".to_owned(), |cut| cut.to_string());
        let mut line = format!("{cut} {} {} ", self.stretch.from, self.stretch.until);
        let ids: Vec<u32> = self.metrics.iter().collect();
        for (nth, run) in ids.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let comma = if nth > 0 { "," } else { "" };
            // Writing to a text cannot fail.
            _ = write!(line, "{comma}{first}-{last}");
        }
        line
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let last_cut = match words.next()? {
            "-" => None,
            cut => Some(cut.parse().ok()?),
        };
        let stretch = Stretch { from: words.next()?.parse().ok()?, until: words.next()?.parse().ok()? };
        let mut metrics = RoaringBitmap::new();
        for run in words.next()?.split(',') {
            let (first, last) = run.split_once('-')?;
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            metrics.insert_range(first..=last);
        }
        Some(Self { stretch, metrics, last_cut })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{clustered, commit};
    use super::*;

    const STRETCH: Stretch = Stretch { from: 60, until: 180 };
    const A: MetricId = MetricId(4);

    #[test]
    fn it_holds_for_what_was_cut_until_its_end_and_not_for_what_comes_later() {
        let (_dir, store) = clustered();
        commit(&store, 1, A, 1.0);
        let erasures = Erasures::open(&store.local).unwrap();
        let erased = erasures.during(&store.local, &[A, MetricId(5), MetricId(9)], STRETCH, || {
            assert_eq!(erasures.since(99, A), [STRETCH], "nobody knows yet how many cuts there will be");
            commit(&store, 2, A, 2.0);
            Ok(())
        });
        erased.unwrap();
        let check = |erasures: &Erasures| {
            let held = [1, 2, 3].map(|cut| erasures.since(cut, A).len());
            assert_eq!(held, [1, 1, 0]);
            assert_eq!((erasures.since(1, MetricId(9)).len(), erasures.since(1, MetricId(6)).len()), (1, 0));
        };
        check(&erasures);
        check(&Erasures::open(&store.local).unwrap());
        erasures.delivered(1, &store.local).unwrap();
        check(&erasures);
        erasures.delivered(2, &store.local).unwrap();
        assert_eq!(erasures.since(1, A), []);
        assert_eq!(Erasures::open(&store.local).unwrap().since(1, A), []);
    }

    #[test]
    fn one_that_failed_leaves_everything_as_it_was() {
        let (_dir, store) = clustered();
        let erasures = Erasures::open(&store.local).unwrap();
        let failed = erasures.during(&store.local, &[A], STRETCH, || {
            Err::<(), _>(StoreError::Refused("the disk is full".to_owned()))
        });
        assert!(failed.is_err());
        assert_eq!(erasures.since(0, A), []);
    }

    #[test]
    fn one_that_a_crash_interrupted_counts_for_all_that_was_cut() {
        let (_dir, store) = clustered();
        commit(&store, 1, A, 1.0);
        let list = [Erasure { stretch: STRETCH, metrics: [A.0].into_iter().collect(), last_cut: None }];
        save(&list, &store.local).unwrap();
        let erasures = Erasures::open(&store.local).unwrap();
        assert_eq!((erasures.since(1, A).len(), erasures.since(2, A).len()), (1, 0));
    }
}
