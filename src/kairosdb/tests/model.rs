//! The aggregators compared with plain ones that know neither order nor buckets that follow one another.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::select;

use crate::kairosdb::aggregator::{Comparison, Trim};
use crate::kairosdb::*;
use plumbago_model::Cancel;

/// 28 March 2026, the day before the clocks go forward in Berlin.
const START: i64 = 1_774_656_000_000 + 5_025_000;
const END: i64 = START + 400 * 86_400_000;

prop_compose! {
    fn any_samples()(points in prop::collection::btree_map(0..200_000_i64, -50..50_i32, 0..60), apart in select(vec![1_000_i64, 60_000, 3_600_000]))
        -> Vec<Sample> {
        points.into_iter().map(|(at, value)| Sample::point(START + at * apart % (END - START), f64::from(value) / 4.0)).collect::<Vec<_>>()
    }
}

prop_compose! {
    fn any_sampling()(
        value in 1..9_i64,
        unit in select(vec![Unit::Minutes, Unit::Hours, Unit::Days, Unit::Weeks, Unit::Months, Unit::Years]),
        align in any::<bool>(),
        (align_start, align_end) in select(vec![(false, false), (true, false), (false, true)]),
    ) -> Sampling {
        // Shorter buckets would make the plain search for them long.
        let value = if unit == Unit::Minutes { value * 60 } else { value };
        Sampling { length: Length { value, unit }, align, align_start, align_end }
    }
}

fn zones() -> impl Strategy<Value = TimeZone> {
    select(vec!["UTC", "Europe/Berlin", "Asia/Kabul"]).prop_map(|name| TimeZone::get(name).unwrap())
}

fn run(aggregators: Vec<Aggregator>, samples: &[Sample], zone: &TimeZone) -> Vec<Sample> {
    let query = MetricQuery {
        name: "m".to_owned(),
        alias: None,
        tags: Default::default(),
        exclude_tags: false,
        limit: None,
        order: Order::Ascending,
        aggregators,
        group_by: Vec::new(),
    };
    let cancel = Cancel::never();
    let work = Work::new((START, END), zone, &cancel, 10_000_000);
    let series = vec![Read { tags: Tags::new(), samples: samples.to_vec() }];
    group(&query, series, &work).unwrap().pop().map_or_else(Vec::new, |group| group.samples)
}

/// The bucket of a moment, found by going through all of them.
fn bucket(sampling: &Sampling, zone: &TimeZone, at: i64) -> (i64, i64) {
    let Length { value, unit } = sampling.length;
    let origin = if sampling.align { unit.floor(zone, START) } else { START };
    (0..)
        .map(|nth| (unit.add(zone, origin, nth * value), unit.add(zone, origin, (nth + 1) * value)))
        .find(|&(_, end)| at < end)
        .unwrap()
}

