//! The archives of a file without what would count twice.
//!
//! Whisper writes each point into the finest archive and its aggregate into all others, so the archives overlap. Its reader
//! never mixes them: one archive answers the whole of a query, the finest that reaches back to its start. Somebody who adds
//! archives up must choose for every stretch of time, by these rules:
//!
//! 1. The finer archive wins wherever it has a point: a coarser slot in which it has one is left out.
//! 2. A coarser slot that begins before the finer archive reaches back is kept, because only it has the beginning. The finer
//!    points inside of it are [`Stretch::covered`]: a query over recent time shows them, but the slot has them already.
//! 3. A coarser slot in which no finer archive has a point is kept, because a query over a longer time shows it.

use plumbago_model::{Aggregator, Partial, Point, Stage};

use super::archive::Archive;
use super::method::Method;
use super::reader::Series;

/// What one archive adds to the finer ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Step and length of the archive.
    pub stage: Stage,
    /// How many points of the finest archive one of its slots stands for at most.
    pub count: u32,
    /// Points that no other stretch has in another form, oldest first.
    pub points: Vec<Point>,
    /// Points that are in a slot of a coarser stretch too, oldest first. They may be shown, but not added to that slot.
    pub covered: Vec<Point>,
}

impl Stretch {
    /// A point as a partial aggregate. Whisper does not keep how many points are behind a value: all of them, we assume.
    pub fn partial(&self, method: Aggregator, value: f64) -> Partial {
        let value = match method {
            Aggregator::Average | Aggregator::AvgZero => value * f64::from(self.count),
            _ => value,
        };
        Partial { value, count: self.count }
    }

    /// Moves the points of a coarser slot out of the way.
    fn cover(&mut self, start: u32, step: u32) {
        let end = u64::from(start) + u64::from(step);
        let from = self.points.partition_point(|point| point.timestamp < start);
        let until = self.points.partition_point(|point| u64::from(point.timestamp) < end);
        self.covered.extend(self.points.drain(from..until));
    }
}

impl Series {
    /// One stretch for each archive, finest first. Of a mix the first method is taken; see [`Series::only`].
    pub fn stretches(self) -> Vec<Stretch> {
        let series = match self.methods().first() {
            Some(&first) if self.header.method == Method::Mix => self.only(first),
            _ => self,
        };
        merge(series.archives)
    }
}

fn merge(archives: Vec<Archive>) -> Vec<Stretch> {
    let finest_step = archives.first().map_or(1, |archive| archive.stage.step_secs);
    let mut stretches: Vec<Stretch> = Vec::with_capacity(archives.len());
    // The times of all points so far, and how far back the finer archive reaches.
    let mut known: Vec<u32> = Vec::new();
    let mut finer_oldest = u32::MAX;
    for Archive { stage, mut points, oldest, .. } in archives {
        let mut finer = known.iter().copied().peekable();
        points.retain(|point| {
            let end = u64::from(point.timestamp) + u64::from(stage.step_secs);
            while finer.next_if(|&time| time < point.timestamp).is_some() {}
            let in_finer = finer.peek().is_some_and(|&time| u64::from(time) < end);
            if in_finer && point.timestamp < finer_oldest {
                stretches.iter_mut().for_each(|stretch| stretch.cover(point.timestamp, stage.step_secs));
            }
            !in_finer || point.timestamp < finer_oldest
        });
        known.extend(points.iter().map(|point| point.timestamp));
        // Two runs in order, which this sort merges.
        known.sort();
        finer_oldest = oldest;
        let count = stage.step_secs / finest_step;
        stretches.push(Stretch { stage, count, points, covered: Vec::new() });
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive `stage` that reaches back to `oldest`, with points at some times.
    fn archive(stage: &str, oldest: u32, times: &[u32]) -> Archive {
        let points =
            times.iter().map(|&timestamp| Point { timestamp, value: f64::from(timestamp) }).collect();
        let method = Method::Known(Aggregator::Average);
        Archive { stage: stage.parse().unwrap(), method, points, oldest, ahead: 0 }
    }

    fn times(points: &[Point]) -> Vec<u32> {
        points.iter().map(|point| point.timestamp).collect()
    }

    /// What is kept and what is covered, stretch by stretch.
    fn merged(archives: Vec<Archive>) -> Vec<(Vec<u32>, Vec<u32>)> {
        merge(archives).iter().map(|s| (times(&s.points), times(&s.covered))).collect()
    }

    #[test]
    fn a_finer_archive_wins_where_it_has_a_point() {
        let fine = archive("12*10s_0", 600, &[610, 650, 660, 710]);
        let coarse = archive("20*60s_aggr", 60, &[480, 540, 600, 660]);
        assert_eq!(
            merged(vec![fine, coarse]),
            [(vec![610, 650, 660, 710], vec![]), (vec![480, 540], vec![])]
        );
    }

    #[test]
    fn a_gap_in_the_finer_archive_shows_the_coarser_one() {
        let fine = archive("18*10s_0", 600, &[610, 770]);
        let coarse = archive("20*60s_aggr", 60, &[540, 600, 660, 720]);
        assert_eq!(merged(vec![fine, coarse])[1].0, [540, 660]);
    }

    #[test]
    fn the_slot_in_which_the_finer_archive_begins_is_taken_from_the_coarser_one() {
        let fine = archive("12*10s_0", 630, &[630, 650, 660]);
        let coarse = archive("20*60s_aggr", 60, &[540, 600, 660]);
        assert_eq!(
            merged(vec![fine.clone(), coarse]),
            [(vec![660], vec![630, 650]), (vec![540, 600], vec![])]
        );
        let without = archive("20*60s_aggr", 60, &[540]);
        assert_eq!(
            merged(vec![fine, without])[0],
            (vec![630, 650, 660], vec![]),
            "too little for a coarser point"
        );
    }

    #[test]
    fn the_same_holds_from_level_to_level() {
        let fine = archive("12*10s_0", 3630, &[3630, 3660]);
        let middle = archive("60*60s_aggr", 180, &[180, 240, 3540, 3600, 3660]);
        let coarse = archive("9*600s_aggr", 0, &[0, 600, 3600]);
        assert_eq!(
            merged(vec![fine, middle, coarse]),
            [(vec![3660], vec![3630]), (vec![3540, 3600], vec![180, 240]), (vec![0, 600], vec![]),]
        );
    }

    #[test]
    fn a_slot_stands_for_all_the_finest_points_that_fit_into_it() {
        let fine = archive("12*10s_0", 600, &[]);
        let coarse = archive("20*60s_aggr", 60, &[60]);
        let stretches = merge(vec![fine, coarse]);
        assert_eq!(stretches.iter().map(|s| s.count).collect::<Vec<_>>(), [1, 6]);
        for method in Aggregator::ALL {
            let partial = stretches[1].partial(method, 2.5);
            assert_eq!(method.finish(partial, 6, 1.0), Some(2.5), "{method} comes back");
            assert_eq!(partial.count(), 6);
        }
    }

    #[test]
    fn the_end_of_time_is_no_special_case() {
        let fine = archive("2*10s_0", 4_294_967_280, &[4_294_967_280, 4_294_967_290]);
        let coarse = archive("20*60s_aggr", 4_294_966_000, &[4_294_967_160, 4_294_967_280]);
        assert_eq!(merged(vec![fine, coarse])[1].0, [4_294_967_160]);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(merge(Vec::new()), []);
    }
}
