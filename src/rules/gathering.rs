//! Points of aggregates, until they are due.
//!
//! An aggregate is written when its interval ends, with the points so far, and again when a point arrives late; the slot keeps
//! the last value written. After some intervals the points are forgotten, and a later point starts a new aggregate.

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::AHashMap;

use super::aggregation::{Aggregate, Method};
use plumbago_model::Point;

/// Number of intervals during which late points are accepted, as in carbon.
const INTERVALS: u32 = 5;

/// The aggregates in progress.
#[derive(Debug)]
pub(super) struct Gathering {
    aggregates: AHashMap<Arc<str>, Gathered>,
    /// Open intervals of all aggregates, and the limit.
    intervals: usize,
    most: usize,
}

/// One aggregate.
#[derive(Debug)]
struct Gathered {
    every: u32,
    method: Method,
    /// When it is written next.
    due: u32,
    intervals: BTreeMap<u32, Interval>,
}

#[derive(Debug)]
struct Interval {
    values: Values,
    /// Has a point arrived since it was written?
    is_fresh: bool,
}

#[derive(Debug)]
enum Values {
    Running { count: u64, sum: f64, min: f64, max: f64 },
    All(Vec<f64>),
}

impl Values {
    fn new(method: Method) -> Self {
        match method {
            Method::Quantile(_) => Values::All(Vec::new()),
            _ => Values::Running { count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY },
        }
    }

    fn add(&mut self, value: f64) {
        match self {
            Values::Running { count, sum, min, max } => {
                *count += 1;
                *sum += value;
                *min = min.min(value);
                *max = max.max(value);
            }
            Values::All(values) => values.push(value),
        }
    }

    fn result(&mut self, method: Method) -> f64 {
        match (self, method) {
            (Values::All(values), Method::Quantile(part)) => quantile(values, part),
            (Values::Running { sum, .. }, Method::Sum) => *sum,
            (Values::Running { count, sum, .. }, Method::Average) => *sum / *count as f64,
            (Values::Running { count, .. }, Method::Count) => *count as f64,
            (Values::Running { min, .. }, Method::Min) => *min,
            (Values::Running { max, .. }, _) => *max,
            (Values::All(_), _) => f64::NAN,
        }
    }
}

/// Between the two nearest values, in proportion.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let rank = part * (values.len() as f64 - 1.0);
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    match (values.get(below), values.get(above)) {
        (Some(low), Some(high)) => low + (high - low) * (rank - rank.floor()),
        _ => f64::NAN,
    }
}

impl Gathering {
    pub(super) fn new(most: usize) -> Self {
        Self { aggregates: AHashMap::new(), intervals: 0, most }
    }

    /// Intervals held.
    pub(super) fn len(&self) -> usize {
        self.intervals
    }

    /// Adds a point; false if there is no room.
    pub(super) fn add(&mut self, aggregate: &Aggregate, point: Point) -> bool {
        let Aggregate { name, every, method } = aggregate;
        let start = point.timestamp - point.timestamp % every;
        let is_held = |gathered: &Gathered| gathered.intervals.contains_key(&start);
        if self.intervals >= self.most && !self.aggregates.get(name).is_some_and(is_held) {
            return false;
        }
        // When rules change, an aggregate keeps its old rule until it is empty.
        let gathered = self.aggregates.entry(Arc::clone(name)).or_insert_with(|| Gathered {
            every: *every,
            method: *method,
            due: 0,
            intervals: BTreeMap::new(),
        });
        let start = point.timestamp - point.timestamp % gathered.every;
        let mut added = 0;
        let interval = gathered.intervals.entry(start).or_insert_with(|| {
            added = 1;
            Interval { values: Values::new(gathered.method), is_fresh: true }
        });
        interval.values.add(point.value);
        interval.is_fresh = true;
        self.intervals += added;
        true
    }

