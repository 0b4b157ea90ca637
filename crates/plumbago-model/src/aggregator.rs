//! Aggregation methods, and the partial aggregates that stages keep.
//!
//! A partial is value + count, so that partials of partials stay exact: an average keeps its sum. Only methods with
//! that property exist here; a median or a percentile cannot be carried and is refused when the config is read.

use std::fmt;
use std::str::FromStr;

/// How the points of a fine stage become one slot of a coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregator {
    /// Mean of the known points.
    Average,
    /// Sum of the known points.
    Sum,
    /// The latest known point.
    Last,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Sum divided by all slots, known or not.
    AvgZero,
    /// The one furthest from zero, with its sign.
    AbsMax,
    /// The one nearest to zero, with its sign.
    AbsMin,
}

/// The method is not one that partial aggregates can carry, or not a method at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "aggregation method `{method}` {reason}; use one of average, sum, last, max, min, avg_zero, absmax, absmin"
)]
pub struct UnknownAggregator {
    method: String,
    reason: &'static str,
}

impl Aggregator {
    /// All methods, in the order they are documented.
    pub const ALL: [Aggregator; 8] = [
        Aggregator::Average,
        Aggregator::Sum,
        Aggregator::Last,
        Aggregator::Max,
        Aggregator::Min,
        Aggregator::AvgZero,
        Aggregator::AbsMax,
        Aggregator::AbsMin,
    ];

    /// Carbon's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Aggregator::Average => "average",
            Aggregator::Sum => "sum",
            Aggregator::Last => "last",
            Aggregator::Max => "max",
            Aggregator::Min => "min",
            Aggregator::AvgZero => "avg_zero",
            Aggregator::AbsMax => "absmax",
            Aggregator::AbsMin => "absmin",
        }
    }

    /// Puts a later partial onto an earlier one.
    pub fn merge(self, earlier: Partial, later: Partial) -> Partial {
        if earlier.count() == 0 {
            return later;
        }
        if later.count() == 0 {
            return earlier;
        }
        let (a, b) = (earlier.value, later.value);
        let value = match self {
            Aggregator::Average | Aggregator::Sum | Aggregator::AvgZero => a + b,
            Aggregator::Last => b,
            Aggregator::Max => a.max(b),
            Aggregator::Min => a.min(b),
            Aggregator::AbsMax => {
                if b.abs() > a.abs() {
                    b
                } else {
                    a
                }
            }
            Aggregator::AbsMin => {
                if b.abs() < a.abs() {
                    b
                } else {
                    a
                }
            }
        };
        let direct = (earlier.count | later.count) & Partial::DIRECT;
        let count = earlier.count().saturating_add(later.count()).min(Partial::MAX_COUNT);
        Partial { value, count: count | direct }
    }

    /// The value a reader sees, or `None` when too few points are known.
    ///
    /// `slots` is how many stage-0 slots the partial spans. A slot counts as known when known / slots reaches the
    /// xFilesFactor; points written straight into a coarse stage always do, as in whisper.
    pub fn finish(self, partial: Partial, slots: u32, x_files_factor: f64) -> Option<f64> {
        let known = f64::from(partial.count());
        let enough = known >= x_files_factor * f64::from(slots) || partial.is_direct();
        if partial.count() == 0 || !enough {
            return None;
        }
        Some(match self {
            Aggregator::Average => partial.value / known,
            Aggregator::AvgZero => partial.value / f64::from(slots).max(known),
            _ => partial.value,
        })
    }

    /// The reverse of [`Aggregator::finish`]: the partial of about `count` points that a reader sees as exactly `value`.
    ///
    /// Sums are rounded, so `value * count / count` may miss `value` by one bit. A neighbouring sum mends most of these, and a power
    /// of two as the count mends the rest.
    pub fn unfinish(self, value: f64, count: u32, slots: u32) -> Partial {
        let count = count.clamp(1, Partial::MAX_COUNT);
        let exact = |count: u32| {
            let divisor = match self {
                Aggregator::Average => f64::from(count),
                Aggregator::AvgZero => f64::from(slots.max(count)),
                _ => return Some(Partial { value, count }),
            };
            let sum = value * divisor;
            let sums = [sum, sum.next_up(), sum.next_down()];
            let sum = sums.into_iter().find(|sum| sum / divisor == value)?;
            Some(Partial { value: sum, count })
        };
        // An avg_zero is divided by all of its slots, so only a count beyond them changes the divisor.
        let power = match self {
            Aggregator::AvgZero => slots.max(count).checked_next_power_of_two().unwrap_or(count),
            _ => 1 << count.ilog2(),
        };
        exact(count).or_else(|| exact(power)).unwrap_or(Partial { value, count: 1 })
    }
}

impl fmt::Display for Aggregator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Carbon's and BigGraphite's names (`total`, `minimum`, `maximum`), and `avg`.
impl FromStr for Aggregator {
    type Err = UnknownAggregator;

