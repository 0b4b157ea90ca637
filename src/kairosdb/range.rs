//! The aggregators that make one sample of each bucket, or two, or mark it as empty.

use jiff::tz::TimeZone;

use super::results::Work;
use super::sample::Sample;
use super::sampling::Sampling;
use plumbago_model::QueryError;

/// How the samples of a bucket become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Their mean.
    Avg,
    /// Their sum.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// How many there are.
    Count,
    /// Their standard deviation, as of a part of all; 0 for one.
    Dev,
    /// The first.
    First,
    /// The last.
    Last,
    /// The value that this share of them does not exceed.
    Percentile(f64),
    /// The ends of the line that fits them best.
    LeastSquares,
    /// They stay as they are, and an empty bucket between others becomes a null.
    Gaps,
}

impl Method {
    /// Adds what it makes of a bucket that has samples.
    fn gather(self, at: i64, samples: &[Sample], out: &mut Vec<Sample>) {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return };
        let count = || samples.iter().map(|sample| f64::from(sample.count)).sum::<f64>();
        let sum = || samples.iter().map(|sample| sample.sum).sum::<f64>();
        let value = match self {
            Method::Avg => sum() / count(),
            Method::Sum => sum(),
            Method::Count => count(),
            Method::Min => samples.iter().map(|sample| sample.value).fold(f64::INFINITY, f64::min),
            Method::Max => samples.iter().map(|sample| sample.value).fold(f64::NEG_INFINITY, f64::max),
            Method::Dev => deviation(samples),
            Method::First => first.value,
            Method::Last => last.value,
            Method::Percentile(share) => percentile(samples, share),
            Method::LeastSquares if samples.len() > 2 => return out.extend(line(samples, first.at, last.at)),
            Method::LeastSquares | Method::Gaps => return out.extend_from_slice(samples),
        };
        out.push(Sample::point(at, value));
    }
}

/// What a range aggregator makes of samples in order of time. `range` is that of the query.
pub(super) fn aggregate(
    method: Method,
    sampling: &Sampling,
    trim: bool,
    samples: &[Sample],
    (range, zone): ((i64, i64), &TimeZone),
    work: &Work<'_>,
) -> Result<Vec<Sample>, QueryError> {
    let buckets = sampling.buckets(range.0, zone);
    let mut out = Vec::new();
    let mut known: Vec<Sample> = Vec::new();
    let mut rest = samples;
    let mut expected = None;
    while let Some(first) = rest.first() {
        work.step(out.len())?;
        let bucket = buckets.of(first.at);
        if method == Method::Gaps {
            let mut empty = expected.unwrap_or(bucket.start);
            while empty < bucket.start {
                work.step(out.len())?;
                let gap = buckets.of(empty);
                out.push(Sample::null(sampling.time_of(&gap, gap.start)));
                empty = gap.end;
            }
            expected = Some(bucket.end);
        }
        let (inside, after) = rest.split_at(rest.partition_point(|sample| sample.at < bucket.end).max(1));
        rest = after;
        if trim && (bucket.start < range.0 || bucket.end.saturating_sub(1) > range.1) {
            continue;
        }
        let at = sampling.time_of(&bucket, first.at);
        if inside.iter().any(Sample::is_null) {
            known.clear();
            known.extend(inside.iter().filter(|sample| !sample.is_null()));
            method.gather(at, &known, &mut out);
        } else {
            method.gather(at, inside, &mut out);
        }
    }
    Ok(out)
}

/// Of points: those of a slot all have its value.
fn deviation(samples: &[Sample]) -> f64 {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for sample in samples {
        let weight = f64::from(sample.count);
        count += weight;
        let distance = sample.value - mean;
        mean += distance * weight / count;
        squares += weight * distance * (sample.value - mean);
    }
    if count > 1.0 { (squares / (count - 1.0)).max(0.0).sqrt() } else { 0.0 }
}

/// Between the two values around the place in the order, as KairosDB does.
fn percentile(samples: &[Sample], share: f64) -> f64 {
    let mut sorted: Vec<(f64, u64)> =
        samples.iter().map(|sample| (sample.value, u64::from(sample.count))).collect();
    sorted.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
    let count: u64 = sorted.iter().map(|(_, count)| count).sum();
    // The value at a place, counted from 1.
    let at = |place: u64| {
        let mut before = 0;
        let holds = |(_, count): &&(f64, u64)| {
            before += count;
            before >= place
        };
        sorted.iter().find(holds).or(sorted.last()).map_or(f64::NAN, |(value, _)| *value)
    };
    let place = share * (count + 1) as f64;
    if place < 1.0 {
        return at(1);
    }
    if place >= count as f64 {
        return at(count);
    }
    let (lower, upper) = (at(place as u64), at(place as u64 + 1));
    lower + place.fract() * (upper - lower)
}

/// The ends of the line that fits best.
fn line(samples: &[Sample], first: i64, last: i64) -> [Sample; 2] {
    let (mut weights, mut times, mut values) = (0.0, 0.0, 0.0);
    let time = |sample: &Sample| (sample.at - first) as f64;
    for sample in samples {
        let weight = f64::from(sample.count);
        weights += weight;
        times += weight * time(sample);
        values += weight * sample.value;
    }
    let (mean_time, mean) = (times / weights, values / weights);
    let (mut across, mut along) = (0.0, 0.0);
    for sample in samples {
        let (weight, distance) = (f64::from(sample.count), time(sample) - mean_time);
        along += weight * distance * distance;
        across += weight * distance * (sample.value - mean);
    }
    let slope = if along > 0.0 { across / along } else { 0.0 };
    let on_line = |at: i64| Sample::point(at, mean + slope * ((at - first) as f64 - mean_time));
    [on_line(first), on_line(last)]
}