    /// Returns what is due, or everything before the server stops; forgets what is old.
    pub(super) fn due(&mut self, now: u32, all: bool) -> Vec<(Arc<str>, Point)> {
        let mut due = Vec::new();
        let mut held = 0;
        self.aggregates.retain(|name, gathered| {
            if all || now >= gathered.due {
                gathered.write(now, all, |timestamp, value| {
                    due.push((Arc::clone(name), Point { timestamp, value }));
                });
            }
            held += gathered.intervals.len();
            !gathered.intervals.is_empty()
        });
        self.intervals = held;
        due
    }
}

impl Gathered {
    fn write(&mut self, now: u32, all: bool, mut put: impl FnMut(u32, f64)) {
        let is_new = self.due == 0;
        self.due = now - now % self.every + self.every;
        // The first time is the end of the current interval.
        if is_new && !all {
            return;
        }
        let method = self.method;
        for (&start, interval) in &mut self.intervals {
            if std::mem::take(&mut interval.is_fresh) {
                let value = interval.values.result(method);
                if !value.is_nan() {
                    put(start, value);
                }
            }
        }
        let oldest = (now - now % self.every).saturating_sub(INTERVALS * self.every);
        self.intervals.retain(|&start, _| start >= oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aggregate(method: Method) -> Aggregate {
        Aggregate { name: "all".into(), every: 10, method }
    }

    fn point(timestamp: u32, value: f64) -> Point {
        Point { timestamp, value }
    }

    fn due(gathering: &mut Gathering, now: u32) -> Vec<(u32, f64)> {
        gathering.due(now, false).into_iter().map(|(_, point)| (point.timestamp, point.value)).collect()
    }

    #[test]
    fn an_interval_is_written_when_it_is_over_and_again_for_late_points() {
        let mut gathering = Gathering::new(100);
        let sum = aggregate(Method::Sum);
        assert!(gathering.add(&sum, point(1001, 2.0)) && gathering.add(&sum, point(1009, 3.0)));
        assert_eq!(due(&mut gathering, 1005), []);
        assert_eq!(due(&mut gathering, 1010), [(1000, 5.0)]);
        assert_eq!(due(&mut gathering, 1011), []);
        gathering.add(&sum, point(1002, 1.0));
        gathering.add(&sum, point(1012, 7.0));
        assert_eq!(due(&mut gathering, 1020), [(1000, 6.0), (1010, 7.0)]);
        assert_eq!(gathering.len(), 2);
        assert_eq!(due(&mut gathering, 1100), []);
        assert_eq!((gathering.len(), gathering.aggregates.len()), (0, 0));
    }

    #[test]
    fn before_a_stop_everything_is_due() {
        let mut gathering = Gathering::new(100);
        gathering.add(&aggregate(Method::Max), point(1001, 2.0));
        assert_eq!(gathering.due(1002, true).len(), 1);
    }

    #[test]
    fn methods() {
        for (method, expected) in [
            (Method::Sum, 10.0),
            (Method::Average, 2.5),
            (Method::Min, 1.0),
            (Method::Max, 4.0),
            (Method::Count, 4.0),
            (Method::Quantile(0.5), 2.5),
            (Method::Quantile(0.9), 3.7),
        ] {
            let mut gathering = Gathering::new(100);
            for value in [4.0, 1.0, 3.0, 2.0] {
                gathering.add(&aggregate(method), point(1001, value));
            }
            due(&mut gathering, 1001);
            assert_eq!(due(&mut gathering, 1010), [(1000, expected)], "{method:?}");
        }
    }

    #[test]
    fn there_is_a_bound() {
        let mut gathering = Gathering::new(1);
        assert!(gathering.add(&aggregate(Method::Sum), point(1001, 1.0)));
        assert!(gathering.add(&aggregate(Method::Sum), point(1002, 1.0)));
        assert!(!gathering.add(&aggregate(Method::Sum), point(1011, 1.0)));
    }
}
