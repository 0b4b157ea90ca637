//! Whole chunks: round trips over adversarial shapes, windows against plain filtering, junk, size and speed.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn encode(slots: &[u32], values: &[f64], partials: Option<(u8, &[u32])>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let partials = partials.map(|(method, counts)| Partials { method, counts });
    Encoder::new().encode(slots, values, partials, &mut bytes).unwrap();
    bytes
}

fn decode(bytes: &[u8]) -> Samples {
    let mut samples = Samples::default();
    Chunk::parse(bytes).unwrap().decode(&mut samples).unwrap();
    samples
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Slots with a shape of their own each: rows, strides, few gaps, many gaps, a few far apart.
fn slots() -> impl Strategy<Value = Vec<u32>> {
    let first = prop_oneof![0..3000u32, any::<u32>().prop_map(|n| n / 2)];
    let steps = prop_oneof![
        Just(vec![1]),
        (1..20u32).prop_map(|step| vec![step]),
        vec(prop_oneof![9 => Just(1u32), 1 => 2..50u32], 1..80),
        vec(1..4u32, 1..80),
        vec(1..100_000u32, 1..20),
    ];
    (first, 1..200usize, steps).prop_map(|(first, count, steps)| {
        let step = steps.iter().cycle().take(count - 1);
        std::iter::once(first)
            .chain(step.scan(first, |slot, step| {
                *slot += step;
                Some(*slot)
            }))
            .collect()
    })
}

/// As many values as asked for, with a shape of their own each.
fn values(count: usize) -> impl Strategy<Value = Vec<f64>> {
    let odd = || {
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::MAX,
            5e-324,
            0.1 + 0.2,
        ])
    };
    prop_oneof![
        any::<u64>().prop_map(move |bits| vec![f64::from_bits(bits); count]),
        odd().prop_map(move |value| vec![value; count]),
        vec(any::<u64>().prop_map(f64::from_bits), count),
        vec(any::<f64>(), count),
        (vec(-10_000i64..10_000, count), 0..8i32)
            .prop_map(|(whole, digits)| whole.iter().map(|&n| n as f64 / 10f64.powi(digits)).collect()),
        (any::<u32>(), vec(0..20u64, count)).prop_map(|(start, steps)| counter(u64::from(start), &steps)),
        (any::<u64>(), vec(0..1u64 << 40, count)).prop_map(|(start, steps)| counter(start >> 12, &steps)),
        vec(prop_oneof![9 => Just(1.0), 1 => any::<f64>()], count),
        vec(prop_oneof![15 => Just(40.25), 1 => odd()], count),
        vec(-(1i64 << 54)..1 << 54, count).prop_map(|whole| whole.iter().map(|&n| n as f64).collect()),
    ]
}

fn counter(start: u64, steps: &[u64]) -> Vec<f64> {
    steps.iter().scan(start, |sum, step| Some(std::mem::replace(sum, *sum + step) as f64)).collect()
}

fn counts(count: usize) -> impl Strategy<Value = Option<(u8, Vec<u32>)>> {
    let counts = prop_oneof![
        any::<u32>().prop_map(move |n| vec![n; count]),
        vec(55..=60u32, count),
        vec(prop_oneof![Just(60), Just(1 | 1 << 31)], count),
        vec(any::<u32>(), count),
    ];
    prop::option::of((any::<u8>(), counts))
}

type Input = (Vec<u32>, Vec<f64>, Option<(u8, Vec<u32>)>);

fn input() -> impl Strategy<Value = Input> {
    slots().prop_flat_map(|slots| {
        let count = slots.len();
        (Just(slots), values(count), counts(count))
    })
}

