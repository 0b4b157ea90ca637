//! How many points each metric received lately. Senders count nothing: a cut knows how many points of each metric it writes, and a
//! question counts those in memory.

use super::points::Points;
use plumbago_model::MetricId;

/// A question is about this much time at least, if the server has run for that long.
const LEAST_SECS: u32 = 60;
/// Metrics whose points are counted while memory is locked.
const GROUP: u32 = 4096;

/// Points by metric, of all cuts since some time.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// When the first of the points was accepted.
    since: Option<u32>,
    /// By id.
    counts: Vec<u32>,
}

impl Tally {
    /// Adds the points that metrics, by ascending id, have in a cut; the first of them was accepted at `since`. Once there are
    /// enough, the count starts again.
    pub(super) fn add(&mut self, metrics: &[MetricId], points: &[u32], since: Option<u32>) {
        let (Some(since), Some(last)) = (since, metrics.last()) else { return };
        if self.since.is_none_or(|began| since.saturating_sub(began) >= LEAST_SECS) {
            self.since = Some(since);
            self.counts.fill(0);
        }
        let missing = (last.index() + 1).saturating_sub(self.counts.len());
        self.counts.reserve_exact(missing);
        self.counts.extend(std::iter::repeat_n(0, missing));
        for (id, more) in metrics.iter().zip(points) {
            let count = &mut self.counts[id.index()];
            *count = count.saturating_add(*more);
        }
    }
}

/// The points that metrics received since some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// When the first of them was accepted.
    pub since: u32,
    counts: Vec<u32>,
}

impl Received {
    /// Those of one metric.
    pub fn of(&self, id: MetricId) -> u64 {
        self.counts.get(id.index()).copied().map_or(0, u64::from)
    }
}

impl Points {
    /// The points received in the last minutes; `None` if there were none since the start. These are the points in memory, and
    /// if they are too few to tell a rate, those of the last cuts too.
    pub fn received(&self, now: u32) -> Option<Received> {
        // A cut does not let go of its points while this is locked.
        let tally = self.tally.lock();
        let in_memory = self.memory().accepted_since();
        let enough = in_memory.filter(|since| now.saturating_sub(*since) >= LEAST_SECS);
        let (since, mut counts) = match enough {
            Some(since) => (since, Vec::new()),
            None => (tally.since.into_iter().chain(in_memory).min()?, tally.counts.clone()),
        };
        let bound = self.id_bound();
        counts.resize(counts.len().max(bound as usize), 0);
        for from in (0..bound).step_by(GROUP as usize) {
            let ids: Vec<MetricId> = (from..bound.min(from.saturating_add(GROUP))).map(MetricId).collect();
            let group = &mut counts[from as usize..];
            let (walk, frozen) = {
                let memory = self.memory();
                for (count, &id) in group.iter_mut().zip(&ids) {
                    *count += memory.live.direct(id).len() as u32;
                }
                (memory.live.walk_many(&ids, |nth, _| group[nth] += 1), memory.frozen.clone())
            };
            walk.finish(|nth, _| group[nth] += 1);
            if let Some(frozen) = frozen {
                frozen.walk_many(&ids, |nth, _| group[nth] += 1);
                for (count, &id) in group.iter_mut().zip(&ids) {
                    *count += frozen.direct(id).len() as u32;
                }
            }
        }
        Some(Received { since, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, HOUR, METRIC, NOW};
    use super::*;
    use plumbago_model::Point;

    fn append(bench: &Bench, count: u32, accepted: u32) {
        let points: Vec<(MetricId, Point)> =
            (0..count).map(|n| (METRIC, Point { timestamp: HOUR + n % 3, value: 1.0 })).collect();
        assert_eq!(bench.points.append(&points, accepted).unwrap().stored, u64::from(count));
    }

    fn received(bench: &Bench, now: u32) -> (u32, u64) {
        let received = bench.points.received(now).unwrap();
        (received.since, received.of(METRIC))
    }

    #[test]
    fn points_count_from_their_arrival_whatever_their_slot() {
        let bench = Bench::new("7200*1s:1000*60s|sum|0");
        assert_eq!(bench.points.received(NOW), None);
        append(&bench, 10, NOW);
        assert_eq!(received(&bench, NOW + 5), (NOW, 10), "in memory, in three slots");
        bench.points.cut().unwrap();
        assert_eq!(received(&bench, NOW + 5), (NOW, 10), "in a block");
        append(&bench, 4, NOW + 20);
        assert_eq!(received(&bench, NOW + 30), (NOW, 14), "in both");
        assert_eq!(received(&bench, NOW + 80), (NOW + 20, 4), "a minute in memory is enough");
        assert_eq!(bench.points.received(NOW).unwrap().of(MetricId(7)), 0);
    }

    #[test]
    fn a_tally_starts_over_after_a_minute() {
        let bench = Bench::new("7200*1s|sum|0");
        for (accepted, since, count) in [(NOW, NOW, 1), (NOW + 30, NOW, 2), (NOW + 60, NOW + 60, 1)] {
            append(&bench, 1, accepted);
            bench.points.cut().unwrap();
            assert_eq!(received(&bench, accepted), (since, count));
        }
    }

    #[test]
    fn a_point_that_is_too_old_for_stage_0_counts_too() {
        let bench = Bench::new("360*10s:600*60s|sum|0");
        let old = Point { timestamp: HOUR - 7200, value: 1.0 };
        bench.points.append(&[(METRIC, old)], NOW).unwrap();
        assert_eq!(received(&bench, NOW), (NOW, 1));
        bench.points.cut().unwrap();
        assert_eq!(received(&bench, NOW), (NOW, 1));
    }

    #[test]
    fn the_count_of_a_deleted_metric_is_not_that_of_another() {
        let bench = Bench::new("7200*1s|sum|0");
        append(&bench, 3, NOW);
        bench.points.delete(&[METRIC]).unwrap();
        bench.points.create(&[(MetricId(1), super::super::testing::POLICY, "a")], NOW).unwrap();
        let received = bench.points.received(NOW).unwrap();
        assert_eq!((received.of(METRIC), received.of(MetricId(1))), (0, 0));
    }
}
