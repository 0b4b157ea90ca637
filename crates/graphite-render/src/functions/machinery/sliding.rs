//! An aggregation function over every window of a run of values.
//!
//! Short windows are computed one by one, in Python's order of addition, so that even the last digit agrees. For long ones
//! that is too much work: a month of ten-second values has windows of 259,200. These keep what the windows share.

use std::collections::VecDeque;

use crate::series::aggregate::{Aggregation, median_of_sorted};
use plumbago_model::{Cancel, Cancelled};

/// Points from which on windows are not computed one by one.
const LONG: usize = 256;
/// Values looked at between two looks at the clock: some milliseconds of medians.
const CHECK_EVERY: usize = 1 << 16;

/// The windows `[end - points, end)` for each end from `points + 1` on. Nulls are dropped before the function is applied;
/// a window counts when known / points reaches the xFilesFactor.
pub(crate) fn slide(
    values: &[f64],
    points: usize,
    aggregation: Aggregation,
    xff: f64,
    cancel: &Cancel,
) -> Result<Vec<f64>, Cancelled> {
    let totals = matches!(aggregation, Aggregation::Sum | Aggregation::Average | Aggregation::AvgZero);
    if totals && points < LONG {
        return Ok(short_totals(values, points, aggregation, xff));
    }
    let finite = values.iter().all(|v| !v.is_infinite());
    let mut state = match aggregation {
        _ if points < LONG => None,
        _ if totals && finite => Some(State::Total(Total::default())),
        Aggregation::Min => Some(State::Extreme(1.0, VecDeque::new())),
        Aggregation::Max => Some(State::Extreme(-1.0, VecDeque::new())),
        Aggregation::Median => Some(State::Sorted(Vec::new())),
        _ => None,
    };
    let mut known = 0;
    let mut scratch = Vec::with_capacity(points.min(values.len()));
    let mut result = Vec::with_capacity((values.len() + 1).saturating_sub(points + 1));
    let mut work = 0;
    for end in 1..=values.len() {
        let entering = values[end - 1];
        let leaving = end.checked_sub(points + 1).and_then(|at| values.get(at)).copied().unwrap_or(f64::NAN);
        known += usize::from(!entering.is_nan());
        known -= usize::from(!leaving.is_nan());
        if let Some(state) = &mut state {
            state.step(entering, leaving);
        }
        if end <= points {
            continue;
        }
        let enough = known > 0 && known as f64 / points as f64 >= xff;
        result.push(match &state {
            _ if !enough => f64::NAN,
            Some(state) => state.value(aggregation, known),
            None => {
                work += points;
                scratch.clear();
                scratch.extend(values[end - points..end].iter().filter(|v| !v.is_nan()));
                aggregation.of(&scratch)
            }
        });
        work += 1;
        if work >= CHECK_EVERY {
            cancel.check()?;
            work = 0;
        }
    }
    Ok(result)
}

/// Sums or means of short windows. Many windows are added up side by side, each in its own order from its first value to its
/// last: the same rounding as one by one, several times as fast.
fn short_totals(values: &[f64], points: usize, aggregation: Aggregation, xff: f64) -> Vec<f64> {
    const ABREAST: usize = 32;
    let windows = values.len().saturating_sub(points);
    let plain: Vec<f64> = values.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect();
    let known: Vec<f64> = values.iter().map(|v| f64::from(u8::from(!v.is_nan()))).collect();
    let mut result = Vec::with_capacity(windows);
    for first in (1..=windows).step_by(ABREAST) {
        let width = ABREAST.min(windows + 1 - first);
        let (mut sums, mut counts) = ([0.0; ABREAST], [0.0; ABREAST]);
        for at in first..first + points {
            let (plain, known) = (&plain[at..at + width], &known[at..at + width]);
            sums.iter_mut().zip(plain).for_each(|(sum, v)| *sum += v);
            counts.iter_mut().zip(known).for_each(|(count, v)| *count += v);
        }
        let value = |(sum, count): (f64, f64)| match aggregation {
            _ if count == 0.0 || count / (points as f64) < xff => f64::NAN,
            Aggregation::Sum => sum,
            _ => sum / count,
        };
        result.extend(sums.into_iter().zip(counts).take(width).map(value));
    }
    result
}

/// What a window shares with the next one. A null is NaN and changes nothing.
enum State {
    Total(Total),
    /// Candidates for the least of value × sign, each with the number of values since it that are no better.
    Extreme(f64, VecDeque<(f64, usize)>),
    Sorted(Vec<f64>),
}