/// Is every window of the chunk what filtering its samples gives, the other places left alone?
fn check_window(chunk: &Chunk<'_>, samples: &Samples, first_slot: u32, len: usize) {
    let (mut values, mut counts) = (vec![-7.25; len], vec![77; len]);
    let wanted = chunk.method().map(|_| &mut counts[..]);
    chunk.decode_window(first_slot, &mut values, wanted).unwrap();
    let (mut expected, mut expected_counts) = (vec![-7.25; len], vec![77; len]);
    for (i, &slot) in samples.slots.iter().enumerate() {
        let at = i64::from(slot) - i64::from(first_slot);
        if (0..len as i64).contains(&at) {
            expected[at as usize] = samples.values[i];
            if let Some(&count) = samples.counts.get(i) {
                expected_counts[at as usize] = count;
            }
        }
    }
    assert_eq!(bits(&values), bits(&expected));
    assert_eq!(counts, expected_counts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn chunks_round_trip_bit_for_bit((slots, values, partials) in input()) {
        let bytes = encode(&slots, &values, partials.as_ref().map(|(method, counts)| (*method, &counts[..])));
        let chunk = Chunk::parse(&bytes).unwrap();
        let back = decode(&bytes);
        prop_assert_eq!((chunk.first_slot(), chunk.last_slot()), (slots[0], slots[slots.len() - 1]));
        prop_assert_eq!(chunk.len(), slots.len());
        prop_assert_eq!(chunk.method(), partials.as_ref().map(|(method, _)| *method));
        prop_assert_eq!(&back.slots, &slots);
        prop_assert_eq!(bits(&back.values), bits(&values));
        prop_assert_eq!(back.counts, partials.map(|(_, counts)| counts).unwrap_or_default());
    }

    #[test]
    fn chunks_are_never_much_larger_than_plain((slots, values, partials) in input()) {
        let bytes = encode(&slots, &values, partials.as_ref().map(|(method, counts)| (*method, &counts[..])));
        let per_slot = 8 + 5 + if partials.is_some() { 4 } else { 0 };
        prop_assert!(bytes.len() <= 24 + slots.len() * per_slot);
    }

    #[test]
    fn windows_equal_the_samples_inside_them(
        (slots, values, partials) in input(),
        shift in -300i64..300,
        at in any::<prop::sample::Index>(),
        len in 0..500usize,
    ) {
        let bytes = encode(&slots, &values, partials.as_ref().map(|(method, counts)| (*method, &counts[..])));
        let (chunk, samples) = (Chunk::parse(&bytes).unwrap(), decode(&bytes));
        let near = i64::from(slots[at.index(slots.len())]) + shift;
        check_window(&chunk, &samples, near.clamp(0, i64::from(u32::MAX)) as u32, len);
        check_window(&chunk, &samples, slots[0], (slots[slots.len() - 1] - slots[0]).min(5000) as usize + 1);
    }

    #[test]
    fn junk_never_panics(bytes in vec(any::<u8>(), 0..200)) {
        look_at(&bytes);
    }

    #[test]
    fn broken_chunks_never_panic(
        (slots, values, partials) in input(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&slots, &values, partials.as_ref().map(|(method, counts)| (*method, &counts[..])));
        look_at(&bytes[..cut.index(bytes.len())]);
        for (at, byte) in changes {
            // Near the front, where the structure is.
            let at = at.index(bytes.len().min(24));
            bytes[at] = byte;
        }
        look_at(&bytes);
    }
}

/// Reads whatever can be read of junk.
fn look_at(bytes: &[u8]) {
    let Ok(chunk) = Chunk::parse(bytes) else { return };
    assert!(chunk.len() <= MAX_SLOTS && chunk.first_slot() <= chunk.last_slot());
    let mut samples = Samples::default();
    if chunk.decode(&mut samples).is_ok() {
        assert_eq!((samples.slots.len(), samples.values.len()), (chunk.len(), chunk.len()));
        assert!(samples.slots.is_sorted_by(|a, b| a < b));
        check_window(&chunk, &samples, chunk.first_slot().saturating_sub(3), 100);
        check_window(&chunk, &samples, chunk.last_slot().saturating_sub(40), 100);
    }
}

#[test]
fn the_smallest_chunks_are_tiny() {
    let slots: Vec<u32> = (8000..8016).collect();
    assert_eq!(encode(&slots, &[0.0; 16], None).len(), 4);
    assert_eq!(encode(&slots, &[3.0; 16], None).len(), 5);
    assert_eq!(encode(&slots, &[12.34; 16], None).len(), 7);
    assert_eq!(encode(&slots, &[12.34; 16], Some((1, &[60; 16]))).len(), 9);
    assert_eq!(encode(&slots, &[1.0 / 3.0; 16], None).len(), 12);
}

#[test]
fn counts_of_raw_points_are_refused() {
    let bytes = encode(&[1, 2], &[1.0, 2.0], None);
    let chunk = Chunk::parse(&bytes).unwrap();
    assert_eq!(chunk.decode_window(0, &mut [0.0; 4], Some(&mut [0; 4])), Err(ChunkError::NoCounts));
}

#[test]
fn impossible_input_is_refused_and_leaves_nothing_behind() {
    let mut out = vec![9];
    let mut encoder = Encoder::new();
    let partials = Some(Partials { method: 0, counts: &[1] });
    let too_many: Vec<u32> = (0..=MAX_SLOTS as u32).collect();
    assert!(encoder.encode(&[1, 2], &[1.0], None, &mut out).is_err());
    assert!(encoder.encode(&[1, 2], &[1.0, 2.0], partials, &mut out).is_err());
    assert!(encoder.encode(&[2, 1], &[1.0, 2.0], None, &mut out).is_err());
    assert!(encoder.encode(&[], &[], None, &mut out).is_err());
    assert!(encoder.encode(&too_many, &vec![0.0; too_many.len()], None, &mut out).is_err());
    assert_eq!(out, [9]);
}

#[test]
fn a_tiny_chunk_cannot_claim_endless_slots() {
    let claim = |count: u64| {
        let mut bytes = vec![0];
        varint::put(count, &mut bytes);
        bytes.push(0);
        bytes
    };
    assert!(Chunk::parse(&claim(MAX_SLOTS as u64)).is_ok());
    assert!(Chunk::parse(&claim(MAX_SLOTS as u64 + 1)).is_err());
    assert!(Chunk::parse(&claim(0)).is_err());
}

/// The mix that sizes and speeds are given for: 20 % constant, 30 % counters, 50 % noisy gauges of two decimals.
fn mixed(metrics: usize, slots: usize) -> Vec<Vec<f64>> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    (0..metrics)
        .map(|metric| match metric % 10 {
            0 | 1 => vec![random(1000) as f64; slots],
            2..=4 => {
                let start = random(1 << 30);
                let steps: Vec<u64> = (0..slots).map(|_| random(100)).collect();
                counter(start, &steps)
            }
            _ => {
                let level = random(9000);
                (0..slots).map(|_| (level + random(1000)) as f64 / 100.0).collect()
            }
        })
        .collect()
}

#[test]
fn the_mix_takes_little_room() {
    for slots in [120, 360, 1440] {
        let row: Vec<u32> = (0..slots as u32).collect();
        let bytes: usize = mixed(100, slots).iter().map(|values| encode(&row, values, None).len()).sum();
        let mean = bytes as f64 / (100 * slots) as f64;
        assert!(mean <= 1.1, "{mean} bytes per value in chunks of {slots}");
    }
}
