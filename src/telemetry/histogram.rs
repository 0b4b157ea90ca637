//! A histogram of durations. Many threads add to it at once, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::text::Text;

const MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;

/// Upper ends of the buckets in nanoseconds. Two or three to a power of ten: enough to tell a slow disk from a slow query.
const BOUNDS: [u64; 15] = [
    MILLI,
    MILLI * 5 / 2,
    5 * MILLI,
    10 * MILLI,
    25 * MILLI,
    50 * MILLI,
    100 * MILLI,
    250 * MILLI,
    500 * MILLI,
    1_000 * MILLI,
    2_500 * MILLI,
    5_000 * MILLI,
    10_000 * MILLI,
    30_000 * MILLI,
    60_000 * MILLI,
];

/// One bucket for each bound, and one for everything longer.
const BUCKETS: usize = BOUNDS.len() + 1;

/// Durations, counted by how long they are.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    sum_nanos: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub fn observe(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|&bound| bound < nanos);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// What it holds now.
    pub fn read(&self) -> Durations {
        Durations {
            buckets: std::array::from_fn(|at| self.buckets[at].load(Ordering::Relaxed)),
            sum_nanos: self.sum_nanos.load(Ordering::Relaxed),
        }
    }
}

/// What a histogram held at one moment, or gained between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    buckets: [u64; BUCKETS],
    sum_nanos: u64,
}

impl Durations {
    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// What came since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            buckets: std::array::from_fn(|at| self.buckets[at].saturating_sub(earlier.buckets[at])),
            sum_nanos: self.sum_nanos.saturating_sub(earlier.sum_nanos),
        }
    }

    /// All of them together, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_nanos as f64 / NANOS_PER_SECOND
    }

    /// Their mean in seconds; `None` if there are none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum() / count as f64)
    }

    /// The duration in seconds that this share of them (0 to 1) did not exceed; `None` if there are none.
    ///
    /// The bucket is exact, the place within it is not: durations are taken to be spread evenly over their bucket. What is
    /// longer than the last bound counts as that bound.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share * self.count() as f64;
        let mut below = 0.0;
        for (at, &in_bucket) in self.buckets.iter().enumerate().filter(|(_, in_bucket)| **in_bucket > 0) {
            let upper = BOUNDS.get(at).or(BOUNDS.last()).copied()? as f64;
            if below + in_bucket as f64 >= rank {
                let lower =
                    at.checked_sub(1).and_then(|before| BOUNDS.get(before)).map_or(0.0, |&b| b as f64);
                let nanos = lower + (upper - lower) * (rank - below) / in_bucket as f64;
                return Some(nanos / NANOS_PER_SECOND);
            }
            below += in_bucket as f64;
        }
        None
    }

    /// Writes the samples of one histogram of the family `name`.
    pub(super) fn write(&self, text: &mut Text, name: &str, label: (&str, &str)) {
        let bucket = format!("{name}_bucket");
        let mut up_to = 0;
        for (at, in_bucket) in self.buckets.iter().enumerate() {
            up_to += in_bucket;
            let bound = BOUNDS.get(at).map(|&bound| (bound as f64 / NANOS_PER_SECOND).to_string());
            text.sample(&bucket, &[label, ("le", bound.as_deref().unwrap_or("+Inf"))], up_to);
        }
        text.sample(&format!("{name}_sum"), &[label], self.sum());
        text.sample(&format!("{name}_count"), &[label], up_to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: &[u64]) -> Durations {
        let histogram = Histogram::default();
        millis.iter().for_each(|&millis| histogram.observe(Duration::from_millis(millis)));
        histogram.read()
    }

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_reaches_it_and_in_all_after() {
        let histogram = Histogram::default();
        for micros in [0, 1_000, 1_001, 30_000, 60_000_000, 60_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let mut text = Text::new();
        histogram.read().write(&mut text, "t", ("endpoint", "/x"));
        let text = text.finish();
        for line in [
            "t_bucket{endpoint=\"/x\",le=\"0.001\"} 2",
            "t_bucket{endpoint=\"/x\",le=\"0.0025\"} 3",
            "t_bucket{endpoint=\"/x\",le=\"0.025\"} 3",
            "t_bucket{endpoint=\"/x\",le=\"0.05\"} 4",
            "t_bucket{endpoint=\"/x\",le=\"30\"} 4",
            "t_bucket{endpoint=\"/x\",le=\"60\"} 5",
            "t_bucket{endpoint=\"/x\",le=\"+Inf\"} 6",
            "t_sum{endpoint=\"/x\"} 120.032002",
            "t_count{endpoint=\"/x\"} 6",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn bounds_ascend() {
        assert!(BOUNDS.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn quantiles_lie_in_the_right_bucket() {
        let nothing = Durations::default();
        assert_eq!((nothing.mean(), nothing.quantile(0.5)), (None, None));
        let mut millis = vec![2; 98];
        millis.extend([700, 90_000]);
        let durations = of(&millis);
        let inside = |share: f64| durations.quantile(share).unwrap();
        assert!((0.001..=0.0025).contains(&inside(0.5)), "{}", inside(0.5));
        assert!((0.5..=1.0).contains(&inside(0.99)), "{}", inside(0.99));
        assert_eq!(inside(1.0), 60.0, "longer than the last bound counts as that bound");
        // All in one bucket: spread evenly over it.
        assert_eq!(of(&[4, 4, 4, 4]).quantile(0.5), Some(0.00375));
        assert_eq!(of(&[3, 4, 5]).mean(), Some(0.004));
    }

    #[test]
    fn what_came_since_is_a_difference() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(3));
        let before = histogram.read();
        histogram.observe(Duration::from_secs(2));
        assert_eq!(histogram.read().since(&before), of(&[2_000]));
        assert_eq!(before.since(&before).count(), 0);
    }
}
