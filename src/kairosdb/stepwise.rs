//! The aggregators that go from sample to sample.

use jiff::tz::TimeZone;

use super::aggregator::{Comparison, Trim};
use super::sample::Sample;
use super::unit::Length;
use plumbago_model::QueryError;

/// The change from sample to sample, per length of time.
pub(super) fn rate(samples: &[Sample], per: Length, zone: &TimeZone) -> Result<Vec<Sample>, QueryError> {
    over_time("rate", samples, per, zone, |before, after| after.value - before.value)
}

/// Each value but the first, divided by the time since the sample before it.
pub(super) fn sampler(samples: &[Sample], per: Length, zone: &TimeZone) -> Result<Vec<Sample>, QueryError> {
    over_time("sampler", samples, per, zone, |_, after| after.value)
}

fn over_time(
    name: &str,
    samples: &[Sample],
    per: Length,
    zone: &TimeZone,
    amount: impl Fn(&Sample, &Sample) -> f64,
) -> Result<Vec<Sample>, QueryError> {
    let one = |(before, after): (&Sample, &Sample)| {
        let apart = after.at - before.at;
        if apart == 0 {
            return Err(QueryError::Invalid(format!(
                "{name} needs samples of different times, and there are two of {}: put an aggregator such as avg before it",
                after.at
            )));
        }
        let length = per.millis_from(zone, before.at) as f64;
        Ok(Sample::point(after.at, amount(before, after) / apart as f64 * length))
    };
    pairs(samples).map(one).collect()
}

/// The change from sample to sample.
pub(super) fn diff(samples: &[Sample]) -> Vec<Sample> {
    pairs(samples).map(|(before, after)| Sample::point(after.at, after.value - before.value)).collect()
}

fn pairs(samples: &[Sample]) -> impl Iterator<Item = (&Sample, &Sample)> {
    samples.iter().zip(samples.iter().skip(1))
}

/// The mean of `size` samples at the time of the last of them; nothing for fewer. Nulls count as nothing.
pub(super) fn sma(samples: &[Sample], size: usize) -> Vec<Sample> {
    let value = |sample: &Sample| if sample.is_null() { (0.0, 0) } else { (sample.value, 1_u32) };
    let whole = |window: &[Sample]| {
        window.iter().map(value).fold((0.0, 0), |(sum, count), (value, one)| (sum + value, count + one))
    };
    let mut means = Vec::with_capacity(samples.len().saturating_sub(size - 1));
    let (mut sum, mut count) = (0.0, 0);
    for (nth, window) in samples.windows(size).enumerate() {
        // What a sum gains and loses is rounded. Adding all up again now and then keeps that small, and costs no more than the rest.
        if nth.is_multiple_of(size) {
            (sum, count) = whole(window);
        } else if let (Some(gone), Some(last)) = (samples.get(nth - 1), window.last()) {
            let ((gone, one_less), (value, one_more)) = (value(gone), value(last));
            (sum, count) = (sum - gone + value, count - one_less + one_more);
        }
        means.extend(window.last().map(|last| Sample::point(last.at, sum / f64::from(count))));
    }
    means
}

/// What is left without an end, or without both.
pub(super) fn trim(samples: &[Sample], which: Trim) -> &[Sample] {
    let skip_first = usize::from(which != Trim::Last).min(samples.len());
    let rest = &samples[skip_first..];
    let skip_last = usize::from(which != Trim::First).min(rest.len());
    &rest[..rest.len() - skip_last]
}

/// What is left without the samples for which the comparison holds.
pub(super) fn filter(samples: &mut Vec<Sample>, comparison: Comparison, threshold: f64) {
    samples.retain(|sample| !comparison.holds(sample.value, threshold));
}

/// One sample for each moment, which stands for all points of that moment; its value is their mean.
pub(super) fn merge(samples: &[Sample]) -> Vec<Sample> {
    let mut merged: Vec<Sample> = Vec::with_capacity(samples.len());
    for sample in samples {
        match merged.last_mut().filter(|last| last.at == sample.at) {
            Some(last) => {
                let (sum, count) = (last.sum + sample.sum, last.count.saturating_add(sample.count));
                *last = Sample {
                    value: if count > 0 { sum / f64::from(count) } else { f64::NAN },
                    sum,
                    count,
                    ..*last
                };
            }
            None => merged.push(*sample),
        }
    }
    merged
}