fn plain(method: Method, values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match method {
        Method::Avg => mean,
        Method::Sum => values.iter().sum(),
        Method::Min => values.iter().copied().fold(f64::MAX, f64::min),
        Method::Max => values.iter().copied().fold(f64::MIN, f64::max),
        Method::Count => count,
        Method::Dev if values.len() < 2 => 0.0,
        Method::Dev => (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt(),
        Method::First => values[0],
        Method::Last => values[values.len() - 1],
        Method::Percentile(share) => {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let place = share * (count + 1.0);
            let below = (place.floor() as usize).clamp(1, values.len());
            let above = (below + 1).min(values.len());
            let inside = place >= 1.0 && place < count;
            let part = if inside { place.fract() } else { 0.0 };
            sorted[below - 1] + part * (sorted[above - 1] - sorted[below - 1])
        }
        Method::LeastSquares | Method::Gaps => unreachable!(),
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #[test]
    fn each_bucket_becomes_what_its_values_make(
        samples in any_samples(),
        sampling in any_sampling(),
        zone in zones(),
        method in select(vec![
            Method::Avg, Method::Sum, Method::Min, Method::Max, Method::Count, Method::Dev, Method::First, Method::Last,
            Method::Percentile(0.1), Method::Percentile(0.5), Method::Percentile(0.99),
        ]),
    ) {
        let mut samples = samples;
        samples.sort_by_key(|sample| sample.at);
        let found = run(vec![Aggregator::Range { method, sampling, trim: false }], &samples, &zone);
        let mut expected: Vec<(i64, f64)> = Vec::new();
        let mut buckets: Vec<((i64, i64), Vec<Sample>)> = Vec::new();
        for sample in &samples {
            let bucket = bucket(&sampling, &zone, sample.at);
            match buckets.iter_mut().find(|(known, _)| *known == bucket) {
                Some((_, inside)) => inside.push(*sample),
                None => buckets.push((bucket, vec![*sample])),
            }
        }
        for ((start, end), inside) in buckets {
            let at = match (sampling.align_start, sampling.align_end) {
                (true, _) => start,
                (_, true) => end,
                _ => inside[0].at,
            };
            expected.push((at, plain(method, &inside.iter().map(|sample| sample.value).collect::<Vec<_>>())));
        }
        prop_assert_eq!(found.len(), expected.len());
        for (sample, (at, value)) in found.iter().zip(expected) {
            prop_assert_eq!(sample.at, at);
            prop_assert!(close(sample.value, value), "{:?}: {} is not {}", method, sample.value, value);
        }
    }

    /// A slot counts as the points it was made from.
    #[test]
    fn slots_make_what_their_points_would(values in prop::collection::vec(-50..50_i32, 2..40), cut in 1..39_usize) {
        let day = Sampling { length: Length { value: 400, unit: Unit::Days }, ..Sampling::default() };
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let slot = |values: &[f64], at: i64| {
            let (sum, count) = (values.iter().sum::<f64>(), values.len() as u32);
            Sample { at, value: sum / f64::from(count), sum, count }
        };
        let (early, late) = values.split_at(cut.min(values.len() - 1));
        let slots = [slot(early, START), slot(late, START + 60_000)];
        let points: Vec<Sample> = values.iter().map(|&value| Sample::point(START, value)).collect();
        for method in [Method::Avg, Method::Sum, Method::Count] {
            let one = |samples: &[Sample]| run(vec![Aggregator::Range { method, sampling: day, trim: false }], samples, &TimeZone::UTC)[0].value;
            prop_assert!(close(one(&slots), one(&points)));
        }
    }

    #[test]
    fn gaps_are_marked_in_every_empty_bucket_between_samples(samples in any_samples(), sampling in any_sampling(), zone in zones()) {
        let mut samples = samples;
        samples.sort_by_key(|sample| sample.at);
        let found = run(vec![Aggregator::Range { method: Method::Gaps, sampling, trim: false }], &samples, &zone);
        let kept: Vec<Sample> = found.iter().copied().filter(|sample| !sample.is_null()).collect();
        prop_assert_eq!(&kept, &samples);
        let holds = |at: i64| bucket(&sampling, &zone, at);
        let full: Vec<(i64, i64)> = samples.iter().map(|sample| holds(sample.at)).collect();
        let mut nulls = 0;
        if let (Some(first), Some(last)) = (full.first(), full.last()) {
            let mut at = *first;
            while at != *last {
                nulls += usize::from(!full.contains(&at));
                at = holds(at.1);
            }
        }
        prop_assert_eq!(found.len() - kept.len(), nulls);
    }

    #[test]
    fn steps_go_from_sample_to_sample(samples in any_samples(), size in 1..9_usize, threshold in -30..30_i32) {
        let mut samples = samples;
        samples.sort_by_key(|sample| sample.at);
        samples.dedup_by_key(|sample| sample.at);
        let pairs = || samples.windows(2).map(|pair| (pair[0], pair[1]));
        let minute = Length { value: 1, unit: Unit::Minutes };
        let threshold = f64::from(threshold) / 4.0;
        let apart = |(a, b): (Sample, Sample)| (b.at - a.at) as f64 / 60_000.0;
        let cases: Vec<(Aggregator, Vec<(i64, f64)>)> = vec![
            (Aggregator::Diff, pairs().map(|(a, b)| (b.at, b.value - a.value)).collect()),
            (Aggregator::Rate(minute), pairs().map(|(a, b)| (b.at, (b.value - a.value) / apart((a, b)))).collect()),
            (Aggregator::Sampler(minute), pairs().map(|(a, b)| (b.at, b.value / apart((a, b)))).collect()),
            (Aggregator::Scale(3.0), samples.iter().map(|s| (s.at, s.value * 3.0)).collect()),
            (Aggregator::Div(4.0), samples.iter().map(|s| (s.at, s.value / 4.0)).collect()),
            (Aggregator::Filter(Comparison::Less, threshold), samples.iter().filter(|s| s.value >= threshold).map(|s| (s.at, s.value)).collect()),
            (Aggregator::Filter(Comparison::AtLeast, threshold), samples.iter().filter(|s| s.value < threshold).map(|s| (s.at, s.value)).collect()),
            (Aggregator::Trim(Trim::Both), samples.iter().skip(1).take(samples.len().saturating_sub(2)).map(|s| (s.at, s.value)).collect()),
            (Aggregator::Trim(Trim::First), samples.iter().skip(1).map(|s| (s.at, s.value)).collect()),
            (Aggregator::Trim(Trim::Last), samples.iter().take(samples.len().saturating_sub(1)).map(|s| (s.at, s.value)).collect()),
            (Aggregator::Sma(size), samples.windows(size).map(|w| (w[size - 1].at, w.iter().map(|s| s.value).sum::<f64>() / size as f64)).collect()),
        ];
        for (aggregator, expected) in cases {
            let found = run(vec![aggregator.clone()], &samples, &TimeZone::UTC);
            prop_assert_eq!(found.len(), expected.len(), "{:?}", aggregator);
            for (sample, (at, value)) in found.iter().zip(expected) {
                prop_assert_eq!(sample.at, at);
                prop_assert!(close(sample.value, value), "{:?}: {} is not {}", aggregator, sample.value, value);
            }
        }
    }
}

#[test]
fn a_line_is_fitted_through_more_than_two_samples() {
    let sampling = Sampling { length: Length { value: 1, unit: Unit::Weeks }, ..Sampling::default() };
    let fit = |values: &[f64]| {
        let samples: Vec<Sample> =
            (0..).zip(values).map(|(nth, &value)| Sample::point(START + nth * 1000, value)).collect();
        let found = run(
            vec![Aggregator::Range { method: Method::LeastSquares, sampling, trim: false }],
            &samples,
            &TimeZone::UTC,
        );
        found
            .iter()
            .map(|sample| ((sample.at - START) / 1000, (sample.value * 1e6).round() / 1e6))
            .collect::<Vec<_>>()
    };
    assert_eq!(fit(&[5.0]), [(0, 5.0)]);
    assert_eq!(fit(&[5.0, 9.0]), [(0, 5.0), (1, 9.0)]);
    assert_eq!(fit(&[1.0, 3.0, 5.0, 7.0]), [(0, 1.0), (3, 7.0)]);
    assert_eq!(fit(&[1.0, 4.0, 1.0]), [(0, 2.0), (2, 2.0)]);
}