impl State {
    fn step(&mut self, entering: f64, leaving: f64) {
        match self {
            State::Total(total) => {
                total.add(if entering.is_nan() { 0.0 } else { entering });
                total.add(if leaving.is_nan() { 0.0 } else { -leaving });
            }
            State::Extreme(sign, queue) => {
                if !leaving.is_nan() {
                    match queue.front_mut() {
                        Some((_, beaten)) if *beaten > 0 => *beaten -= 1,
                        _ => drop(queue.pop_front()),
                    }
                }
                if !entering.is_nan() {
                    let mut beaten = 0;
                    while let Some(&(v, more)) = queue.back()
                        && v * *sign >= entering * *sign
                    {
                        beaten += more + 1;
                        queue.pop_back();
                    }
                    queue.push_back((entering, beaten));
                }
            }
            State::Sorted(sorted) => {
                let place = |sorted: &[f64], v: f64| sorted.partition_point(|x| x.total_cmp(&v).is_lt());
                if !leaving.is_nan() {
                    sorted.remove(place(sorted, leaving));
                }
                if !entering.is_nan() {
                    sorted.insert(place(sorted, entering), entering);
                }
            }
        }
    }

    fn value(&self, aggregation: Aggregation, known: usize) -> f64 {
        match self {
            State::Total(total) if aggregation == Aggregation::Sum => total.value(),
            State::Total(total) => total.value() / known as f64,
            State::Extreme(_, queue) => queue.front().map_or(f64::NAN, |(v, _)| *v),
            State::Sorted(sorted) => median_of_sorted(sorted),
        }
    }
}

/// A sum that keeps the rounding errors, so that millions of additions and subtractions leave no trace.
#[derive(Default)]
struct Total {
    sum: f64,
    error: f64,
}

impl Total {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let part = sum - self.sum;
        self.error += (self.sum - (sum - part)) + (value - part);
        self.sum = sum;
    }

    fn value(&self) -> f64 {
        self.sum + self.error
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;

    const ALL: [Aggregation; 6] = [
        Aggregation::Sum,
        Aggregation::Average,
        Aggregation::AvgZero,
        Aggregation::Min,
        Aggregation::Max,
        Aggregation::Median,
    ];

    fn one_by_one(values: &[f64], points: usize, aggregation: Aggregation, xff: f64) -> Vec<f64> {
        let window = |end: usize| {
            let known: Vec<f64> = values[end - points..end].iter().copied().filter(|v| !v.is_nan()).collect();
            let enough = !known.is_empty() && known.len() as f64 / points as f64 >= xff;
            if enough { aggregation.of(&known) } else { f64::NAN }
        };
        (points + 1..values.len() + 1).map(window).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn long_windows_agree_with_one_by_one(
            values in proptest::collection::vec(
                prop_oneof![4 => -1e6_f64..1e6, 2 => Just(3.0), 1 => Just(f64::NAN)], 0..900),
            points in LONG..LONG + 200,
            xff in prop_oneof![Just(0.0), Just(0.9)],
        ) {
            for aggregation in ALL {
                let got = slide(&values, points, aggregation, xff, &Cancel::never()).unwrap();
                let expected = one_by_one(&values, points, aggregation, xff);
                prop_assert_eq!(got.len(), expected.len());
                for (a, b) in got.iter().zip(&expected) {
                    let close = (a - b).abs() <= 1e-6 * 1e-6 * 1e6;
                    prop_assert!(close || (a.is_nan() && b.is_nan()), "{aggregation:?} {a} {b}");
                }
            }
        }
    }

    proptest! {
        /// To the last bit.
        #[test]
        fn short_windows_agree_with_one_by_one(
            values in proptest::collection::vec(
                prop_oneof![4 => -1e6_f64..1e6, 1 => Just(f64::INFINITY), 2 => Just(f64::NAN)], 0..200),
            points in 0..40_usize,
            xff in prop_oneof![Just(0.0), Just(0.9)],
        ) {
            for aggregation in ALL {
                let got = slide(&values, points, aggregation, xff, &Cancel::never()).unwrap();
                let expected = one_by_one(&values, points, aggregation, xff);
                let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(&got), bits(&expected), "{:?}", aggregation);
            }
        }
    }

    #[test]
    fn infinities_leave_the_window_again() {
        let mut values = vec![1.0; 2 * LONG + 2];
        values[1] = f64::INFINITY;
        let got = slide(&values, LONG, Aggregation::Sum, 0.0, &Cancel::never()).unwrap();
        assert_eq!((got[0], got[1]), (f64::INFINITY, LONG as f64));
    }

    #[test]
    fn long_work_can_be_given_up() {
        let values = vec![1.0; 8_000];
        let late = Cancel::at(Instant::now());
        assert!(slide(&values, 4_000, Aggregation::Stddev, 0.0, &late).is_err());
    }
}
