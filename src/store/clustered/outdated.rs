//! Metrics whose running slots in the cluster lack what was delivered since, by the last cut that has something of them.
//!
//! The cut decides the write time stamp of their rows. A row must not be younger than the points in it: a metric that somebody
//! deletes would come back with it.

use std::cmp::Ordering;
use std::time::Instant;

use parking_lot::Mutex;
use roaring::RoaringBitmap;

use plumbago_model::MetricId;

/// See the module documentation.
#[derive(Default)]
pub(super) struct Outdated {
    /// By time of the cut; no metric is in two of them.
    cuts: Mutex<Vec<OfCut>>,
}

struct OfCut {
    cut_us: i64,
    /// After the cut.
    noted: Instant,
    metrics: RoaringBitmap,
}

/// Metrics of which the same cut was the last to have something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) cut_us: i64,
    /// Ascending.
    pub(super) metrics: Vec<MetricId>,
}

impl Outdated {
    /// Notes that a cut has something of these metrics. Those of which a later one has something stay with that.
    pub(super) fn note(&self, cut_us: i64, metrics: RoaringBitmap) {
        self.note_at(cut_us, metrics, Instant::now());
    }

    fn note_at(&self, cut_us: i64, mut metrics: RoaringBitmap, noted: Instant) {
        let mut cuts = self.cuts.lock();
        for other in cuts.iter_mut() {
            match other.cut_us.cmp(&cut_us) {
                Ordering::Less => other.metrics -= &metrics,
                Ordering::Equal => {}
                Ordering::Greater => metrics -= &other.metrics,
            }
        }
        match cuts.binary_search_by_key(&cut_us, |of_cut| of_cut.cut_us) {
            Ok(at) => {
                cuts[at].metrics |= metrics;
                cuts[at].noted = noted;
            }
            Err(at) => cuts.insert(at, OfCut { cut_us, noted, metrics }),
        }
        cuts.retain(|of_cut| !of_cut.metrics.is_empty());
    }

    /// When something was noted last, if there is anything.
    pub(super) fn last_noted(&self) -> Option<Instant> {
        self.cuts.lock().iter().map(|of_cut| of_cut.noted).max()
    }

    /// Takes out the first metrics with this id or a greater one, as far as they were noted by `until`.
    pub(super) fn take(&self, from: u32, most: usize, until: Instant) -> Vec<Batch> {
        let mut cuts = self.cuts.lock();
        let mut next: Vec<(u32, usize)> = Vec::new();
        for (nth, of_cut) in cuts.iter().enumerate().filter(|(_, of_cut)| of_cut.noted <= until) {
            next.extend(of_cut.metrics.range(from..).take(most).map(|id| (id, nth)));
        }
        next.sort_unstable();
        next.truncate(most);
        let mut batches: Vec<Batch> =
            cuts.iter().map(|of_cut| Batch { cut_us: of_cut.cut_us, metrics: Vec::new() }).collect();
        for (id, nth) in next {
            cuts[nth].metrics.remove(id);
            batches[nth].metrics.push(MetricId(id));
        }
        cuts.retain(|of_cut| !of_cut.metrics.is_empty());
        batches.retain(|batch| !batch.metrics.is_empty());
        batches
    }

    /// Takes back what could not be sent.
    pub(super) fn put_back(&self, batches: Vec<Batch>) {
        for Batch { cut_us, metrics } in batches {
            self.note(cut_us, metrics.into_iter().map(|metric| metric.0).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(ids: &[u32]) -> RoaringBitmap {
        ids.iter().copied().collect()
    }

    fn batch(cut_us: i64, ids: &[u32]) -> Batch {
        Batch { cut_us, metrics: ids.iter().copied().map(MetricId).collect() }
    }

    fn all(outdated: &Outdated) -> Vec<Batch> {
        outdated.take(0, usize::MAX, Instant::now())
    }

    #[test]
    fn a_metric_belongs_to_its_last_cut_in_whatever_order_they_are_noted() {
        let outdated = Outdated::default();
        outdated.note(20, metrics(&[2, 3]));
        outdated.note(10, metrics(&[1, 2]));
        outdated.note(30, metrics(&[3]));
        outdated.note(30, metrics(&[4]));
        assert_eq!(all(&outdated), [batch(10, &[1]), batch(20, &[2]), batch(30, &[3, 4])]);
        assert_eq!(all(&outdated), [], "each is taken once");
        assert_eq!(outdated.last_noted(), None);
    }

    #[test]
    fn metrics_are_taken_in_the_order_of_their_ids() {
        let outdated = Outdated::default();
        outdated.note(10, metrics(&[1, 5, 7]));
        outdated.note(20, metrics(&[2, 6]));
        let now = Instant::now();
        assert_eq!(outdated.take(2, 2, now), [batch(10, &[5]), batch(20, &[2])]);
        assert_eq!(outdated.take(6, 2, now), [batch(10, &[7]), batch(20, &[6])]);
        assert_eq!(outdated.take(8, 2, now), []);
        assert_eq!(outdated.take(0, 2, now), [batch(10, &[1])]);
    }

    #[test]
    fn what_was_noted_later_is_left_for_later() {
        let outdated = Outdated::default();
        let now = Instant::now();
        let later = now + std::time::Duration::from_secs(1);
        outdated.note_at(10, metrics(&[1]), now);
        outdated.note_at(20, metrics(&[2]), later);
        assert_eq!(outdated.last_noted(), Some(later));
        assert_eq!(outdated.take(0, 10, now), [batch(10, &[1])]);
        assert_eq!(outdated.take(0, 10, later), [batch(20, &[2])]);
    }

    #[test]
    fn what_is_put_back_does_not_hide_newer_points() {
        let outdated = Outdated::default();
        outdated.note(10, metrics(&[1, 2]));
        let taken = all(&outdated);
        outdated.note(20, metrics(&[2]));
        outdated.put_back(taken);
        assert_eq!(all(&outdated), [batch(10, &[1]), batch(20, &[2])]);
    }
}
