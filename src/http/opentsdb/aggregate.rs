//! The series of a group become one.

use super::downsample::Points;
use crate::kairosdb::Sample;
use plumbago_model::{Cancel, QueryError};

/// How values become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    Sum,
    Avg,
    Min,
    Max,
    Count,
    Dev,
    First,
    Last,
    /// The value that this share of them does not exceed.
    Percentile(f64),
    /// The product.
    Multiply,
    /// The difference of the last and the first.
    Diff,
}

/// What a series has at a moment between two of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// A value on the line from the one to the other.
    Line,
    /// Zero.
    Zero,
    /// Nothing.
    Nothing,
}

/// The names of all aggregators, in order.
pub(super) const NAMES: &[&str] = &[
    "avg", "count", "dev", "diff", "ep50r3", "ep50r7", "ep75r3", "ep75r7", "ep90r3", "ep90r7", "ep95r3",
    "ep95r7", "ep999r3", "ep999r7", "ep99r3", "ep99r7", "first", "last", "max", "median", "mimmax", "mimmin",
    "min", "mult", "multiply", "none", "p50", "p75", "p90", "p95", "p99", "p999", "pfsum", "sum", "zimsum",
];

/// How series become one; none for those that stay apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aggregate(pub(super) Option<(Function, Between)>);

impl Aggregate {
    /// The aggregator of a name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(Self(Some(match name {
            "none" => return Ok(Self(None)),
            "zimsum" => (Function::Sum, Between::Zero),
            "mimmin" => (Function::Min, Between::Nothing),
            "mimmax" => (Function::Max, Between::Nothing),
            "count" => (Function::Count, Between::Zero),
            "first" => (Function::First, Between::Zero),
            "last" => (Function::Last, Between::Zero),
            other => (Function::parse(other)?, Between::Line),
        })))
    }
}

impl Function {
    /// The function of a name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let percentile = |name: &str| {
            let digits = name.strip_prefix("ep").or(name.strip_prefix('p'))?;
            let digits = digits.trim_end_matches("r3").trim_end_matches("r7");
            let share = match digits {
                "50" => 0.5,
                "75" => 0.75,
                "90" => 0.9,
                "95" => 0.95,
                "99" => 0.99,
                "999" => 0.999,
                _ => return None,
            };
            Some(Function::Percentile(share))
        };
        Ok(match name {
            "sum" | "zimsum" | "pfsum" => Function::Sum,
            "avg" => Function::Avg,
            "min" | "mimmin" => Function::Min,
            "max" | "mimmax" => Function::Max,
            "count" => Function::Count,
            "dev" => Function::Dev,
            "first" => Function::First,
            "last" => Function::Last,
            "median" => Function::Percentile(0.5),
            "mult" | "multiply" => Function::Multiply,
            "diff" => Function::Diff,
            other => {
                return percentile(other).ok_or_else(|| {
                    format!(
                        "the aggregator `{other}` is not known; use sum, avg, min, max, count, dev, first, last, median, mult, diff, zimsum, \
                         mimmin, mimmax, none, or p50 to p999"
                    )
                });
            }
        })
    }

    /// What samples make, each with the points it stands for.
    pub(super) fn of(self, samples: &[Sample]) -> Option<f64> {
        let counts = || samples.iter().map(|sample| f64::from(sample.count)).sum::<f64>();
        let sums = || samples.iter().map(|sample| sample.sum).sum::<f64>();
        match self {
            _ if samples.is_empty() => None,
            Function::Sum => Some(sums()),
            Function::Avg => Some(sums() / counts()),
            Function::Count => Some(counts()),
            _ => self.of_values(&mut samples.iter().map(|sample| sample.value).collect::<Vec<f64>>()),
        }
    }

    fn of_values(self, values: &mut [f64]) -> Option<f64> {
        let (first, last) = (*values.first()?, *values.last()?);
        let count = values.len() as f64;
        let sum = || values.iter().sum::<f64>();
        Some(match self {
            Function::Sum => sum(),
            Function::Avg => sum() / count,
            Function::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Function::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Function::Count => count,
            Function::Dev => {
                let mean = sum() / count;
                (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
            }
            Function::First => first,
            Function::Last => last,
            Function::Multiply => values.iter().product(),
            Function::Diff => last - first,
            Function::Percentile(share) => {
                values.sort_unstable_by(f64::total_cmp);
                let place = (share * (count + 1.0)).clamp(1.0, count);
                let at = |place: f64| values.get(place as usize - 1).copied().unwrap_or(last);
                at(place) + place.fract() * (at((place + 1.0).min(count)) - at(place))
            }
        })
    }
}

/// Makes one series of several, at every moment at which one of them has a point.
pub(super) fn merge(
    series: &[Points],
    function: Function,
    between: Between,
    cancel: &Cancel,
) -> Result<Points, QueryError> {
    if let [one] = series
        && !matches!(function, Function::Count | Function::Dev | Function::Diff)
    {
        return Ok(one.clone());
    }
    let mut moments: Vec<i64> = series.iter().flatten().map(|(at, _)| *at).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut next = vec![0; series.len()];
    let mut merged = Points::with_capacity(moments.len());
    let mut values = Vec::with_capacity(series.len());
    for (nth, &at) in moments.iter().enumerate() {
        if nth.is_multiple_of(64) {
            cancel.check()?;
        }
        values.clear();
        for (points, next) in series.iter().zip(&mut next) {
            values.extend(value_at(points, next, at, between).filter(|value| !value.is_nan()));
        }
        merged.push((at, function.of_values(&mut values).unwrap_or(f64::NAN)));
    }
    Ok(merged)
}

/// What a series has at a moment. `next` is its first point that is not earlier than the moment before.
fn value_at(points: &Points, next: &mut usize, at: i64, between: Between) -> Option<f64> {
    while points.get(*next).is_some_and(|(time, _)| *time < at) {
        *next += 1;
    }
    let &(after, later) = points.get(*next)?;
    if after == at {
        return Some(later);
    }
    let &(before, earlier) = points.get(next.checked_sub(1)?)?;
    match between {
        Between::Nothing => None,
        Between::Zero => Some(0.0),
        Between::Line => Some(earlier + (later - earlier) * ((at - before) as f64 / (after - before) as f64)),
    }
}