    fn from_str(text: &str) -> Result<Self, UnknownAggregator> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "average" | "avg" | "mean" => Aggregator::Average,
            "sum" | "total" => Aggregator::Sum,
            "last" => Aggregator::Last,
            "max" | "maximum" => Aggregator::Max,
            "min" | "minimum" => Aggregator::Min,
            "avg_zero" => Aggregator::AvgZero,
            "absmax" => Aggregator::AbsMax,
            "absmin" => Aggregator::AbsMin,
            other => {
                let percentile = other.strip_prefix('p').is_some_and(|n| n.parse::<f64>().is_ok());
                let carried = !(percentile || other == "median" || other.starts_with("percentile"));
                let reason = if carried {
                    "is not known"
                } else {
                    "needs all points at once, which stages of partial aggregates do not keep"
                };
                return Err(UnknownAggregator { method: text.to_owned(), reason });
            }
        })
    }
}

/// A slot of an aggregated stage: an aggregate of some points, to be merged or finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partial {
    /// Sum for average, sum and avg_zero; the chosen point for the others.
    pub value: f64,
    /// Number of stage-0 points in it, and the [`Partial::DIRECT`] flag.
    pub count: u32,
}

impl Partial {
    /// Set in `count` when a point was written straight into this stage because it is older than stage 0 reaches.
    pub const DIRECT: u32 = 1 << 31;
    /// Counts stop here.
    pub const MAX_COUNT: u32 = Self::DIRECT - 1;
    /// No points.
    pub const EMPTY: Partial = Partial { value: f64::NAN, count: 0 };

    /// One stage-0 point.
    pub fn point(value: f64) -> Self {
        Self { value, count: 1 }
    }

    /// One point that bypassed stage 0.
    pub fn direct(value: f64) -> Self {
        Self { value, count: 1 | Self::DIRECT }
    }

    /// Number of points in it.
    pub fn count(self) -> u32 {
        self.count & !Self::DIRECT
    }

    /// Did a point bypass stage 0?
    pub fn is_direct(self) -> bool {
        self.count & Self::DIRECT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(method: Aggregator, values: &[f64]) -> Partial {
        values.iter().fold(Partial::EMPTY, |acc, &v| method.merge(acc, Partial::point(v)))
    }

    #[test]
    fn each_method_over_four_of_six_points() {
        let values = [3.0, -5.0, 1.0, 2.0];
        let finish = |m: Aggregator| m.finish(fold(m, &values), 6, 0.5);
        assert_eq!(finish(Aggregator::Average), Some(0.25));
        assert_eq!(finish(Aggregator::Sum), Some(1.0));
        assert_eq!(finish(Aggregator::Last), Some(2.0));
        assert_eq!(finish(Aggregator::Max), Some(3.0));
        assert_eq!(finish(Aggregator::Min), Some(-5.0));
        assert_eq!(finish(Aggregator::AvgZero), Some(1.0 / 6.0));
        assert_eq!(finish(Aggregator::AbsMax), Some(-5.0));
        assert_eq!(finish(Aggregator::AbsMin), Some(1.0));
    }

    #[test]
    fn an_unfinished_value_comes_back_to_the_last_bit() {
        let mut value = 0.1_f64;
        for count in 1..5000 {
            value = (value * 1.37 + 0.3) % 1e6;
            for method in Aggregator::ALL {
                for slots in [360, 4096, 86_400] {
                    let partial = method.unfinish(value, count, slots);
                    assert_eq!(method.finish(partial, slots, 0.0), Some(value), "{method}, {count}, {slots}");
                }
                let partial = method.unfinish(value, count, 4096);
                assert!(partial.count() > count / 2, "{method} of {count} counts {}", partial.count());
            }
        }
        assert_eq!(Aggregator::Average.unfinish(2.5, 0, 6).count(), 1);
    }

    #[test]
    fn averages_of_averages_are_exact() {
        let m = Aggregator::Average;
        let both = m.merge(fold(m, &[1.0, 2.0, 3.0]), fold(m, &[10.0]));
        assert_eq!(m.finish(both, 4, 0.0), Some(4.0));
    }

    #[test]
    fn x_files_factor_hides_thin_slots_but_not_direct_writes() {
        let m = Aggregator::Sum;
        assert_eq!(m.finish(Partial::point(1.0), 6, 0.5), None);
        assert_eq!(m.finish(Partial::point(1.0), 6, 0.0), Some(1.0));
        assert_eq!(m.finish(Partial::direct(1.0), 6, 0.5), Some(1.0));
        let mixed = m.merge(Partial::point(1.0), Partial::direct(2.0));
        assert_eq!((mixed.count(), mixed.is_direct()), (2, true));
        assert_eq!(m.finish(Partial::EMPTY, 6, 0.0), None);
    }

    #[test]
    fn methods_that_cannot_be_carried_are_refused_with_a_reason() {
        for name in ["median", "p95", "p99.9", "percentile95"] {
            let text = name.parse::<Aggregator>().unwrap_err().to_string();
            assert!(text.contains(name) && text.contains("needs all points"), "{text}");
        }
        assert!("bogus".parse::<Aggregator>().unwrap_err().to_string().contains("not known"));
        for m in Aggregator::ALL {
            assert_eq!(m.name().parse::<Aggregator>().unwrap(), m);
        }
    }
}
